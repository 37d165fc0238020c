"""Sparse contextual bigrams, learned by a linear transformer: when does sparse attention emerge
from mini-batches?
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.contextual_bigram import (
    calculus,
    checks,
    data,
    given,
    model,
    predictions,
    training,
)
from jaxtheory.theories.contextual_bigram.model import Config

# The source's own numbers, as far as they are known: they do not learn within 1000 steps at these
# rates.
PAPER = Config(length=5000, batch_size=64, learning_rate=0.01, late_learning_rate=0.005)

THEORY = Theory(
    name="contextual_bigram",
    Config=Config,
    problem=data.problem,
    sample=data.sample,
    init=model.init,
    loss=model.loss,
    gradient=calculus.gradient,
    algorithms=training.ALGORITHMS,
    metrics=predictions.metrics,
    analyses=predictions.analyses,
    predict=predictions.predict,
    assumptions=predictions.assumptions,
    checks=checks.CHECKS,
    examples=checks.EXAMPLES,
    given=given.given,
)
