"""Pruning attention by gradient descent on a mask: is it better than the usual scores?

The attention matrix is pruned as in arXiv 2410.11261.
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.attention_pruning import checks, given, predictions
from jaxtheory.theories.attention_pruning.calculus import gradient
from jaxtheory.theories.attention_pruning.data import problem, sample
from jaxtheory.theories.attention_pruning.model import (
    Batch,
    Config,
    FactorMasks,
    FusedMask,
    Params,
    Problem,
    init,
    loss,
)
from jaxtheory.theories.attention_pruning.predictions import (
    DIMS,
    assumptions,
    baselines,
    coords,
    metrics,
    predict,
)
from jaxtheory.theories.attention_pruning.training import ALGORITHMS, Smooth, State

__all__ = [
    "ALGORITHMS",
    "DIMS",
    "P1",
    "P2",
    "P3",
    "PRESETS",
    "THEORY",
    "Batch",
    "Config",
    "FactorMasks",
    "FusedMask",
    "Params",
    "Problem",
    "Smooth",
    "State",
    "assumptions",
    "baselines",
    "coords",
    "gradient",
    "init",
    "loss",
    "metrics",
    "predict",
    "problem",
    "sample",
]

P1 = Config(step_scale=0.1, regularization=100.0)
P2 = Config(step_scale=0.02, regularization=18.0, clip=True)
P3 = Config()
# name -> config and steps; lambda is near the best of each preset
PRESETS = {
    "P1": (P1, 100),
    "P2": (P2, 400),
    "P3": (P3, 1500),
}

THEORY = Theory(
    name="attention_pruning",
    Config=Config,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms=ALGORITHMS,
    metrics=metrics,
    baselines=baselines,
    analyses=predictions.analyses,
    dims=DIMS,
    coords=coords,
    predict=predict,
    assumptions=assumptions,
    checks=checks.CHECKS,
    examples=checks.EXAMPLES,
    given=given.given,
)
