"""Positional or semantic attention: which does a layer learn, and from how many samples?

Labels mix attention to positions with attention along a hidden direction of the tokens.
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.positional_semantic import checks, given
from jaxtheory.theories.positional_semantic.calculus import gradient
from jaxtheory.theories.positional_semantic.data import problem, sample
from jaxtheory.theories.positional_semantic.model import (
    Batch,
    Config,
    Params,
    Problem,
    init,
    loss,
)
from jaxtheory.theories.positional_semantic.predictions import assumptions, metrics, predict
from jaxtheory.theories.positional_semantic.training import ALGORITHMS, Time

__all__ = [
    "ALGORITHMS",
    "THEORY",
    "Batch",
    "Config",
    "Params",
    "Problem",
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

THEORY = Theory(
    name="positional_semantic",
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
