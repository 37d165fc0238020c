"""A walk on a circle: when does attention select the parent, and what does the value matrix learn?

One softmax layer learns the walk. The parent is the token of s_{N-1}, the last state seen, one step
from the predicted s_N; the query follows it.

Source: W. Shi and Y. Cao, "Towards Understanding Transformers in Learning Random Walks", arXiv
2511.23239, and Y. Cao's talk about it. Only the abstract of the paper and the slides were read;
details of the paper are known at second hand.
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.random_walk import checks, given
from jaxtheory.theories.random_walk.calculus import gradient
from jaxtheory.theories.random_walk.data import problem, sample
from jaxtheory.theories.random_walk.model import (
    Batch,
    Config,
    Literal,
    Params,
    Problem,
    Reduced,
    init,
    loss,
)
from jaxtheory.theories.random_walk.predictions import assumptions, metrics, predict
from jaxtheory.theories.random_walk.training import ALGORITHMS

__all__ = [
    "ALGORITHMS",
    "CIRCLE6",
    "QA1",
    "QA2",
    "RANDOM_START",
    "THEORY",
    "Batch",
    "Config",
    "Literal",
    "Params",
    "Problem",
    "Reduced",
    "assumptions",
    "gradient",
    "init",
    "loss",
    "metrics",
    "predict",
    "problem",
    "sample",
]

CIRCLE6 = Config()
# Second hand: sigma = eta = 0.01, with which nothing is learned in 1000 steps of the mean loss.
# With eta = 10, as if 1000 losses were summed, the layer learns.
RANDOM_START = Config(init_scale=0.01, learning_rate=10.0, tokens="unit")
QA1 = Config(
    num_states=19, length=17, learning_rate=0.1, init_scale=0.01, tokens="unit", task="qa1"
)
QA2 = Config(
    num_states=19, length=19, learning_rate=0.1, init_scale=0.01, tokens="unit", task="qa2"
)

THEORY = Theory(
    name="random_walk",
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
