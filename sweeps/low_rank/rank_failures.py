"""Do coherent patterns or strong noise break learning, and the ranks with it?

Coherent are the two relevant patterns, or each irrelevant one with a relevant one.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, interpretation, last
from jaxtheory.theories.low_rank import S1

from . import TRUNCATED, pick, ratio, runs

SPECTRUM = r"$s_2 / s_3$ of $\Delta W_K$"
TWO, MIXED = "the two relevant patterns", "irrelevant with relevant patterns"
COSINES = [0.3, 0.6, 0.9]
PAIRS: dict[str, list] = {
    "pair": [
        "none",
        *[f"relevant {c:g}" for c in COSINES],
        *[f"irrelevant {c:g}" for c in COSINES],
    ],
    "coherence": [0.0, *COSINES, 0.0, 0.0, 0.0],
    "overlap": [0.0, 0.0, 0.0, 0.0, *COSINES],
}


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss and the gap of W_K against the cosine, a column per pair and a color per noise."""
    figure, axes = plot.panels(2, 2, title="Coherent patterns and strong noise (S1)", width=3.4)
    gap = ratio(last(data.singular_values).sel(matrix="WK"), 2, 3)
    rows = (last(data.loss), "test hinge loss", "linear"), (gap, SPECTRUM, "log")
    pairs = ("coherence", "overlap", TWO), ("overlap", "coherence", MIXED)
    for row, (values, label, scale) in zip(axes, rows, strict=True):
        for ax, (kind, partner, pair) in zip(row, pairs, strict=True):
            some = values.isel(pair=np.flatnonzero(data[partner] == 0))
            some = some.assign_coords(pair=some[kind].values)
            for color, noise in zip(
                plot.shades(data.sizes["noise"]), data.noise.values, strict=True
            ):
                plot.series(ax, some.sel(noise=noise), "pair", f"σ = {noise:g}", color=color)
            plot.finish(ax, f"cosine of {pair}", label, yscale=scale, legend=False)
    for ax in axes[0]:
        ax.set_ylim(-0.02, 1.1 * float(rows[0][0].mean("seed").max()) + 0.02)
    for ax in axes[1]:
        ax.set_ylim(1, 2 * float(gap.mean("seed").max()))
    plot.legend_below(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="rank_failures",
    source="summary of arXiv 2406.17167, failure signatures",
    finding=Finding(
        "A cosine of 0.9 of irrelevant with relevant patterns leaves the test loss below 0.3 at noise σ = 0.1",
        rests_on=("LR-62",),
    ),
    theory=TRUNCATED,
    config=S1.replace(num_test=100),
    sweep=runs(120, zip=PAIRS, vary={"noise": [0.0, 0.1, 0.2, 0.4]}),
    quick={"zip": pick(PAIRS, 0, 3), "vary": {"noise": [0.1]}, "seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "LR-62",
            origin=interpretation("summary", "failure signatures"),
            statement="Without “cleanly separable label-relevant and label-irrelevant patterns, the theoretical assumptions break down”, read as: at a cosine of 0.9 between them and sigma = 0.1, the loss after 120 steps is at least 0.3.",
            measure=Measure(
                "test loss, cosine 0.9 of irrelevant with relevant patterns, σ = 0.1",
                lambda data: last(data.loss).sel(pair="irrelevant 0.9", noise=0.1),
            ),
            bound=at_least(0.3),
            expect="fails",
            panel=1,
            why="Orthogonal patterns are an assumption of the proof; the summary says that learning needs them.",
        ),
    ),
)
