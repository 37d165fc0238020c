"""How is the symmetric, failing run at p = 1 lost when its start is disturbed?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, interpretation, last
from jaxtheory.theories.random_walk import Config

from . import DELTA, ETA, TALK, THEORY, P, predicted

RIDGE = Config(population=True, clockwise_probability=1.0)
UNIFORM = 1 / 96  # attention on each of the N - 1 tokens, N = 97
SPREAD, LINEAR = "attention_spread", "predicted_attention_spread_linear"


def escape(data: xr.Dataset, name: str = SPREAD) -> xr.DataArray:
    """The first step at which tokens differ by half the uniform attention; NaN where none does."""
    exceeds = data[name] >= UNIFORM / 2
    return data.step[exceeds.argmax("step")].where(exceeds.any("step"))


def draw(data: xr.Dataset) -> plot.Drawing:
    """The spread of the attention in t for each disturbance, and the step at which it is lost.

    Dashed: the linear theory.
    """
    figure, ((spread, escaped),) = plot.panels(2)
    for i, delta in enumerate(data[DELTA].values):
        runs = data.sel({DELTA: delta, P: 1.0, ETA: 1.0})
        plot.series(
            spread, runs[SPREAD].clip(1e-17), "step", f"δ = {delta:.0e}", color=i, markers=False
        )
        linear = runs[LINEAR].isel(step=slice(2, None))
        predicted(spread, linear.where(linear < 0.02), "step", "" if i else "linear theory")
    plot.finish(
        spread,
        "step t",
        "max − min of the attention",
        "p = 1, K = 6, N = 97, η = 1",
        yscale="log",
    )
    spread.set_xlim(-0.5, 20)
    for i, eta in enumerate(data[ETA].values):
        runs = data.sel({ETA: eta, P: 1.0})
        plot.series(escaped, escape(runs), DELTA, f"η = {eta:g}", color=i)
        predicted(escaped, escape(runs, LINEAR), DELTA, "" if i else "linear theory")
    plot.finish(
        escaped,
        "standard deviation of the disturbance, δ",
        "steps until max − min is 1/(2 (N − 1))",
        "escape time",
        xscale="log",
    )
    return figure


FIGURE = Figure(
    name="walk_escape",
    source=f"{TALK}: the failing run is a ridge of bad points",
    finding=Finding(
        "At p = 1 starts disturbed by 1e-14 to 1e-2 lose symmetry within a step of linear theory's time (K = 6, N = 97)",
        rests_on=("RW-30",),
    ),
    theory=THEORY,
    config=RIDGE,
    sweep={
        "vary": {DELTA: [1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2], ETA: [0.1, 1.0], P: [1.0]},
        "seeds": 32,  # the range of six normal numbers varies by a third from seed to seed
        "steps": 50,
        "record": [*range(31), 50],
        "dtype": "float64",
    },
    quick={
        "config": RIDGE.pad(length=98),
        "vary": {DELTA: [1e-10, 1e-4], ETA: [1.0], P: [1.0]},
        "seeds": 4,
        "buckets": "pad",
    },
    draw=draw,
    claims=(
        Claim(
            "RW-28",
            origin=interpretation(TALK, "ridge of bad points"),
            statement="For p = 1 and N = rK + 1, “a “ridge” of bad points”, read as one that every disturbance of the start leaves: the accuracy is 1 at t = 50, η = 1.",
            measure=Measure(
                "accuracy at t = 50, p = 1, η = 1, each disturbance δ of the start",
                lambda data: last(data.accuracy).sel({ETA: 1.0}),
            ),
            bound=at_least(1 - 1e-9),
            q=1,
            diverged="violates",
            why="The failing start is unstable, so any noise in the start makes the walk learnable.",
        ),
        Claim(
            "RW-30",
            origin=derived(),
            statement="At p = 1 and N = rK + 1 the step at which tokens differ by half the uniform attention is that of linear theory within a step, for disturbances of the start from 1e-14 to 1e-2.",
            measure=Measure(
                "error of linear theory's escape time, in steps, each δ and η",
                lambda data: abs(escape(data) - escape(data, LINEAR)),
            ),
            bound=at_most(1.0),
            diverged="violates",
            why="It predicts how long the symmetric run lasts for a disturbance of a given size.",
        ),
    ),
)
