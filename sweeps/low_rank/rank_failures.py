"""Do coherent patterns or strong noise break learning, and the ranks with it?"""

import xarray as xr

from jaxtheory import Figure, plot, refuted
from jaxtheory.theories.low_rank import S1

from . import FAILURES, TRUNCATED, last, ours, panels, rank_cost, ratio, runs, worst


def of(data: xr.Dataset, matrix: str) -> xr.DataArray:
    """Singular values of a change at the end."""
    return last(data.singular_values).sel(matrix=matrix)


def over(values: xr.DataArray, cell: dict[str, float], base: dict[str, float]) -> xr.DataArray:
    """One cell of the diagram over another."""
    return values.sel(cell, drop=True) / values.sel(base, drop=True)


def together(data: xr.Dataset) -> xr.DataArray:
    """The loss at cosine .9 and sigma = .4 minus the larger one of cosine .9 without noise and of
    sigma = .4 with orthogonal patterns.
    """
    both, one, other = (
        last(data.loss).sel(coherence=c, noise=s, drop=True)
        for c, s in ((0.9, 0.4), (0.9, 0.0), (0.0, 0.4))
    )
    return both - worst(one, other).max("which")


def draw(data: xr.Dataset) -> plot.Drawing:
    """Phase diagrams over coherence and noise."""
    figure, axes = panels(data, 4, "Coherent patterns and noise (S1)", width=3.4)
    gap = xr.ufuncs.log10(ratio(of(data, "WK"), 2, 3))
    for ax, values, label, digits in (
        (axes[0], last(data.loss), "test hinge loss", 2),
        (axes[1], rank_cost(data, 1), "cost of rank 1", 2),
        (axes[2], gap, r"$\log_{10}\, s_2 / s_3$ of $\Delta W_K$", 1),
        (axes[3], ratio(of(data, "WV"), 2, 1), r"$s_2 / s_1$ of $\Delta W_V$", 2),
    ):
        plot.heat(ax, values.mean("seed"), "coherence", "noise", label=label, digits=digits)
        plot.finish(ax, r"cosine of $\mu_1$ and $\mu_2$", "noise σ", legend=False)
    return figure


FIGURE = Figure(
    name="rank_failures",
    source="summary of arXiv 2406.17167, failure signatures",
    theory=TRUNCATED,
    config=S1.replace(num_test=100),
    sweep=runs(120, vary={"coherence": [0.0, 0.3, 0.6, 0.9], "noise": [0.0, 0.1, 0.2, 0.4]}),
    quick={"vary": {"coherence": [0.0, 0.9], "noise": [0.1]}, "seeds": 2},
    draw=draw,
    claims=(
        refuted(
            "LR-62",
            "derived",
            FAILURES,
            "Coherence breaks learning: at cosine .9 and sigma = .1 the loss after 120 steps is "
            "at least .3.",
            lambda data: last(data.loss).sel(coherence=0.9, noise=0.1),
            at_least=0.3,
        ),
        ours(
            "LR-63",
            "Rank 2 still suffices everywhere: it costs at most .02.",
            lambda data: rank_cost(data, 2),
            source=FAILURES,
            at_most=0.02,
        ),
        ours(
            "LR-86",
            "Both together do: at cosine .9 and sigma = .4 it is larger by .3 or more than with "
            "one of them alone.",
            together,
            source=FAILURES,
            at_least=0.3,
        ),
        ours(
            "LR-87",
            "Coherence takes the second direction from W_K: at sigma = .1 and cosine .9 s_2 / s_1 "
            "is at most a tenth of that at 0.",
            lambda data: over(
                ratio(of(data, "WK"), 2, 1).sel(noise=0.1), {"coherence": 0.9}, {"coherence": 0.0}
            ),
            source=FAILURES,
            at_most=0.1,
        ),
        ours(
            "LR-64",
            "Noise closes the gap of W_K: with orthogonal patterns s_2 / s_3 at sigma = .4 is at "
            "most a tenth of that at .1.",
            lambda data: over(
                ratio(of(data, "WK"), 2, 3).sel(coherence=0.0), {"noise": 0.4}, {"noise": 0.1}
            ),
            source=FAILURES,
            at_most=0.1,
        ),
    ),
)
