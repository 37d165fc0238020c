"""What does a finite training set do to the end of training and to the levels of the staircase?

Separate form of rank 1 on P prompts; all losses are those of the population.
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, between, derived, exponent, fitted_law, last

from . import EXACT, ON_POPULATION, QUICK, THEORY, P, at_pauses, often

COUNTS = [1000, 2000, 4000, 8000, 16000]


def shift(data: xr.Dataset) -> xr.DataArray:
    """The loss above L_3 at the last pause."""
    pauses = at_pauses(data, ON_POPULATION).isel(pause=-1)
    return pauses.loss - pauses.level


def draw(data: xr.Dataset) -> plot.Drawing:
    """The loss of a run for few and many prompts, and both distances from the theory against P."""
    figure, ((curves, distances),) = plot.panels(2)
    for i, count in enumerate(data[P].values[[0, -1]]):
        one = data.sel({P: count}).isel(seed=0, step=slice(1, None))
        curves.plot(one.step, one.loss, color=plot.COLORS[i], label=f"P = {count}")
    for m, level in enumerate(at_pauses(data, ON_POPULATION).level.values):
        plot.theory(curves, 0, level, "", says=f"$L_{m + 1}$")
    plot.finish(curves, "step t", "population loss L", "one run", xscale="log")
    for i, (name, values) in enumerate(
        {
            r"at the pause: $L - L_3$": shift(data),
            "at the end: L - min L": last(data.excess),
        }.items()
    ):
        fitted = plot.law(distances, fitted_law(values, P))
        plot.series(distances, values, P, f"{name}, {fitted}", color=i)
    plot.finish(
        distances, "training prompts P", "loss above the theory", xscale="log", yscale="log"
    )
    return figure


FIGURE = Figure(
    name="regression_samples",
    source="derived: plateaus on a finite training set",
    finding=Finding(
        "On P = 1000 to 16000 prompts the population loss at the last pause and at the end exceeds theory as about 1/P",
        rests_on=("IR-7", "IR-8"),
    ),
    theory=THEORY,
    config=ON_POPULATION,
    sweep=EXACT
    | {
        "vary": {P: COUNTS},
        "seeds": 32,
        "steps": 40000,
        "record": often(100, 40000, 300),
        "algorithm": "gd",
        "buckets": "exact",
    },
    quick=QUICK | {"vary": {P: [50, 200]}},
    draw=draw,
    claims=(
        Claim(
            "IR-7",
            origin=derived("derived: the minimum of a sum of squares"),
            statement="On P prompts the population loss ends above its minimum by a constant over P: exponent of P over P = 1000 to 16000.",
            measure=Measure(
                "exponent in P of the excess population loss at the end",
                lambda data: exponent(last(data.excess), P),
            ),
            bound=between(-1.2, -0.8),
            law=-1.0,
            why="Theorems on infinitely many prompts describe a run on P of them up to this distance.",
        ),
        Claim(
            "IR-8",
            origin=derived("derived: a saddle moves as the minimum does"),
            statement="On P prompts the last pause of the loss before the end stays, and lies above L_3 by a constant over P: exponent of P over P = 1000 to 16000.",
            measure=Measure(
                "exponent in P of the population loss above L_3 at the last pause",
                lambda data: exponent(shift(data), P),
            ),
            bound=between(-1.2, -0.8),
            law=-1.0,
            why="Theorems on infinitely many prompts give the height of this pause up to this distance.",
        ),
    ),
)
