"""Does the loss fall at once or in a staircase, and are the steps where the theory has them?

Both forms on infinitely many prompts with D = 4 and N = 31. The separate form has heads of rank 1.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_most, between, interpretation, printed

from . import (
    ABSTRACT,
    EXACT,
    ON_POPULATION,
    QUICK,
    SIGMA,
    THEORY,
    at_pauses,
    curves,
    drops,
    levels,
    often,
)


def select(data: xr.Dataset, form: str) -> xr.Dataset:
    """The runs of one form."""
    return data.sel(form=form, drop=True)


def off_level(data: xr.Dataset) -> xr.DataArray:
    """At the m-th pause: the distance of the loss from L_m."""
    pauses = at_pauses(select(data, "separate"), ON_POPULATION)
    return abs(pauses.loss - pauses.level)


def principal(data: xr.Dataset) -> xr.DataArray:
    """At the m-th pause: the distance of each component from 1 for d <= m, from 0 beyond."""
    pauses = at_pauses(select(data, "separate"), ON_POPULATION)
    place = xr.DataArray(np.arange(1, pauses.sizes["component"] + 1), dims="component")
    return abs(pauses.components - (place <= pauses.pause))


def draw(data: xr.Dataset) -> plot.Drawing:
    """The loss of each run with the levels of the theory, and the components of one run."""
    figure, ((merged, separate, components),) = plot.panels(3)
    started = data.isel(step=slice(1, None))
    for ax, form, name in (
        (merged, "merged", "merged"),
        (separate, "separate", "separate, rank 1"),
    ):
        curves(ax, select(started, form).loss, 0, "a run")
        for level in levels(ON_POPULATION):
            plot.theory(ax, 0, level, "", says="the levels $L_0$ to $L_4$ of the theory")
        plot.finish(ax, "step t", "loss L", name, xscale="log", legend=False)
    one = select(started, "separate").isel(seed=0)
    for d, color in enumerate(plot.shades(one.sizes["component"])):
        part = one.components.isel(component=d)
        components.plot(one.step, part, color=color, label=f"d = {d + 1}")
    plot.finish(
        components, "step t", r"$A_{dd}$ / its value at the minimum", "one run", xscale="log"
    )
    plot.remark(figure, "A line is a run.")
    return figure


FIGURE = Figure(
    name="regression_staircase",
    source=ABSTRACT,
    finding=Finding(
        "With separate keys and queries of rank 1 the loss drops once per component (D = 4), with merged ones only once",
        rests_on=("IR-2", "IR-5"),
    ),
    theory=THEORY,
    config=ON_POPULATION,
    sweep=EXACT
    | {
        "zip": {"form": ["separate", "merged"], SIGMA: [0.01, 1e-4], "steps": [40000, 40000]},
        "seeds": 64,
        "steps": 40000,
        "record": often(10, 40000),
    },
    quick=QUICK | {"zip": {"form": ["separate", "merged"], SIGMA: [0.3, 0.01]}, "seeds": 8},
    draw=draw,
    claims=(
        Claim(
            "IR-1",
            origin=interpretation(ABSTRACT, "losses at the saddles"),
            statement="In the separate form “the loss exhibits saddle-to-saddle dynamics”, read as: on its way past L_m, m = 1, 2, 3, a run is slowest within 0.2 % of tr Λ of it, in at least three quarters of the runs.",
            measure=Measure(
                "|loss − L_m| at its slowest fall past L_m, over tr Λ, each m = 1, 2, 3", off_level
            ),
            bound=at_most(0.002),  # keys 100, 101: 62 and 61 of 64
            q=0.75,
            diverged="violates",
            why="The heights of the steps are known in closed form, so the staircase can be tested as a law.",
        ),
        Claim(
            "IR-2",
            origin=printed(ABSTRACT),
            statement="In the merged form “the loss trajectory exhibits a single, abrupt drop”: the rate of fall has one peak in each run.",
            measure=Measure(
                "peaks of the loss's rate of fall, merged form",
                lambda data: drops(select(data, "merged").loss),
            ),
            bound=between(1, 1),
            q=1,
            why="The eigenvalues differ here as in the separate form, so the data alone make no staircase.",
        ),
        Claim(
            "IR-4",
            origin=interpretation(ABSTRACT),
            statement="“the model implements principal component regression in context with the number of principal components increasing over training time”, read as: at the pause at L_m the first m components are learned and no other, within 0.1 of their final value (m = 1, 2, 3), in at least three quarters of the runs.",
            measure=Measure(
                "|learned share of component d − [d ≤ m]| at the pause at L_m, all d, m", principal
            ),
            bound=at_most(0.1),  # keys 100, 101: 64 and 64 of 64
            q=0.75,
            why="It says what a network that is stopped early has learned.",
        ),
        Claim(
            "IR-5",
            origin=interpretation(ABSTRACT, "saddle-to-saddle dynamics"),
            statement="“saddle-to-saddle dynamics”, read as one drop per component: the rate of fall has D = 4 peaks.",
            measure=Measure(
                "peaks of the loss's rate of fall, separate form, D = 4",
                lambda data: drops(select(data, "separate").loss),
            ),
            bound=between(3.8, 4.2),
            law=4.0,
            why="Two components that are learned together would be one drop.",
        ),
    ),
)
