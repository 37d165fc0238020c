"""In-context regression: how many prompts and tasks does linear attention need for an unseen task?

It is trained on a finite set of tasks, and regresses on a task that it has not seen.
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.task_diversity import checks, given
from jaxtheory.theories.task_diversity.calculus import gradient
from jaxtheory.theories.task_diversity.data import problem, sample
from jaxtheory.theories.task_diversity.model import Batch, Config, Params, Problem, init, loss
from jaxtheory.theories.task_diversity.predictions import assumptions, metrics, predict
from jaxtheory.theories.task_diversity.training import ALGORITHMS, Time

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
    name="task_diversity",
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
