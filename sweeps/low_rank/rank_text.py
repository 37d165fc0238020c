"""What of rank and sparsity is left on bytes of two Python packages?

No claims.
"""

import xarray as xr

from jaxtheory import Figure, plot
from jaxtheory.claims import last
from jaxtheory.theories.low_rank import TEXT, text_theory

from . import lines, panels, runs


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss in t, singular values of the changes, loss by rank, loss by the share of
    neurons pruned.
    """
    figure, (time, spectrum, rank, share) = panels(
        4, "Rank and sparsity on text: windows of 96 bytes, asyncio against email", width=3.3
    )
    for color, name in enumerate(("loss", "error")):
        plot.series(time, data[name], "step", f"test {name}", color=color)
        plot.series(rank, data[f"truncated_{name}"], "kept_rank", name, color=color)
    plot.finish(time, "step t", "on the last fifth of the texts")
    s = last(data.singular_values)
    lines(spectrum, s / s.sel(index=1), "index", "matrix", markers=False)
    plot.finish(spectrum, "index", "singular value of the change / largest", yscale="log")
    plot.finish(rank, "all changes cut to rank r", "test loss and error", xscale="log")
    plot.ticks(rank.xaxis, [1, 2, 5, 10, 32])
    lines(share, data.pruned_loss, "rate", "order", markers=False)
    plot.reference(share, [0.0, 1.0], [0.0, 1.0], "loss = share")
    plot.finish(share, "share of neurons pruned", "test hinge loss")
    return figure


FIGURE = Figure(
    name="rank_text",
    source="summary of arXiv 2406.17167, next check 2",
    theory=text_theory(),
    config=TEXT,
    sweep=runs(600, record=[0, 75, 150, 300, 450, 600]),
    quick={"seeds": 2, "steps": 20, "record": [0, 20]},
    draw=draw,
    claims=(),
)
