"""Up to which learning rate does SGD stay at the task, for which batch size and length?"""

from typing import Any

import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, between, derived
from jaxtheory.theories.contextual_bigram import Problem
from jaxtheory.theories.contextual_bigram.laws import dynamics, noise

from . import ETA, PAPER, QUICK, SMALL, THEORY, B, Config, T, runs

STEPS = 200
FAR = 1000.0  # times the excess loss of the start: such a run is on its way to infinity


def leaves(data: xr.Dataset) -> xr.DataArray:
    """The run ends with a thousand times the excess loss that it began with, or none."""
    return ~(data.relative_excess_loss.isel(step=-1, drop=True) <= FAR)


def edge(problem: Problem, config: Config) -> Any:
    """The learning rate at which SGD leaves the task, noise included."""
    return noise.predict_boundary(problem, config)


def limit(problem: Problem, config: Config) -> Any:
    """The same without noise."""
    return -2 / dynamics.eigenvalues(problem, config)[0]


def draw(result: xr.Dataset) -> plot.Drawing:
    """The phases over B at the longest T, and the boundary against B for each T with its law."""
    figure, ((heat, line),) = plot.panels(2, title=f"t = {STEPS}", width=3.8, height=3.2)
    longest = result[T].values[-1]
    plot.phases(heat, result.sel({T: longest}), B)
    plot.finish(heat, "batch size B", "learning rate η", f"share that diverges, T = {longest}")
    for color, t in enumerate(result[T].values):
        runs = result.sel({T: t})
        plot.series(line, runs.boundary, B, f"T = {t}", color=color)
        law = runs.law.mean("seed")
        plot.theory(line, law[B], law, "", color=color, says="edge of stability with noise")
    plot.reference(line, None, float(result.limit.mean()), "population")
    plot.finish(line, "batch size B", "largest η", xscale="log", yscale="log")
    plot.ticks(line.xaxis, result[B].values)
    return figure


FIGURE = Figure(
    name="bigram_step",
    source=f"{PAPER}, section 5: the largest rate without divergence",
    finding=Finding(
        "At B, T = 64, 256 SGD stays bounded for 200 steps up to 0.6 to 1.2 times its predicted edge of stability",
        rests_on=("CB-90",),
    ),
    theory=THEORY,
    config=Config(l1=0.0, switch_step=STEPS),
    verb=jaxtheory.boundary,
    sweep={
        **runs(16, STEPS, every=STEPS),
        "along": ETA,
        "between": (0.01, 3.0),
        "when": leaves,
        "over": {T: [64, 256], B: [16, 64, 256]},
        "law": {"law": edge, "limit": limit},
        "algorithm": "sgd",
        "several": "first",
        "tolerance": 0.1,
    },
    quick=QUICK
    | {
        "config": SMALL.replace(l1=0.0),
        "over": {T: [128], B: [16, 64]},
        "steps": 60,
        "record": [60],
        "tolerance": 0.5,
        "buckets": "pad",
    },
    draw=draw,
    # measured on keys 100 and 101, 16 seeds: 0.77, 0.79 and 0.93 (T = 64), 0.76 and 0.87; at B = 16, where the noise of
    # V that the law leaves out counts, 0.59 and 0.67
    claims=(
        Claim(
            "CB-90",
            origin=derived("derived: the noise of A raises the curvature of V"),
            statement="The largest learning rate at which SGD stays bounded for 200 steps is 4 / (2 + d + sqrt(4 + d^2 + 4 ν)), ν the noise of a step of rate 1, of order T / B: their ratio is 0.6 to 1.2 for B = 64 and 256 and T = 64 and 256.",
            measure=Measure(
                "largest stable η over its law, each of T = 64, 256 and B = 64, 256",
                lambda d: (d.boundary / d.law).sel({B: slice(64, None)}),
            ),
            bound=between(0.6, 1.2),
            law=1.0,
            why="The source takes the largest rate without divergence, and this is how it depends on the task, B and T.",
        ),
    ),
)
