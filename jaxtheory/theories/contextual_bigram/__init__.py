"""Sparse contextual bigrams, learned by a linear transformer: when does sparse attention emerge from mini-batches?"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.contextual_bigram.calculus import (
    empty_columns,
    gradient,
    preconditioned,
    projected,
    rounded,
    soft_threshold,
    softmax_gradient,
    thresholded,
)
from jaxtheory.theories.contextual_bigram.checks import CHECKS, EXAMPLES
from jaxtheory.theories.contextual_bigram.dynamics import boosted, boosting_steps, early, eigenvalues, path, sparsified
from jaxtheory.theories.contextual_bigram.model import Batch, Config, Params, Problem, init, loss
from jaxtheory.theories.contextual_bigram.noise import attention_variance, growth_noise, occupancy_moment, residual_moment
from jaxtheory.theories.contextual_bigram.population import (
    Alignment,
    aligned,
    alignment,
    bayes_loss,
    excess_loss,
    expected_gradient,
    expected_preconditioned,
    optimal_value,
    population_loss,
    projected_step,
    residual,
    residual_step,
    signals,
)
from jaxtheory.theories.contextual_bigram.predictions import analyses, assumptions, metrics, predict, rounding_bound, threshold_bounds
from jaxtheory.theories.contextual_bigram.sampling import generate, sample
from jaxtheory.theories.contextual_bigram.task import problem, stationary
from jaxtheory.theories.contextual_bigram.training import ALGORITHMS
from jaxtheory.theories.contextual_bigram.transfer import initial_alignment, step_recovery, step_spread

PRESET = Config()
# The source's own numbers, as far as they are known: they do not learn within 1000 steps at these rates.
PAPER = Config(length=5000, batch_size=64, learning_rate=0.01, late_learning_rate=0.005)

THEORY = Theory(
    name="contextual_bigram",
    Config=Config,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms=ALGORITHMS,
    metrics=metrics,
    analyses=analyses,
    predict=predict,
    assumptions=assumptions,
    checks=CHECKS,
    examples=EXAMPLES,
)

__all__ = [
    "ALGORITHMS",
    "PAPER",
    "PRESET",
    "THEORY",
    "Alignment",
    "Batch",
    "Config",
    "Params",
    "Problem",
    "aligned",
    "alignment",
    "analyses",
    "assumptions",
    "attention_variance",
    "bayes_loss",
    "boosted",
    "boosting_steps",
    "early",
    "eigenvalues",
    "empty_columns",
    "excess_loss",
    "expected_gradient",
    "expected_preconditioned",
    "generate",
    "gradient",
    "growth_noise",
    "init",
    "initial_alignment",
    "loss",
    "metrics",
    "occupancy_moment",
    "optimal_value",
    "path",
    "population_loss",
    "preconditioned",
    "predict",
    "problem",
    "projected",
    "projected_step",
    "residual",
    "residual_moment",
    "residual_step",
    "rounded",
    "rounding_bound",
    "sample",
    "signals",
    "soft_threshold",
    "softmax_gradient",
    "sparsified",
    "stationary",
    "step_recovery",
    "step_spread",
    "threshold_bounds",
    "thresholded",
]
