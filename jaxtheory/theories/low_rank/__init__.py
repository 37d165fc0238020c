"""A one-layer Transformer on relevant and irrelevant patterns: which rank has its update, and which neurons can go?"""

from typing import Any

from jaxtheory.core.theory import Theory
from jaxtheory.theories.low_rank import text
from jaxtheory.theories.low_rank.analyses import gap_rank, head_loss, projections, singular_values, truncation
from jaxtheory.theories.low_rank.calculus import gradient
from jaxtheory.theories.low_rank.checks import CHECKS, EXAMPLES
from jaxtheory.theories.low_rank.laws import dead_fraction, first_step, ranks, relevant_share, small_fraction
from jaxtheory.theories.low_rank.model import Batch, Config, Forward, Params, Problem, change, forward, init, initial, length, loss
from jaxtheory.theories.low_rank.predictions import DIMS, analyses, assumptions, coords, metrics, predict
from jaxtheory.theories.low_rank.pruning import curves
from jaxtheory.theories.low_rank.task import problem, sample
from jaxtheory.theories.low_rank.training import ALGORITHMS

S1 = Config()
S1P = Config(init_diagonal=0.01)  # the paper prints delta^2 I with delta = 0.1
P1 = Config(output="per_token", learning_rate=3.0)
P1P = Config(output="per_token", learning_rate=3.0, init_diagonal=0.01)
G = Config(init_diagonal=0.2, output_scale=0.01)
TEXT = Config(
    dimension=32, query_dim=32, value_dim=32, num_relevant=96, num_confusion=0, num_irrelevant_each=0, num_samples=2000, learning_rate=3.0
)

THEORY = Theory(
    name="low_rank",
    Config=Config,
    problem=problem,
    sample=sample,
    init=init,
    loss=loss,
    gradient=gradient,
    algorithms=ALGORITHMS,
    metrics=metrics,
    analyses=analyses,
    dims=DIMS,
    coords=coords,
    predict=predict,
    assumptions=assumptions,
    checks=CHECKS,
    examples=EXAMPLES,
)


def text_theory(source: Any = None) -> Theory:
    """The same layer on windows of bytes: a pair of folders, a label<TAB>text file, or two packages of the Python library (`text.read`)."""
    return THEORY._replace(
        name="low_rank_text",
        problem=text.problem_of(None if source is None else text.read(source)),
        predict=lambda problem, config, steps: {},
        assumptions=lambda problem, config: {},
        checks=(),
        examples=(TEXT,),
    )


__all__ = [
    "P1",
    "P1P",
    "S1",
    "S1P",
    "TEXT",
    "THEORY",
    "Batch",
    "Config",
    "Forward",
    "G",
    "Params",
    "Problem",
    "analyses",
    "assumptions",
    "change",
    "coords",
    "curves",
    "dead_fraction",
    "first_step",
    "forward",
    "gap_rank",
    "gradient",
    "head_loss",
    "init",
    "initial",
    "length",
    "loss",
    "metrics",
    "predict",
    "problem",
    "projections",
    "ranks",
    "relevant_share",
    "sample",
    "singular_values",
    "small_fraction",
    "text_theory",
    "truncation",
]
