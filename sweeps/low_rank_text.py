"""The layer of arXiv 2406.17167 on bytes of two Python packages. What of rank and sparsity is left? No claims."""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Figure, plot
from jaxtheory.theories.low_rank import TEXT, text_theory


def draw_text(data: xr.Dataset) -> plot.Drawing:
    """Loss in t, singular values of the changes, loss by rank, loss by the share of neurons pruned."""
    figure, axes = plot.panels(4, title=f"Windows of 96 bytes, asyncio against email, {data.sizes['seed']} seeds", width=3.3)
    for colour, name in enumerate(("loss", "error")):
        plot.series(axes[0, 0], data[name], "step", f"test {name}", colour=colour)
    plot.finish(axes[0, 0], "step t", "on the last fifth of the texts")
    s = data.singular_values.isel(step=-1)
    for colour, matrix in enumerate(data.matrix.values):
        plot.series(axes[0, 1], s.sel(matrix=matrix) / s.sel(matrix=matrix, index=1), "index", str(matrix), colour=colour, markers=False)
    plot.finish(axes[0, 1], "index", "singular value of the change / largest", yscale="log")
    plot.series(axes[0, 2], data.truncated_loss, "rank", "loss")
    plot.series(axes[0, 2], data.truncated_error, "rank", "error", colour=1)
    plot.finish(axes[0, 2], "all changes cut to rank r", "test loss and error", xscale="log")
    axes[0, 2].set_xticks([1, 2, 5, 10, 32], ["1", "2", "5", "10", "32"])
    axes[0, 2].set_xticks([], minor=True)
    for colour, order in enumerate(data.order.values):
        plot.series(axes[0, 3], data.pruned_loss.sel(order=order), "rate", str(order), colour=colour, markers=False)
    plot.theory(axes[0, 3], np.array([0.0, 1.0]), np.array([0.0, 1.0]), "loss = share")
    plot.finish(axes[0, 3], "share of neurons pruned", "test hinge loss")
    return figure


FIGURE = Figure(
    "rank_text",
    "summary of arXiv 2406.17167, next check 2",
    text_theory(),
    TEXT,
    {"seeds": 8, "steps": 600, "record": [0, 75, 150, 300, 450, 600], "dtype": "float32"},
    {"seeds": 2, "steps": 20, "record": [0, 20]},
    (),
    draw_text,
)

FIGURES: Any = (FIGURE,)
