"""Random tasks, parameters and batches that compile fast. Sizes are unpadded."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.theories.contextual_bigram.model import Batch, Config, Params, Problem

DRAWS = 4000  # to compare a law with frequencies


def setting(key: Array, config: Config) -> tuple[Problem, Params]:
    """A random task, and parameters with 1^T A = 1^T and 1^T V = 1^T, all from one draw.

    Sizes are unpadded. P comes from a joint law with equal margins: a symmetric matrix plus a
    cycle, so that the chain is not reversible for N > 2.
    """
    N, T, Q = config.num_states.cap, config.length.cap, config.sparsity.cap
    shapes = [(N, N), (N, Q), (T, N), (N, N), (N, N)]
    ends = np.cumsum([a * b for a, b in shapes])
    draws = jnp.split(jax.random.uniform(key, (int(ends[-1]),)), ends[:-1])
    X, w, A, V, G = (x.reshape(shape) for x, shape in zip(draws, shapes, strict=True))
    joint = X + X.T + jnp.asarray(np.roll(np.eye(N), 1, axis=0))
    mu = jnp.sum(joint, axis=0) / jnp.sum(joint)
    P = joint / jnp.sum(joint, axis=0, keepdims=True)
    w = jnp.ones_like(w) if config.weights == "uniform" else 1 + w
    columns = np.arange(N)[:, None]
    places = (2 * columns + np.arange(Q)[None, :]) % T
    context = jnp.zeros((T, N)).at[places, columns].set(w / jnp.sum(w, axis=1, keepdims=True))
    G = G - jnp.mean(G, axis=0, keepdims=True)
    near = 0.5 * P + 0.5 * mu[:, None] + 0.1 * (G - (G @ mu)[:, None])
    return Problem(P, mu, context, near), Params(summing_to_one(A), summing_to_one(V))


def on_a_task(check: Callable, applies: Callable[[Config], bool]) -> Callable:
    """Make a check of check(key, problem, params, config).

    The made check runs on the `setting` of its key and config. It gives None where the config adds
    nothing to the check.
    """
    return lambda key, config: (
        check(key, *setting(key, config), config) if applies(config) else None
    )


def summing_to_one(x: Float[Array, "n m"]) -> Float[Array, "n m"]:
    """Random entries spread by about 1 around 1/n, with columns that sum to 1."""
    return x - jnp.mean(x, axis=0, keepdims=True) + 1 / len(x)


def loose(params: Params) -> Params:
    """Parameters whose columns have any sum."""
    return jax.tree.map(lambda x: 1.5 * x - 0.2 * jnp.roll(x, 1, axis=1) + 0.1, params)


def random_batch(key: Array, config: Config) -> Batch:
    """Uniform tokens, queries and labels."""
    B, T, N = config.batch_size.cap, config.length.cap, config.num_states.cap
    draw = (jax.random.uniform(key, (B, T + 2)) * N).astype(jnp.int32)
    return Batch(draw[:, :T].astype(jnp.uint8), draw[:, T], draw[:, T + 1])
