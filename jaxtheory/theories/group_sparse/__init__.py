"""Group-sparse classification by one softmax layer: when does attention select the group that matters, and what is that worth?"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.group_sparse.calculus import gradient
from jaxtheory.theories.group_sparse.checks import CHECKS, EXAMPLES
from jaxtheory.theories.group_sparse.model import (
    Batch,
    Config,
    Linear,
    Params,
    Problem,
    Tuned,
    attend,
    encodings,
    init,
    loss,
    output,
    problem,
    sample,
)
from jaxtheory.theories.group_sparse.population import (
    Reduced,
    decay,
    embed,
    first_step,
    growth,
    positions,
    project,
    selected_loss,
    selected_run,
    velocity,
)
from jaxtheory.theories.group_sparse.predictions import assumptions, metrics, predict
from jaxtheory.theories.group_sparse.training import ALGORITHMS

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
    checks=CHECKS,
    examples=EXAMPLES,
)

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
    "Reduced",
    "Tuned",
    "assumptions",
    "attend",
    "decay",
    "embed",
    "encodings",
    "first_step",
    "gradient",
    "growth",
    "init",
    "loss",
    "metrics",
    "output",
    "positions",
    "predict",
    "problem",
    "project",
    "sample",
    "selected_loss",
    "selected_run",
    "velocity",
]
