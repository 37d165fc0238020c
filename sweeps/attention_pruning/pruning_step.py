"""Up to which step size does descent never raise the loss, and how far is 1 / L_g below it?

Descent is on the mask, and 1 / L_g is the step size of theorem 4.1.
"""

from typing import Any

import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, between, derived
from jaxtheory.theories.attention_pruning import Config, laws
from jaxtheory.theories.attention_pruning.model import Batch, Problem

from . import PAPER, THEORY, with_legend

TAUS = [1.0, 3.0, 10.0]
WEIGHT, STEPS = 1e-4, 400
SLACK = 1e-6  # of the first loss, for rounding


def falls(data: xr.Dataset) -> xr.DataArray:
    """The loss never rises."""
    rise = data.loss.diff("step").max("step", skipna=False)
    return rise <= SLACK * data.loss.isel(step=0, drop=True)


def edge(problem: Problem, config: Config) -> Any:
    """The largest step scale at which descent from the dense attention is stable."""
    return config.regularization * laws.predict_boundary(problem, config)


def allowed(problem: Problem, config: Config) -> Any:
    """The step scale that theorem 4.1 allows, lambda / L_g."""
    L_g = laws.lipschitz(Batch(problem.inputs), problem, config).gradient
    return config.regularization / L_g


def draw(result: xr.Dataset) -> plot.Drawing:
    """The phases over tau and c, and the largest eta against tau.

    The largest eta is shown with both laws, and as its factor over the theorem's.
    """
    figure, (across,) = plot.panels(3, title=f"{STEPS} steps", width=3.4)
    heat, steps, factors = across
    plot.phases(heat, result, "logit_scale")
    plot.finish(heat, "scale of the logits τ", "c = λ η", "share that falls", legend=False)
    plot.series(steps, result.boundary / WEIGHT, "logit_scale", "largest η of a falling loss")
    for name, label, color in (("law", "2 / ‖H‖", None), ("allowed", "$1/L_g$, theorem 4.1", 1)):
        law = result[name].mean("seed") / WEIGHT
        plot.theory(steps, law.logit_scale, law, label, color=color)
    plot.finish(
        steps, "scale of the logits τ", "step size η", xscale="log", yscale="log", legend=False
    )
    plot.series(factors, result.boundary / result.allowed, "logit_scale", color=2, seeds=True)
    plot.finish(
        factors, "scale of the logits τ", "largest η times $L_g$", xscale="log", yscale="log"
    )
    for ax in (steps, factors):
        plot.ticks(ax.xaxis, result.logit_scale.values)
    return with_legend(figure, steps)


FIGURE = Figure(
    name="pruning_step",
    source=f"{PAPER}, theorem 4.1: eta at most 1/L_g",
    finding=Finding(
        "For τ = 1, 3, 10 the largest η with no rise of the loss in 400 steps is within 5 % of 2/‖H‖ (dense attention)",
        rests_on=("AP-56",),
    ),
    theory=THEORY,
    config=Config(dimension=16, length=8, mask_init="uniform", momentum=0.0, regularization=WEIGHT),
    verb=jaxtheory.boundary,
    sweep={
        "along": "step_scale",
        "between": (3e-6, 3e-2),
        "when": falls,
        "over": {"logit_scale": TAUS},
        "law": {"law": edge, "allowed": allowed},
        "seeds": 32,
        "steps": STEPS,
        "record": 1,
        "tolerance": 0.02,
        "dtype": "float64",
    },
    quick={"seeds": 2, "steps": 60, "tolerance": 0.2},
    draw=draw,
    # measured on keys 100 and 101, 16 and 32 seeds: medians at each tau 0.996 to 1.02, single runs
    # from 0.79, where the way from M_0 is steeper; 152 to 7000 times 1/L_g
    claims=(
        Claim(
            "AP-56",
            origin=derived(),
            statement="The largest step size at which the loss never rises in 400 steps is 2 / ||H||, with the Hessian where the attention is the dense one: their ratio is 0.95 to 1.05, for tau = 1, 3 and 10.",
            measure=Measure(
                "largest η of a falling loss over 2 / ‖H‖, τ = 1, 3 and 10",
                lambda d: d.boundary / d.law,
            ),
            bound=between(0.95, 1.05),
            why="It gives the step size that can be used, from the dense model alone.",
        ),
        Claim(
            "AP-57",
            origin=derived("measured"),
            statement="The largest step size at which the loss never rises is over 50 times the 1/L_g of theorem 4.1, in every run.",
            measure=Measure(
                "largest η of a falling loss over 1/L_g of theorem 4.1, each τ",
                lambda d: d.boundary / d.allowed,
            ),
            bound=at_least(50.0),
            q=1,
            panel=2,
            why="Whoever takes the step size of the theorem waits that many times longer than needed.",
        ),
    ),
)
