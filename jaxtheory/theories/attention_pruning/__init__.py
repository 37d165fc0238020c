"""Pruning the attention matrix by gradient descent on a mask (arXiv 2410.11261): model, calculus, baselines, bounds and checks."""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.attention_pruning import baselines, predictions, training
from jaxtheory.theories.attention_pruning.calculus import gradient, hessian_vector_product, saliency
from jaxtheory.theories.attention_pruning.checks import CHECKS, EXAMPLES
from jaxtheory.theories.attention_pruning.model import (
    Batch,
    Config,
    FactorMasks,
    FusedMask,
    Params,
    Problem,
    attention,
    forward,
    init,
    loss,
    problem,
    sample,
)
from jaxtheory.theories.attention_pruning.predictions import DIMS, analyses, assumptions, coords, metrics, predict
from jaxtheory.theories.attention_pruning.pruning import binarise, pruned_weights, relative_error

P1 = Config(step_scale=0.1, regularization=100.0)
P2 = Config(step_scale=0.02, regularization=18.0, clip=True)
P3 = Config()
PRESETS = {"P1": (P1, 100), "P2": (P2, 400), "P3": (P3, 1500)}  # name -> config, steps; lambda near the best of each

THEORY = Theory(
    name="attention_pruning",
    Config=Config,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms={"gradient_descent": training.gradient_descent, "two_mask": training.two_mask},
    metrics=metrics,
    baselines=predictions.baselines,
    analyses=analyses,
    dims=DIMS,
    coords=coords,
    predict=predict,
    assumptions=assumptions,
    checks=CHECKS,
    examples=EXAMPLES,
)

__all__ = [
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
    "analyses",
    "assumptions",
    "attention",
    "baselines",
    "binarise",
    "coords",
    "forward",
    "gradient",
    "hessian_vector_product",
    "init",
    "loss",
    "metrics",
    "predict",
    "problem",
    "pruned_weights",
    "relative_error",
    "saliency",
    "sample",
]
