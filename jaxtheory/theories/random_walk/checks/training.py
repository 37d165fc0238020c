"""Check of a training step against descent on the loss as the source writes it."""

import jax
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.random_walk import calculus, training
from jaxtheory.theories.random_walk.checks import literal, material
from jaxtheory.theories.random_walk.model import Config, Problem


def step_descends(key: Array, config: Config) -> Compared:
    """A step in V and W, and a step in the scores, against descent on the token-by-token loss. By
    induction the runs are the same. Checked for unit tokens, and for raw ones with the mlp.
    """
    plain = config.tokens == "raw" and config.value == "linear"
    if plain or not material.layer(config):
        return None
    batch, params = material.case(key, config)
    slopes = jax.grad(literal.loss)(params, batch, config)
    want = jax.tree.map(lambda x, g: x - config.learning_rate * g, params, slopes)
    got = [
        training.step(key, 0, start, batch, Problem(batch, batch), config)
        for start in (params, calculus.reduce(params, config))
    ]
    return got, [want, calculus.reduce(want, config)]


CHECKS = (
    Check(
        "step: descent on the token-by-token loss, literal and reduced",
        material.PAPER,
        "equal",
        step_descends,
    ),
)
