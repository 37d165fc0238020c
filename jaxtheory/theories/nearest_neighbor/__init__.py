"""The nearest neighbor in context: does softmax attention, trained from zero, select it?

One-nearest-neighbor prediction answers with the label of the example nearest to the query.
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.nearest_neighbor import checks, given
from jaxtheory.theories.nearest_neighbor.calculus import gradient
from jaxtheory.theories.nearest_neighbor.data import problem, sample
from jaxtheory.theories.nearest_neighbor.model import (
    Config,
    Full,
    Params,
    Problem,
    Prompts,
    Reduced,
    init,
    loss,
)
from jaxtheory.theories.nearest_neighbor.predictions import assumptions, metrics, predict
from jaxtheory.theories.nearest_neighbor.training import ALGORITHMS

__all__ = [
    "ALGORITHMS",
    "PAPER",
    "THEORY",
    "Config",
    "Full",
    "Params",
    "Problem",
    "Prompts",
    "Reduced",
    "assumptions",
    "gradient",
    "init",
    "loss",
    "metrics",
    "predict",
    "problem",
    "sample",
]

# The known numbers of the source, which trains for 2000 steps; its d, N, eta and sigma are lost.
PAPER = Config(num_prompts=10000)

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
    checks=checks.CHECKS,
    examples=checks.EXAMPLES,
    given=given.given,
)
