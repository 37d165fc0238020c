"""Sparse contextual bigrams: when does sparse attention emerge from mini-batches?

The bigrams are learned by a linear transformer.
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.contextual_bigram import checks, given
from jaxtheory.theories.contextual_bigram.calculus import gradient
from jaxtheory.theories.contextual_bigram.data import problem, sample
from jaxtheory.theories.contextual_bigram.model import Batch, Config, Params, Problem, init, loss
from jaxtheory.theories.contextual_bigram.predictions import analyses, assumptions, metrics, predict
from jaxtheory.theories.contextual_bigram.training import ALGORITHMS, Entry, Softmax, Transfer

__all__ = [
    "ALGORITHMS",
    "PAPER",
    "THEORY",
    "Batch",
    "Config",
    "Entry",
    "Params",
    "Problem",
    "Softmax",
    "Transfer",
    "analyses",
    "assumptions",
    "gradient",
    "init",
    "loss",
    "metrics",
    "predict",
    "problem",
    "sample",
]

# The numbers of the source, as far as they are known. At these rates nothing is learned within 1000
# steps.
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
    checks=checks.CHECKS,
    examples=checks.EXAMPLES,
    given=given.given,
)
