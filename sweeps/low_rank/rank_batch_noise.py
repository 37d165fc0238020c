"""Does low rank need batches of M samples, and noise below 1/M?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_most, between, derived, exponent, last
from jaxtheory.theories.low_rank import S1

from . import PAPER, only, panels, ratio, runs


def gap(data: xr.Dataset) -> xr.DataArray:
    """s_2 / s_3 of the change of W_K at the end."""
    return ratio(last(data.singular_values).sel(matrix="WK"), 2, 3)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss and the gap of W_K over the batch and the noise; M = 20."""
    asked = (data.batch_size >= 20) & (data.noise <= 1 / 20)
    figure, axes = panels(
        2, "Low rank outlives small batches, strong noise blurs it (S1, M = 20)", width=3.6
    )
    for ax, values, label, digits in (
        (axes[0], last(data.loss), "test hinge loss", 4),
        (axes[1], xr.ufuncs.log10(gap(data)), r"$\log_{10}\, s_2 / s_3$ of $\Delta W_K$", 1),
    ):
        plot.heat(ax, values, "batch_size", "noise", label=label, digits=digits)
        plot.boundary(ax, asked, "batch_size", "noise", "B ≥ M, τ ≤ 1/M (theorem 1, constants 1)")
        plot.finish(ax, "batch B", "norm of the noise τ", legend=False)
    return figure


FIGURE = Figure(
    name="rank_batch_noise",
    source=f"{PAPER}, theorem 1, B of at least Omega(M), and (6)",
    theory=only(),
    config=S1.replace(noise_law="bounded"),
    sweep=runs(120, vary={"batch_size": [2, 8, 32], "noise": [0.05, 0.2, 0.45, 0.9]}),
    quick={"vary": {"batch_size": [8], "noise": [0.05, 0.2]}, "seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "LR-92",
            origin=derived("measured"),
            statement="To learn, neither batches of Omega(M) nor noise below O(1/M) is needed: with B = M/10 to 1.6 M and tau = 1/M to 18/M, the test loss is at most 0.05 after 120 steps.",
            measure=lambda data: last(data.loss),
            bound=at_most(0.05),
        ),
        Claim(
            "LR-91",
            origin=derived("measured"),
            statement="Noise closes the gap s_2 / s_3 of W_K for every B: the exponent of tau is -2.1 to -1.1.",
            measure=lambda data: exponent(gap(data).mean("seed", skipna=False), "noise"),
            bound=between(-2.1, -1.1),
        ),
    ),
)
