"""Up to which step size does descent on samples never raise the loss, for growing D?"""

from typing import Any

import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, between, derived
from jaxtheory.theories.group_sparse import Problem

from . import ETA, PAPER, SWEEP, THEORY, Config, D, edge

GROUPS, STEPS = [4, 6, 8, 12], 60


def loss(params: Any, problem: Problem, config: Config) -> dict[str, Any]:
    """The training loss alone, which is looked at in every step."""
    return {"loss": THEORY.loss(params, problem.train, problem, config)}


def falls(data: xr.Dataset) -> xr.DataArray:
    """The loss never rises."""
    return data.loss.diff("step").max("step", skipna=False) <= 0


def draw(result: xr.Dataset) -> plot.Drawing:
    """The phases over D and eta, and the boundary against D with its law."""
    figure, ((heat, line),) = plot.panels(2, title=f"{STEPS} steps", width=3.6, height=3.0)
    plot.phases(heat, result, D)
    plot.finish(heat, "groups D", "step size η", "share that falls", legend=False)
    plot.series(line, result.boundary, D, "largest η of a falling loss")
    plot.theory(line, result[D], result.law.mean("seed"), "16 / (D (D + 1)): edge for the bias")
    plot.finish(line, "groups D", "step size η", xscale="log", yscale="log")
    plot.ticks(line.xaxis, result[D].values)
    return figure


FIGURE = Figure(
    name="groups_step",
    source=f"{PAPER}, theorem: eta of order 1 for growing D",
    finding=Finding(
        "On 500 samples the largest η of a never rising loss is 0.9 to 1.2 times 16/(D(D + 1)) for D = 6, 8 and 12",
        rests_on=("GS-53",),
    ),
    theory=THEORY._replace(metrics=loss, predict=lambda problem, config, steps: {}),
    config=Config(num_samples=500),
    verb=jaxtheory.boundary,
    sweep={
        **SWEEP,
        "along": ETA,
        "between": (0.03, 6.0),
        "when": falls,
        "over": {D: GROUPS},
        "law": edge,
        "seeds": 16,
        "steps": STEPS,
        "record": 1,
        "tolerance": 0.02,
    },
    quick={"over": {D: [4, 6]}, "seeds": 2, "steps": 20, "tolerance": 0.3, "buckets": "pad"},
    draw=draw,
    # measured on keys 100 and 101, 16 seeds: 1.22 (D = 4), 1.07 to 1.09, 1.00 to 1.02, 0.98
    claims=(
        Claim(
            "GS-53",
            origin=derived("derived: the curvature of the bias at the start"),
            statement="The largest step size at which the loss never rises in 60 steps is 16 / (D (D + 1)): on 500 samples, their ratio is 0.9 to 1.2 for D = 6, 8 and 12 (at D = 4 it is above).",
            measure=Measure(
                "largest η of a falling loss, over 16 / (D (D + 1)), each D > 4",
                lambda d: (d.boundary / d.law).sel({D: [g for g in d[D].values if g > 4]}),
            ),
            bound=between(0.9, 1.2),
            law=1.0,
            why="A step size of order 1 for all D, as in the theorem, is one of the population alone.",
        ),
    ),
)
