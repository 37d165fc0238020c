"""A walk on a circle, learned by one softmax layer: when does attention select the parent token, and what does the value matrix learn?"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.random_walk.calculus import gradient, imprint, lift, reduce
from jaxtheory.theories.random_walk.checks import CHECKS, EXAMPLES
from jaxtheory.theories.random_walk.dynamics import first_step, saturated_step, selected_run, symmetric_run
from jaxtheory.theories.random_walk.model import (
    Batch,
    Config,
    Literal,
    Params,
    Problem,
    Reduced,
    attend,
    encodings,
    init,
    label_law,
    loss,
    output,
    problem,
    rates,
    sample,
    scores,
    transition,
)
from jaxtheory.theories.random_walk.predictions import assumptions, best_accuracy, limit_error, metrics, predict
from jaxtheory.theories.random_walk.training import ALGORITHMS

CIRCLE6 = Config()
CIRCLE20 = Config(num_states=20, length=101)
# The source states sigma = eta = .01, which learns nothing in 1000 steps of the mean loss; eta = 10, as if 1000 losses were summed, does.
RANDOM_START = Config(init_scale=0.01, learning_rate=10.0, tokens="unit")
QA1 = Config(num_states=19, length=17, learning_rate=0.1, init_scale=0.01, tokens="unit", task="qa1")
QA2 = Config(num_states=19, length=19, learning_rate=0.1, init_scale=0.01, tokens="unit", task="qa2")
MLP = Config(num_sequences=1024, learning_rate=0.1, init_scale=0.01, value="mlp")

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
    checks=CHECKS,
    examples=EXAMPLES,
)

__all__ = [
    "CIRCLE6",
    "CIRCLE20",
    "MLP",
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
    "attend",
    "best_accuracy",
    "encodings",
    "first_step",
    "gradient",
    "imprint",
    "init",
    "label_law",
    "lift",
    "limit_error",
    "loss",
    "metrics",
    "output",
    "predict",
    "problem",
    "rates",
    "reduce",
    "sample",
    "saturated_step",
    "scores",
    "selected_run",
    "symmetric_run",
    "transition",
]
