"""Does the trained layer still regress when tasks, queries or covariates are shifted at test time?

The merged form is trained on infinitely many prompts and tested on prompts that are drawn by
another law (`_shifted`).
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, between, derived, exponent, last

from . import EXACT, QUICK, SIGMA, N
from ._shifted import TESTED, Shifted

TRAINED = "arXiv 2306.09927, abstract"
SHIFTS: dict[str, dict[str, float]] = {
    "none": {},
    "tasks": {"task_spectrum": -1.0},
    "queries": {"query_spectrum": -1.0},
    "covariates × 1.5": {"covariate_scale": 1.5},
    "covariates alike": {"query_spectrum": 0.0, "example_spectrum": 0.0},
}
TOLERATED, COVARIATES = ["tasks", "queries"], ["covariates × 1.5", "covariates alike"]
CONFIG = Shifted(num_prompts=10, num_test=4000, form="merged", initial_scale=1e-3)


def settings(names: list[str]) -> dict[str, list]:
    """The fields of these shifts."""
    fields = sorted({field for shift in SHIFTS.values() for field in shift})
    own = [
        {**{field: getattr(CONFIG, field) for field in fields}, **SHIFTS[name]} for name in names
    ]
    return {"shift": names} | {field: [shift[field] for shift in own] for field in fields}


def over_plain(data: xr.Dataset, names: list[str]) -> xr.DataArray:
    """The error under these shifts over that without, at the largest N."""
    error = last(data.error).isel({N: -1})
    return error.sel(shift=names) / error.sel(shift="none", drop=True)


def grows(data: xr.Dataset, names: list[str]) -> xr.DataArray:
    """The exponent of N in the error under these shifts."""
    return exponent(last(data.error).sel(shift=names), N)


def draw(data: xr.Dataset) -> plot.Drawing:
    """The error against N for each shift, with the closed form."""
    figure, ((ax,),) = plot.panels(1)
    for i, name in enumerate(data["shift"].values):
        runs = last(data).sel(shift=name)
        plot.series(ax, runs.error, N, str(name), color=i)
        law = runs.predicted_error_law.mean("seed")
        plot.theory(ax, law[N].values, law.values, "", color=i, says="closed form")
    plot.finish(
        ax,
        "examples N",
        "error / variance of the label",
        "by what is shifted",
        xscale="log",
        yscale="log",
    )
    plot.ticks(ax.xaxis, data[N].values)
    return figure


FIGURE = Figure(
    name="regression_shifts",
    source=TRAINED,
    finding=Finding(
        "At N = 128 two shifts of tasks and queries at most double the error, two of covariates raise it at least 5 times",
        rests_on=("IR-26", "IR-27"),
    ),
    theory=TESTED,
    config=CONFIG,
    sweep=EXACT
    | {
        "zip": settings(list(SHIFTS)),
        "vary": {N: [16, 32, 64, 128]},
        "seeds": 16,
        "steps": 4000,
        "record": [0, 4000],
        "buckets": "exact",
    },
    quick=QUICK
    | {
        "config": CONFIG.replace(**{SIGMA: 0.01}, num_test=100),
        "zip": settings(list(SHIFTS)),
        "vary": {N: [8, 16]},
        "record": [0, 400],
        "buckets": "pad",
    },
    draw=draw,
    claims=(
        Claim(
            "IR-25",
            origin=derived("derived: moments of shifted prompts"),
            statement="The error of the trained layer on 4000 drawn prompts is 0.8 to 1.25 times its closed form, without a shift and under each of four shifts, for N = 16 to 128.",
            measure=Measure(
                "error on drawn prompts over its closed form, each shift and N",
                lambda data: last(data.error / data.predicted_error_law),
            ),
            bound=between(0.8, 1.25),
            why="The error under any shift of covariances is known without training.",
        ),
        Claim(
            "IR-26",
            origin=derived("derived: moments of shifted prompts"),
            statement="Where the eigenvalues of the test tasks rise with d (equal in training), or those of the test queries (falling in training), the error over the variance of the label is at most twice that without a shift (N = 128).",
            measure=Measure(
                "error under shifted tasks and queries over that without a shift, N = 128",
                lambda data: over_plain(data, TOLERATED),
            ),
            bound=at_most(2.0),
            why="The layer regresses also on these tasks and queries, which it has not met.",
        ),
        Claim(
            "IR-27",
            origin=derived("derived: moments of shifted prompts"),
            statement="With covariates of 1.5 times the variance, or of equal eigenvalues, at test time the error over the variance of the label is at least five times that without a shift (N = 128).",
            measure=Measure(
                "error under both shifts of covariates over that without a shift, N = 128",
                lambda data: over_plain(data, COVARIATES),
            ),
            bound=at_least(5.0),
            why="The layer has learned the inverse covariance of training and does not estimate another.",
        ),
        Claim(
            "IR-28",
            origin=derived("derived: the error for long prompts"),
            statement="Longer prompts lower the error also under shifts of tasks or queries: exponent of N over N = 16 to 128.",
            measure=Measure(
                "exponent in N of the error, shifted tasks and shifted queries",
                lambda data: grows(data, TOLERATED),
            ),
            bound=at_most(-0.7),
            why="For N to infinity the error vanishes under these shifts.",
        ),
        Claim(
            "IR-29",
            origin=derived("derived: the error for long prompts"),
            statement="Under shifts of covariates, to 1.5 times the variance or to equal eigenvalues, the error falls more slowly than the power −0.35 of N, if at all, over N = 16 to 128.",
            measure=Measure(
                "exponent in N of the error, both shifts of covariates",
                lambda data: grows(data, COVARIATES),
            ),
            bound=at_least(-0.35),
            why="By the closed form it tends to a constant that is not 0, from below for equal eigenvalues.",
        ),
    ),
)
