"""How far is v from the direction of v* on samples, against the number D of groups?

On the population the error is 0 at every step, so that the bound of the theorem, epsilon D
exp(-Theta(sqrt D)), can only be met by the noise of samples. Descent on the same 500 samples at a
step size that is stable for each D.
"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_most,
    between,
    derived,
    exponent,
    interpretation,
)

from . import PAPER, SWEEP, THEORY, Config, D

GROUPS = [4, 6, 8, 10, 12]
EQUAL = 512  # a time that all have in common
SAMPLES, FEATURES = 500, 4
LOG: dict[str, Any] = {"xscale": "log", "yscale": "log"}


def squared(data: xr.Dataset) -> xr.DataArray:
    """|v1 / |v1| - v*|^2 = 2 - 2 cos."""
    return 2 * (1 - data.value_cosine.clip(max=1))


def at(data: xr.Dataset, steps: list[int]) -> xr.DataArray:
    """The squared errors at a step for each D."""
    rows = [
        squared(data).sel({D: groups, "step": step}, drop=True)
        for groups, step in zip(data[D].values, steps, strict=True)
    ]
    return xr.concat(rows, "groups").assign_coords(groups=data[D].values.astype(float))


def at_schedule(data: xr.Dataset) -> xr.DataArray:
    """The squared errors at t = D^3."""
    return at(data, [int(groups) ** 3 for groups in data[D].values])


def at_equal(data: xr.Dataset) -> xr.DataArray:
    """The squared errors at t = 512."""
    return at(data, [EQUAL] * data.sizes[D])


def first(data: xr.Dataset) -> xr.DataArray:
    """The squared error after the first step, over pi D (d - 1) / (2 n): mean over D."""
    law = np.pi * data[D] * (FEATURES - 1) / (2 * SAMPLES)
    return (squared(data).sel(step=1, drop=True) / law).mean(skipna=False)


def fall(data: xr.Dataset) -> xr.DataArray:
    """The error at t = D^3 for D = 12 over that for D = 8."""
    size = at_schedule(data) ** 0.5
    return size.sel(groups=12, drop=True) / size.sel(groups=8, drop=True)


def draw(data: xr.Dataset) -> plot.Drawing:
    """The error at t = D^3, at equal t, and after one step with its law, against D."""
    figure, (axes,) = plot.panels(3, title="500 samples, d = 4, η = 0.08", width=3.6)
    groups = data[D].values.astype(float)
    middle = min(EQUAL, int(data.step[-1]))
    rows = (
        ("t = D³", at_schedule(data)),
        (f"t = {middle}", at(data, [middle] * len(groups))),
        ("t = 1", at(data, [1] * len(groups))),
    )
    for ax, (when, values) in zip(axes, rows, strict=True):
        plot.series(ax, values**0.5, "groups")
        plot.finish(ax, "groups D", r"$|v_1/|v_1| - v^*|$", when, **LOG)
        plot.ticks(ax.xaxis, [int(g) for g in groups])
        ax.set_ylim(0.015, 0.4)
    law = (np.pi * groups * (FEATURES - 1) / (2 * SAMPLES)) ** 0.5
    plot.theory(axes[-1], groups, law, "", color=0, says="law of the first step")
    return figure


FIGURE = Figure(
    name="groups_direction",
    source=f"{PAPER}, theorem: the direction of v",
    finding=Finding(
        "On 500 samples the value vector's direction error does not fall by a third from D = 8 to 12 groups at t = D³",
        rests_on=("GS-61",),
    ),
    theory=THEORY,
    config=Config(num_samples=SAMPLES, group_dim=FEATURES, learning_rate=0.08),
    sweep=SWEEP
    | {
        "zip": {D: GROUPS, "steps": [max(g**3, EQUAL) for g in GROUPS]},
        "steps": GROUPS[-1] ** 3,
        "record": sorted({0, 1, EQUAL, *(g**3 for g in GROUPS)}),
        "seeds": 16,
    },
    quick={
        "zip": {D: GROUPS[:2], "steps": [216, 216]},
        "seeds": 2,
        "steps": 216,
        "record": [0, 1, 64, 216],
        "buckets": "pad",
    },
    draw=draw,
    claims=(
        Claim(
            "GS-61",
            origin=interpretation(PAPER, "theorem: the direction of v"),
            statement="A direction error of at most epsilon D exp(-Theta(sqrt D)) at T* is read as: on 500 samples at t = D^3, where epsilon is at least D^(-2), it falls from D = 8 to 12 to two thirds or less.",
            measure=Measure("direction error of v at t = D³, D = 12 over D = 8, 500 samples", fall),
            bound=at_most(2 / 3),
            expect="fails",
            why="Even without the exponential the bound is 1/D at this time, and samples do not give it.",
        ),
        Claim(
            "GS-62",
            origin=interpretation(PAPER, "theorem: the direction of v"),
            statement="A direction error at equal times of at most epsilon D exp(-Theta(sqrt D)), where epsilon D is of order T^(-1/3), is read as: on 500 samples at t = 512, it falls from D = 4 to 12, with an exponent of at most -0.5 (a constant of 0.4 or more).",
            measure=Measure(
                "exponent of the direction error of v in D, t = 512, 500 samples",
                lambda data: exponent(at_equal(data) ** 0.5, "groups"),
            ),
            bound=at_most(-0.5),
            expect="fails",
            why="It asks whether more groups help to find the direction, which on samples they do not.",
        ),
        Claim(
            "GS-63",
            origin=derived("derived: noise of D groups against the signal of one"),
            statement="After the first step on n samples, the squared error of the direction of v is near pi D (d - 1) / (2 n): the ratio of both is 0.6 to 1.4 on average over D = 4 to 12.",
            measure=Measure(
                "squared direction error at t = 1 over π D (d − 1) / (2 n), mean over D", first
            ),
            bound=between(0.6, 1.4),
            law=1.0,
            why="Training starts with an error that grows with D, so that later steps have more to mend.",
        ),
    ),
)
