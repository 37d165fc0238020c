"""Checks of descent."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.positional_semantic import data, training
from jaxtheory.theories.positional_semantic.checks import material
from jaxtheory.theories.positional_semantic.model import Config


@check("step: steps by autodiff", "derived", "equal")
def steps_by_autodiff(key: Array, config: Config) -> Compared:
    """Three steps against autodiff of the loss sample by sample."""
    if not material.is_unpadded(config):
        return None
    problem = data.problem(key, config)
    got = want = material.weights(key, config)
    rate = jnp.asarray(config.learning_rate, float)
    for t in range(3):
        got = training.step(key, t, got, (), problem, config)
        slope = jax.grad(lambda p: material.literal(p, problem, config))(want)
        want = jax.tree.map(lambda x, g: x - rate * g, want, slope)
    return got, want
