"""Group-sparse classification: when is the relevant group selected, and what is that worth?

The classifier is one softmax layer, whose attention selects the group.
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.group_sparse import checks, given
from jaxtheory.theories.group_sparse.calculus import gradient
from jaxtheory.theories.group_sparse.data import problem, sample
from jaxtheory.theories.group_sparse.model import (
    Batch,
    Config,
    Linear,
    Params,
    Problem,
    Tuned,
    init,
    loss,
)
from jaxtheory.theories.group_sparse.predictions import assumptions, metrics, predict
from jaxtheory.theories.group_sparse.training import ALGORITHMS, Time

__all__ = [
    "ALGORITHMS",
    "LARGE",
    "SMALL",
    "THEORY",
    "Batch",
    "Config",
    "Linear",
    "Params",
    "Problem",
    "Time",
    "Tuned",
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
SMALL = Config(group_dim=2, num_groups=4, num_samples=200)

THEORY = Theory(
    name="group_sparse",
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
