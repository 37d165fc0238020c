"""When does the softmax select the nearest example, and how does its error under shift go with N?

The softmax is that of the layer. Nothing is trained: (xi1, xi2) are set, and d = 3, where
P(rho* < 1 - r) = ((2 - r) / 2)^N.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_most,
    between,
    exponent,
    interpretation,
)
from jaxtheory.theories.nearest_neighbor import Config

from . import LOG, PAPER, SIGMA, THEORY, N

XI0 = "initial_alignment"
SCALES = [5.0, 10.0, 20.0, 40.0]
RATIOS = {"ξ2 = ξ1 / 4": 0.25, "ξ2 = ξ1 / 2": 0.5, "ξ2 = ξ1": 1.0, "ξ2 = 2 ξ1": 2.0}


def ray(data: xr.Dataset, r: float, scales: list[float] = SCALES) -> xr.Dataset:
    """The layers with xi1 in `scales` and xi2 = r xi1."""
    first = xr.DataArray(scales, {"xi1": scales}, ["xi1"])
    keep = ["test_loss", "query_attention", "shift_error"]
    return data[keep].isel(step=-1).sel({XI0: first, SIGMA: r * first})


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss and the query's attention along rays; the error under shift in N, times exp(xi1)."""
    figure, ((losses, queries, shifted),) = plot.panels(3, title="d = 3, no training")
    n = data[N].values
    scales = [x for x in SCALES if x in data[XI0].values]
    for color, (label, r) in zip(plot.shades(len(RATIOS)), RATIOS.items(), strict=True):
        runs = ray(data, r, scales).sel({N: n[0]})
        plot.series(losses, 2 * runs.test_loss, "xi1", label, color=color)
        plot.series(queries, runs.query_attention, "xi1", label, color=color)
        law = np.full(len(scales), (1 - r / 2) ** n[0])
        plot.theory(queries, scales, law, "", color=color, says="P(ρ* < 1 − r)")
    x = rf"$\xi_1$ (N = {n[0]})"
    plot.finish(losses, x, "2 L", legend=False, **LOG)
    plot.finish(queries, x, "attention on the query", xscale="log", legend=False)
    errors = ray(data, 2.0, scales).shift_error
    for color, xi1 in zip(plot.shades(len(scales)), scales, strict=True):
        plot.series(shifted, errors.sel(xi1=xi1) * np.exp(xi1), N, f"ξ1 = {xi1:g}", color=color)
    error = r"$e^{\xi_1}$ mean $(f - y_{i^*})^2$, $q = x_{i^*}$"
    plot.finish(shifted, "examples N", error, "shift, δ = 1, ξ2 = 2 ξ1", **LOG)
    queries.set_ylim(-0.03, 1.03)
    for ax, values in ((losses, scales), (queries, scales), (shifted, n)):
        plot.ticks(ax.xaxis, values)
    plot.legend_below(figure, losses)
    return figure


FIGURE = Figure(
    name="neighbor_limits",
    source="the talk: proof sketch, softmax as a hard maximum",
    finding=Finding(
        "From ξ₁ = 10 to 40 with ξ₂ = ξ₁/4 softmax does not halve its loss against the nearest label at some N (d = 3)",
        rests_on=("NN-28",),
    ),
    theory=THEORY,
    config=Config(dimension=3, num_prompts=10, num_test=2000, separation=1.0),
    sweep={
        "vary": {
            N: [4, 8, 12, 20, 32],
            XI0: SCALES,
            SIGMA: [1.25, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0],
        },
        "algorithm": "reduced",
        "seeds": 8,
        "steps": 0,
        "record": [0],
        "dtype": "float64",
        "buckets": "pad",
    },
    quick={
        "vary": {N: [4, 8], XI0: SCALES[:2], SIGMA: [1.25, 2.5, 5.0, 10.0, 20.0]},
        "seeds": 2,
    },
    draw=draw,
    claims=(
        Claim(
            "NN-28",
            origin=interpretation("the talk: softmax is near a hardmax as xi1 >> xi2"),
            statement="Softmax selects the nearest example as xi1 >> xi2 -> infinity, read as: along xi2 = xi1 / 4 the loss at xi1 = 40 is at most half of that at xi1 = 10.",
            measure=Measure(
                "test loss at ξ1 = 40 over that at ξ1 = 10, ξ2 = ξ1 / 4, for each N",
                lambda data: (
                    ray(data, 0.25).test_loss.sel(xi1=40.0)
                    / ray(data, 0.25).test_loss.sel(xi1=10.0)
                ),
            ),
            bound=at_most(0.5),  # key 100: 1.08 at N = 4
            expect="fails",
            why="As the talk states the limit, the query itself takes the attention of some prompts for ever.",
        ),
        Claim(
            "NN-39",
            origin=interpretation(PAPER, "theorem on shift"),
            statement="The test loss is O(R^2 N^2), read as: for set parameters, delta = 1, xi2 = 2 xi1, the error for q = x_{i*} grows with N with an exponent of 1 to 2.",
            measure=Measure(
                "exponent of the error in N, q = x_{i*}, δ = 1, ξ2 = 2 ξ1, each ξ1",
                lambda data: exponent(ray(data, 2.0, SCALES[:3]).shift_error, N),
            ),
            bound=between(1.0, 2.0),  # key 100: 1.52, 1.51, 1.36 at xi1 = 5, 10, 20
            why="The factor of the theorem is an upper bound; this is how the error really depends on the length.",
        ),
    ),
)
