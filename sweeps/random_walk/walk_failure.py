"""Are walks with p = 0 or 1 learned only where N is not rK + 1?

On the exact population: one run, no seeds.
"""

import functools

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, last, printed
from jaxtheory.theories.random_walk import Config

from . import ETA, TALK, THEORY, K, N, P, end

LENGTHS = {
    K: [6] * 6 + [5] * 3 + [20] * 2,
    N: [95, 96, 97, 98, 99, 100, 26, 27, 28, 101, 102],
}


def circles(data: xr.Dataset, stuck: bool) -> xr.Dataset:
    """The circles with N = rK + 1, or the others."""
    return data.isel(circle=np.flatnonzero(((data[N] - 1) % data[K] == 0).values == stuck))


def asymmetry(data: xr.Dataset) -> xr.DataArray:
    """The largest of |accuracy - 1/K| and the spreads of attention and V, where N = rK + 1.

    The spread of V is that over its largest entry.
    """
    runs = circles(data, True)
    gaps = abs(runs.accuracy - 1 / runs[K]), runs.attention_spread, runs.value_spread
    return functools.reduce(np.maximum, gaps)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Accuracy by (K, N) and by loss and rate; the spread of the attention along two runs."""
    data = data if "loss_function" in data.dims else data.expand_dims(loss_function=["log"])
    figure, ((learned, run),) = plot.panels(2)
    table = last(data.accuracy).mean([P, "seed"]).stack(rule=("loss_function", ETA))
    names = [f"{loss}, {eta:g}" for loss, eta in table.rule.values]
    table = table.drop_vars(["rule", "loss_function", ETA]).assign_coords(rule=names)
    label = f"accuracy at {end(data)}, p = 0 and 1"
    plot.heat(learned, table, "circle", "rule", label=label, vmin=0, vmax=1)
    symmetric = ((data[N] - 1) % data[K] == 0) & table.notnull()
    plot.boundary(learned, symmetric, "circle", "rule", "N = rK + 1")
    plot.finish(learned, "K, N", "loss function, η", "all losses and rates")
    for color, circle in enumerate(("6, 97", "6, 98")):
        spread = data.attention_spread.sel(
            {"circle": circle, ETA: 1.0, P: 1.0, "loss_function": "log"}
        )
        plot.series(run, spread + 1e-17, "step", f"K, N = {circle}", color=color)
    plot.finish(
        run,
        "step t",
        r"max − min of the attention, + $10^{-17}$",
        "log loss, η = 1, p = 1",
        yscale="log",
    )
    plot.remark(figure, "Infinitely many walks, no seeds.")
    return figure


FIGURE = Figure(
    name="walk_failure",
    source=f"{TALK}, theorem on p in {{0, 1}}",
    finding=Finding(
        "On the exact law with p = 0 or 1, accuracy stays 1/K if K divides N − 1, and is 1 at t = 1 to 20 if not",
        rests_on=("RW-9", "RW-10"),
    ),
    theory=THEORY,
    config=Config(population=True, clockwise_probability=1.0),
    sweep={
        "zip": {"circle": [f"{k}, {n}" for k, n in zip(*LENGTHS.values(), strict=True)]} | LENGTHS,
        "vary": {P: [0.0, 1.0], ETA: [0.1, 1.0], "loss_function": ["log", "square", "hinge"]},
        "steps": 50,
        "record": [*range(11), 20, 50],
        "buckets": "pad",
        "dtype": "float64",
    },
    quick={
        "zip": {"circle": ["6, 97", "6, 98"], K: [6, 6], N: [97, 98]},
        "vary": {P: [0.0, 1.0], ETA: [0.1, 1.0]},
    },
    draw=draw,
    claims=(
        Claim(
            "RW-9",
            origin=printed(TALK, "failure theorem"),
            statement="For p in {0, 1} and N = rK + 1, on the exact law, a “Random guess” (accuracy 1/K), V proportional to 11^T and equal attention on all tokens at every step, with three losses and two rates: all within 1e-12.",
            measure=Measure(
                "largest of |accuracy − 1/K|, spreads of attention and V, N = rK + 1", asymmetry
            ),
            bound=at_most(1e-12),
            q=1,
            diverged="violates",
            exact=True,
            why="A walk without any randomness looks easiest, and gradient descent from zero never learns it.",
        ),
        Claim(
            "RW-10",
            origin=derived("derived from the failure theorem's condition"),
            statement="For p in {0, 1} and N != rK + 1, on the exact law, the accuracy is 1 from the first step on (t = 1 to 20).",
            measure=Measure(
                "accuracy for p = 0 and 1, N ≠ rK + 1, each run, at every t = 1 to 20",
                lambda data: circles(data, False).accuracy.sel(step=slice(1, 20)),
            ),
            bound=at_least(1 - 1e-9),
            q=1,
            diverged="violates",
            exact=True,
            why="It shows that the theorem's condition on N is tight: one token more or less, and the walk is learned.",
        ),
    ),
)
