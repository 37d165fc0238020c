"""Factual recall: in which order and how many facts does linear attention learn, at what capacity?

A prompt names a subject and a relation among noise tokens, and its answer is a fact of the two.
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.factual_recall import checks, given
from jaxtheory.theories.factual_recall.calculus import gradient
from jaxtheory.theories.factual_recall.data import problem, sample
from jaxtheory.theories.factual_recall.model import Batch, Config, Params, Problem, init, loss
from jaxtheory.theories.factual_recall.predictions import assumptions, coords, metrics, predict
from jaxtheory.theories.factual_recall.training import ALGORITHMS, Time

__all__ = [
    "ALGORITHMS",
    "THEORY",
    "Batch",
    "Config",
    "Params",
    "Problem",
    "Time",
    "assumptions",
    "coords",
    "gradient",
    "init",
    "loss",
    "metrics",
    "predict",
    "problem",
    "sample",
]

THEORY = Theory(
    name="factual_recall",
    Config=Config,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms=ALGORITHMS,
    metrics=metrics,
    dims={"recalled": ("subject",)},
    coords=coords,
    predict=predict,
    assumptions=assumptions,
    checks=checks.CHECKS,
    examples=checks.EXAMPLES,
    given=given.given,
)
