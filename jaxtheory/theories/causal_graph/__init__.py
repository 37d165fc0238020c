"""In-context Markov chains: does the first gradient find parents, and what do its values encode?

Two layers of attention learn the chains, and the parents are those of each token.
"""

from jaxtheory.core.theory import Theory
from jaxtheory.theories.causal_graph import checks, given
from jaxtheory.theories.causal_graph.calculus import gradient
from jaxtheory.theories.causal_graph.data import problem, sample
from jaxtheory.theories.causal_graph.model import Batch, Config, Params, Problem, init, loss
from jaxtheory.theories.causal_graph.predictions import assumptions, metrics, predict
from jaxtheory.theories.causal_graph.training import ALGORITHMS, Time

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
    name="causal_graph",
    Config=Config,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms=ALGORITHMS,
    metrics=metrics,
    dims=dict.fromkeys(("lags", "slopes", "information_lags", "overlap_lags"), ("lag",)),
    predict=predict,
    assumptions=assumptions,
    checks=checks.CHECKS,
    examples=checks.EXAMPLES,
    given=given.given,
)
