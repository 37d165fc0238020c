"""Is stopped descent ridge regression with penalty d / (2 eta t), and does it remove the peak?

Descent is stopped at step t. tau = 0.4 to 3 with kappa = 1/2, alpha = 1; descent from zero weights
by its eigenvalues.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, last
from jaxtheory.theories.task_diversity import Config

from . import QUICK, THEORY, N

D = 12
WEIGHTS = D * (D + 1)
COUNTS = [58, 115, WEIGHTS, 216, 432]
STEPS = 30000
RECORD = [0, *sorted({round(t) for t in np.geomspace(1, STEPS, 30)})]


def path_error(data: xr.Dataset, algorithm: str) -> xr.DataArray:
    """The error on fresh tasks of one of the two paths."""
    return data.icl_error.sel(algorithm=algorithm, drop=True)


def log_distance(data: xr.Dataset) -> xr.DataArray:
    """The largest distance of the logs of both paths' errors up to the best time of descent."""
    path, ridge = path_error(data, "path"), path_error(data, "ridge_path")
    early = path.step <= path.idxmin("step")
    return np.abs(np.log(path) - np.log(ridge)).where(early).max("step")


def stopped(data: xr.Dataset) -> xr.DataArray:
    """The least error along descent."""
    return path_error(data, "path").min("step")


def draw(data: xr.Dataset) -> plot.Drawing:
    """The errors of both paths at the peak, and the least and the last against tau."""
    figure, ((paths, minima),) = plot.panels(2)
    counts = data[N].values
    peak = counts[len(counts) // 2]
    later = data.sel({N: peak}).isel(step=slice(1, None))
    for i, (name, says) in enumerate({"path": "descent", "ridge_path": "ridge"}.items()):
        plot.medians(paths, path_error(later, name), "step", says, color=i)
    law = later.predicted_icl_error_stopped.isel(algorithm=0).median("seed")
    plot.theory(paths, law.step, law, "law of ridge")
    plot.finish(paths, "step t", "error on fresh tasks", "at the peak", xscale="log", yscale="log")
    d = 4 if int(counts.max()) < WEIGHTS else D
    one = data.assign_coords({N: data[N] / d**2})
    plot.medians(minima, stopped(one), N, "least along descent")
    plot.medians(minima, last(path_error(one, "path")), N, "at the last step", color=1)
    for ax in (paths, minima):
        plot.reference(ax, None, 1.01, "", says="the answer 0, of error 1 + ρ")
    plot.finish(minima, r"$\tau = n / d^2$", "error on fresh tasks", yscale="log")
    return figure


FIGURE = Figure(
    name="diversity_stopping",
    source="derived: gradient flow and ridge regression",
    finding=Finding(
        "Descent stopped at its best has no peak at n = d(d + 1), but by step 30000 its error there at least triples",
        rests_on=("TD-17", "TD-18"),
    ),
    theory=THEORY,
    config=Config(dimension=D, length=D, num_prompts=432, num_tasks=6, learning_rate=0.2),
    sweep={
        "dtype": "float64",
        "buckets": "pad",
        "vary": {"algorithm": ["path", "ridge_path"], N: COUNTS},
        "seeds": 12,
        "steps": STEPS,
        "record": RECORD,
    },
    quick=QUICK
    | {
        "vary": {"algorithm": ["path", "ridge_path"], N: [8, 20, 60]},
        "steps": 100,
        "record": [0, 1, 10, 100],
    },
    draw=draw,
    claims=(
        Claim(
            "TD-16",
            origin=derived("derived: 1 − (1 − 2ηc)^t ≈ c / (c + 1/(2ηt))"),
            statement="Until its best step, descent stopped at t and ridge regression with penalty λ = d / (2ηt) have errors on fresh tasks whose logs differ by at most 0.05 (d = 12, κ = 1/2, α = 1).",
            measure=Measure(
                "largest |log e_ICL, descent − ridge| up to the best step, each n", log_distance
            ),
            bound=at_most(0.05),
            why="It makes the number of steps a parameter of the formula, which has a penalty but no time.",
        ),
        Claim(
            "TD-17",
            origin=derived("derived: ridge regression has no peak"),
            statement="Stopped where its error on fresh tasks is least, descent has no peak: that error at n = d(d + 1) is at most 1.05 times those at τ = 0.4 and 0.8.",
            measure=Measure(
                "least e_ICL along descent at n = d(d + 1) over those at τ = 0.4, 0.8",
                lambda data: stopped(data).sel({N: WEIGHTS}) / stopped(data).sel({N: COUNTS[:2]}),
            ),
            bound=at_most(1.05),
            why="Descent passes by better weights than its end, near the start, though it takes fresh tasks to know when.",
        ),
        Claim(
            "TD-18",
            origin=derived("measured: descent at the last step"),
            statement="After descent to step 30000, the error on fresh tasks at n = d(d + 1) is at least 3 times its least along descent.",
            measure=Measure(
                "e_ICL at step 30000 over its least along descent, n = d(d + 1)",
                lambda data: (last(path_error(data, "path")) / stopped(data)).sel({N: WEIGHTS}),
            ),
            bound=at_least(3.0),
            why="The peak is there for whoever trains long enough.",
        ),
    ),
)
