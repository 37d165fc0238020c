"""Does the merged form follow its logistic law in time, and how fast does the gap vanish with eta?

From aligned weights, with equal eigenvalues, on infinitely many prompts.
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_most,
    between,
    derived,
    exponent,
    fitted_law,
    interpretation,
)

from . import ABSTRACT, ETA, EXACT, ON_POPULATION, THEORY, D, N, often

SIZES = [(2, 31), (4, 8), (8, 32)]
RATES = [0.005, 0.008, 0.014, 0.024, 0.04]


def gap(data: xr.Dataset) -> xr.DataArray:
    """The largest distance from the law over tr Lambda = 1."""
    return abs(data.loss - data.predicted_loss_logistic).max("step")


def draw(data: xr.Dataset) -> plot.Drawing:
    """The loss with its law against eta t, and the largest gap against eta."""
    figure, ((losses, gaps),) = plot.panels(2)
    eta = data[ETA].values[0]
    for i, size in enumerate(data.setting.values):
        runs = data.sel({"setting": size, ETA: eta}).isel(seed=0)
        runs = runs.isel(step=slice(1, None))
        losses.plot(runs.step, runs.loss, color=plot.COLORS[i], label=size)
        plot.theory(losses, runs.step.values, runs.predicted_loss_logistic.values, "", color=i)
        fitted = plot.law(gaps, fitted_law(gap(data).sel(setting=size), ETA))
        plot.series(gaps, gap(data).sel(setting=size), ETA, f"{size}, {fitted}", color=i)
    plot.finish(losses, "step t", "loss L", rf"$\eta$ = {eta:g}; dashed: law", xscale="log")
    plot.finish(gaps, r"$\eta$", "largest gap", xscale="log", yscale="log")
    return figure


FIGURE = Figure(
    name="regression_time_course",
    source=ABSTRACT,
    finding=Finding(
        "With equal eigenvalues and aligned weights merged loss stays within 0.01 tr Λ of its logistic law at η = 0.005",
        rests_on=("IR-3",),
    ),
    theory=THEORY,
    config=ON_POPULATION.replace(form="merged", start="aligned", spectrum=0.0, initial_scale=1e-3),
    sweep=EXACT
    | {
        "zip": {
            "setting": [f"D={d}, N={n}" for d, n in SIZES],
            D: [d for d, _ in SIZES],
            N: [n for _, n in SIZES],
        },
        "vary": {ETA: RATES},
        "seeds": 1,
        "steps": 30000,
        "record": often(20, 30000, 900),
    },
    quick={"vary": {ETA: [0.2, 0.4]}, "steps": 1000, "record": often(2, 1000, 60)},
    draw=draw,
    claims=(
        Claim(
            "IR-3",
            origin=interpretation(ABSTRACT),
            statement="“We derive an analytical time-course solution for a certain class of datasets and initialization”, read as: for equal eigenvalues and aligned weights, at η = 0.005 the loss is within 1 % of tr Λ of the logistic law at all times.",
            measure=Measure(
                "largest |loss − logistic law| over t, in tr Λ, η = 0.005, each (D, N)",
                lambda data: gap(data).isel({ETA: 0}),
            ),
            bound=at_most(0.01),
            exact=True,
            panel=1,
            why="A whole curve in time without a free constant leaves a theory little room.",
        ),
        Claim(
            "IR-6",
            origin=derived("derived: descent is Euler's method for the flow"),
            statement="The gap of the merged form's loss to the logistic law is that of the finite steps and grows in proportion to η: exponent over η = 0.005 to 0.04 (equal eigenvalues, aligned weights).",
            measure=Measure(
                "exponent in η of the largest |loss − logistic law| over t, each (D, N)",
                lambda data: exponent(gap(data), ETA),
            ),
            bound=between(0.9, 1.15),
            exact=True,
            why="It tells how small steps must be for the law to describe descent.",
        ),
    ),
)
