"""How fast does the error under shift fall with T: as a power, for every query?

Runs on infinitely many prompts, at learning rates at which xi1 passes 15; tests are drawn.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    at_most,
    between,
    derived,
    exponent,
    interpretation,
    last,
    printed,
)
from jaxtheory.theories.nearest_neighbor import Config

from . import EXACT, LOG, PAPER, SHIFT, THEORY, N, course, late_slope, settings, started

DELTA = "separation"
ROWS = [(4, 4, 5.0, 10.0), (3, 8, 5.0, 10.0), (8, 16, 5.0, 20.0)]


def worst(data: xr.Dataset) -> xr.DataArray:
    """(f - y)^2 / R^2 where every example is at -q and has the same label.

    The query has the logit xi1 - xi2, they have -xi1.
    """
    return (1 + data[N] * np.exp(data.xi2 - 2 * data.xi1)) ** -2.0


def per_alignment(data: xr.Dataset) -> xr.DataArray:
    """-d log(error) / d xi1 over delta between t = 500 and 2000, with the valley's xi1."""
    late = data.sel(step=[500, 2000])
    fall = np.log(late.shift_error).diff("step", label="upper").isel(step=0)
    rise = late.predicted_xi1_valley.diff("step", label="upper").isel(step=0)
    return -fall / rise / data[DELTA]


def draw(data: xr.Dataset) -> plot.Drawing:
    """The error of both kinds of tests in t for one setting; exponents of T over delta."""
    late = started(data).isel(setting=0)
    setting = f"Trained on infinitely many prompts, in t {late.setting.item()}"
    figure, ((*courses, exponents),) = plot.panels(3, title=setting)
    kinds = {"shift_error": r"$q = x_{i^*}$", "separated_error": "any query"}
    for ax, (name, title) in zip(courses, kinds.items(), strict=True):
        for color, delta in zip(plot.shades(data.sizes[DELTA]), data[DELTA].values, strict=True):
            course(ax, late[name].sel({DELTA: delta}), f"δ = {delta:g}", color)
        plot.reference(ax, late.step, worst(late).isel({"seed": 0, DELTA: 0}), "worst prompt")
        plot.finish(ax, "step t", r"mean $(f - y_{i^*})^2$", title, legend=False, **LOG)
        ax.set_ylim(1e-9, 3)
    for color, setting in enumerate(data.setting.values):
        for name, line in (("shift_error", "-"), ("separated_error", "--")):
            values = -late_slope(data[name].mean("seed")).sel(setting=setting)
            style = {"color": plot.COLORS[color], "marker": plot.MARKERS[color], "markersize": 3}
            label = str(setting) if line == "-" else None
            exponents.plot(data[DELTA], values, line, label=label, **style)
    plot.finish(exponents, "separation δ", "− exponent of T", "dashed: any query", **LOG)
    exponents.set_ylim(0.1, 200)
    plot.legend_below(figure, courses[0])
    return figure


FIGURE = Figure(
    name="neighbor_rate",
    source=SHIFT,
    finding=Finding(
        "Error under shift falls near exp(−δξ₁) for q at an example and δ = 0.5, 1, but can be over R²/2 with all at −q",
        rests_on=("NN-26", "NN-20"),
    ),
    theory=THEORY,
    config=Config(num_prompts=10, num_test=4000),
    sweep=EXACT
    | {
        "zip": settings(ROWS),
        "vary": {DELTA: [0.1, 0.3, 0.5, 1.0, 2.0]},
        "seeds": 8,
        "steps": 2000,
        "record": [0, 10, 20, 50, 100, 200, 300, 500, 700, 1000, 1400, 2000],
        "buckets": "pad",
    },
    quick={
        "zip": settings(ROWS[:2]),
        "vary": {DELTA: [0.5, 1.0]},
        "seeds": 2,
        "steps": 600,
        "record": [0, 50, 200, 500, 600],
    },
    draw=draw,
    claims=(
        Claim(
            "NN-23",
            origin=interpretation(PAPER, "theorem on shift"),
            statement="The test loss is O(T^(-poly(N, d) delta)), read as: where q = x_{i*}, the local exponent of T, from t = 500 to 2000, grows in proportion to delta: over delta = 0.3 to 1, its exponent in delta is near 1.",
            measure=Measure(
                "power of δ in the exponent of T, q = x_{i*}, t ≥ 500, each (d, N)",
                lambda data: exponent(
                    -late_slope(data.shift_error).sel({DELTA: [0.3, 0.5, 1.0]}), DELTA
                ),
            ),
            bound=between(0.8, 1.1),  # keys 100, 101: 0.89 to 0.93
            law=1.0,
            why="The error under shift falls much faster for well separated examples, as the theorem says.",
        ),
        Claim(
            "NN-26",
            origin=derived(),
            statement="For q = x_{i*} the test error is not a power law of T but falls as exp(-delta xi1), where xi1 is the valley's, of order t^(1/3): -d log(error) / d xi1, divided by delta, is near 1 at delta = 0.5 and 1.",
            measure=Measure(
                "−d log(error) / (δ dξ1), q = x_{i*}, each δ = 0.5, 1 and (d, N)",
                lambda data: per_alignment(data).sel({DELTA: [0.5, 1.0]}),
            ),
            bound=between(0.9, 1.35),  # keys 100, 101: 1.06 to 1.20
            law=1.0,
            why="It replaces the power of T by the law behind it, with a constant.",
        ),
        Claim(
            "NN-20",
            origin=printed(PAPER, "theorem on shift"),
            statement="“For any data satisfying” the separation the test loss falls with T, as the talk prints it, measured where every example is at -q with one label: (f - y)^2 / R^2 is at most 0.5 at t = 2000.",
            measure=Measure(
                "(f − y)² / R², all examples at −q, one label, t = 2000, each (d, N)",
                lambda data: last(worst(data)).isel({DELTA: 0}),
            ),  # 0.99 and more
            bound=at_most(0.5),
            expect="fails",
            why="The theorem has no condition on the query, and prompts opposite to the query break it.",
        ),
        Claim(
            "NN-30",
            origin=derived(),
            statement="For queries drawn like examples the test error falls no faster than 1 / T from a separation delta = 1 on: its exponent from t = 500 on is at least -1.",
            measure=Measure(
                "exponent of the error in T ≥ 500, drawn q, each δ = 1, 2 and (d, N)",
                lambda data: late_slope(data.separated_error).sel({DELTA: [1.0, 2.0]}),
            ),
            bound=at_least(-1.0),
            why="Not only the worst queries fall slowly: drawn ones do, too.",
        ),
    ),
)
