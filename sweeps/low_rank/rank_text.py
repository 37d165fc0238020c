"""What of rank and sparsity is left on bytes of two Python packages?

No claims.
"""

import numpy as np
import xarray as xr

from jaxtheory import Figure, plot
from jaxtheory.theories.low_rank import TEXT, text_theory

from . import lines, ticks


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss in t, singular values of the changes, loss by rank, loss by the share of
    neurons pruned.
    """
    figure, axes = plot.panels(
        4,
        title=f"Windows of 96 bytes, asyncio against email, {data.sizes['seed']} seeds",
        width=3.3,
    )
    for colour, name in enumerate(("loss", "error")):
        plot.series(axes[0, 0], data[name], "step", f"test {name}", colour=colour)
        plot.series(axes[0, 2], data[f"truncated_{name}"], "kept_rank", name, colour=colour)
    plot.finish(axes[0, 0], "step t", "on the last fifth of the texts")
    s = data.singular_values.isel(step=-1)
    lines(axes[0, 1], s / s.sel(index=1), "index", "matrix", markers=False)
    plot.finish(axes[0, 1], "index", "singular value of the change / largest", yscale="log")
    plot.finish(axes[0, 2], "all changes cut to rank r", "test loss and error", xscale="log")
    ticks(axes[0, 2], [1, 2, 5, 10, 32])
    lines(axes[0, 3], data.pruned_loss, "rate", "order", markers=False)
    plot.theory(axes[0, 3], np.array([0.0, 1.0]), np.array([0.0, 1.0]), "loss = share")
    plot.finish(axes[0, 3], "share of neurons pruned", "test hinge loss")
    return figure


FIGURE = Figure(
    name="rank_text",
    source="summary of arXiv 2406.17167, next check 2",
    theory=text_theory(),
    config=TEXT,
    sweep={"seeds": 8, "steps": 600, "record": [0, 75, 150, 300, 450, 600], "dtype": "float32"},
    quick={"seeds": 2, "steps": 20, "record": [0, 20]},
    draw=draw,
    claims=(),
)
