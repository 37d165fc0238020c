"""Do coherent patterns or strong noise break learning, and the ranks with it?

Coherent are the two relevant patterns, or each irrelevant one with a relevant one.
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, interpretation, last
from jaxtheory.theories.low_rank import S1

from . import TRUNCATED, panels, pick, rank_cost, ratio, runs

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


def spectrum(data: xr.Dataset, matrix: str) -> xr.DataArray:
    """Singular values of a change at the end."""
    return last(data.singular_values).sel(matrix=matrix)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Phase diagrams over coherent pairs and noise."""
    figure, axes = panels(
        4, "Coherent patterns and strong noise break learning and ranks (S1)", width=3.4
    )
    gap = xr.ufuncs.log10(ratio(spectrum(data, "WK"), 2, 3))
    for ax, values, label, digits in (
        (axes[0], last(data.loss), "test hinge loss", 2),
        (axes[1], rank_cost(data, 1), "cost of rank 1", 2),
        (axes[2], gap, r"$\log_{10}\, s_2 / s_3$ of $\Delta W_K$", 1),
        (axes[3], ratio(spectrum(data, "WV"), 2, 1), r"$s_2 / s_1$ of $\Delta W_V$", 2),
    ):
        plot.heat(ax, values, "pair", "noise", label=label, digits=digits)
        plot.finish(ax, "coherent pair, its cosine", "noise σ", legend=False)
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
            panel=0,
            why="Orthogonal patterns are an assumption of the proof; the summary says that learning needs them.",
        ),
    ),
)
