"""In-context regression: does the loss fall at once or in a staircase, and where are its steps?

The regression is linear, and the model is linear attention.
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.in_context_regression import checks, given
from jaxtheory.theories.in_context_regression.calculus import gradient
from jaxtheory.theories.in_context_regression.data import problem, sample
from jaxtheory.theories.in_context_regression.model import (
    Batch,
    Config,
    Literal,
    Merged,
    Moments,
    Params,
    Problem,
    Separate,
    init,
    loss,
)
from jaxtheory.theories.in_context_regression.predictions import assumptions, metrics, predict
from jaxtheory.theories.in_context_regression.training import ALGORITHMS, Time

__all__ = [
    "ALGORITHMS",
    "LARGE",
    "SMALL",
    "THEORY",
    "Batch",
    "Config",
    "Literal",
    "Merged",
    "Moments",
    "Params",
    "Problem",
    "Separate",
    "Time",
    "assumptions",
    "gradient",
    "init",
    "loss",
    "metrics",
    "predict",
    "problem",
    "sample",
]

LARGE = Config()
SMALL = Config(dimension=2, length=8, heads=4, num_prompts=200)

THEORY = Theory(
    name="in_context_regression",
    Config=Config,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms=ALGORITHMS,
    metrics=metrics,
    dims={"components": ("component",)},
    predict=predict,
    assumptions=assumptions,
    checks=checks.CHECKS,
    examples=checks.EXAMPLES,
    given=given.given,
)
