"""One-nearest-neighbour prediction in context: does softmax attention, trained from zero, select the nearest example?"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.nearest_neighbor.calculus import gradient, lift, logit_gradient, rates, reduce
from jaxtheory.theories.nearest_neighbor.checks import CHECKS, EXAMPLES
from jaxtheory.theories.nearest_neighbor.model import (
    Config,
    Full,
    Params,
    Problem,
    Prompts,
    Reduced,
    attend,
    flipped,
    init,
    logits,
    loss,
    problem,
    relabelled,
    sample,
)
from jaxtheory.theories.nearest_neighbor.population import TIE, flow, gap_density, inner_products, nearest_density, power_laws, valley
from jaxtheory.theories.nearest_neighbor.population import gradient as population_gradient
from jaxtheory.theories.nearest_neighbor.population import loss as population_loss
from jaxtheory.theories.nearest_neighbor.predictions import assumptions, bound, early_bound, metrics, predict, shift_bound
from jaxtheory.theories.nearest_neighbor.training import ALGORITHMS

PRESET = Config()
PAPER = Config(num_prompts=10000)  # with 2000 steps, the numbers of the source that are known; d, N, eta and sigma are lost

THEORY = Theory(
    name="nearest_neighbor",
    Config=Config,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms=ALGORITHMS,
    metrics=metrics,
    predict=predict,
    assumptions=assumptions,
    checks=CHECKS,
    examples=EXAMPLES,
)

__all__ = [
    "ALGORITHMS",
    "PAPER",
    "PRESET",
    "THEORY",
    "TIE",
    "Config",
    "Full",
    "Params",
    "Problem",
    "Prompts",
    "Reduced",
    "assumptions",
    "attend",
    "bound",
    "early_bound",
    "flipped",
    "flow",
    "gap_density",
    "gradient",
    "init",
    "inner_products",
    "lift",
    "logit_gradient",
    "logits",
    "loss",
    "metrics",
    "nearest_density",
    "population_gradient",
    "population_loss",
    "power_laws",
    "predict",
    "problem",
    "rates",
    "reduce",
    "relabelled",
    "sample",
    "shift_bound",
    "valley",
]
