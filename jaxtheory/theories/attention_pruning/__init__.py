"""Pruning the attention matrix by gradient descent on a mask (arXiv 2410.11261): better than the
usual scores?
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.attention_pruning import (
    calculus,
    checks,
    data,
    given,
    model,
    predictions,
    training,
)
from jaxtheory.theories.attention_pruning.model import Config

P1 = Config(step_scale=0.1, regularization=100.0)
P2 = Config(step_scale=0.02, regularization=18.0, clip=True)
P3 = Config()
PRESETS = {
    "P1": (P1, 100),
    "P2": (P2, 400),
    "P3": (P3, 1500),
}  # name -> config, steps; lambda near the best of each

THEORY = Theory(
    name="attention_pruning",
    Config=Config,
    problem=data.problem,
    sample=data.sample,
    init=model.init,
    loss=model.loss,
    gradient=calculus.gradient,
    algorithms=training.ALGORITHMS,
    metrics=predictions.metrics,
    baselines=predictions.baselines,
    analyses=predictions.analyses,
    dims=predictions.DIMS,
    coords=predictions.coords,
    predict=predictions.predict,
    assumptions=predictions.assumptions,
    checks=checks.CHECKS,
    examples=checks.EXAMPLES,
    given=given.given,
)
