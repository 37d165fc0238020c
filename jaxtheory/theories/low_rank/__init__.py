"""One-layer Transformer: what rank does its update have, and which neurons can be removed?

The Transformer acts on relevant and irrelevant patterns.
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.low_rank import checks, given, predictions
from jaxtheory.theories.low_rank.calculus import gradient
from jaxtheory.theories.low_rank.data import problem, sample
from jaxtheory.theories.low_rank.model import Batch, Config, Params, Problem, init, loss
from jaxtheory.theories.low_rank.predictions import (
    DIMS,
    assumptions,
    coords,
    metrics,
    predict,
)
from jaxtheory.theories.low_rank.training import ALGORITHMS, Factors

__all__ = [
    "ALGORITHMS",
    "DIMS",
    "P1",
    "P1P",
    "S1",
    "S1P",
    "THEORY",
    "Batch",
    "Config",
    "Factors",
    "G",
    "Params",
    "Problem",
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

S1 = Config()
S1P = Config(init_diagonal=0.01)  # the paper prints delta^2 I with delta = 0.1
P1 = Config(output="per_token", learning_rate=3.0)
P1P = Config(output="per_token", learning_rate=3.0, init_diagonal=0.01)
G = Config(init_diagonal=0.2, output_scale=0.01)

THEORY = Theory(
    name="low_rank",
    Config=Config,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms=ALGORITHMS,
    metrics=metrics,
    analyses=predictions.analyses,
    dims=DIMS,
    coords=coords,
    predict=predict,
    assumptions=assumptions,
    checks=checks.CHECKS,
    examples=checks.EXAMPLES,
    given=given.given,
)
