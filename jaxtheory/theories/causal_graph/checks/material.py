"""Prompts without a law, transitions, and the choice of configs for each check."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.theories.causal_graph import data, model
from jaxtheory.theories.causal_graph.model import Batch, Config, Problem

PAPER = "arXiv 2402.14735"


def is_unpadded(config: Config) -> bool:
    """True if no size is padded."""
    names = ("num_states", "length", "num_prompts")
    return all(Size.wrap(getattr(config, n)).value is None for n in names)


def transitions(key: Array, count: int, config: Config) -> Float[Array, "P S S"]:
    """Matrices with positive rows that sum to 1, for a config without padding."""
    S = Size.wrap(config.num_states).cap
    return jax.nn.softmax(jax.random.normal(key, (count, S, S)), axis=2)


def batch(key: Array, config: Config) -> Batch:
    """Uniform tokens with random transitions."""
    for_s, for_pi = jax.random.split(key)
    P, T = config.num_prompts, config.length
    s = draws.integers(for_s, Size.wrap(config.num_states).n, P, T)
    pi = transitions(for_pi, Size.wrap(P).cap, config)
    return data.batch(data.Prompts(s, pi), P, config)


def problem(batch: Batch, config: Config) -> Problem:
    """A chain with these prompts for training and test, without information."""
    T = Size.wrap(config.length)
    zero = jnp.zeros((T.cap, T.cap))
    p = data.parents(jax.random.key(0), config)
    return model.Problem(p, batch, batch, zero, zero)
