"""Data of a run: prompts of Gaussian linear regression, in the form in which the layer reads them.

The tasks of a share c of the prompts are one vector, the same for all of them (in-weight tasks).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.theories.in_context_regression import model
from jaxtheory.theories.in_context_regression.model import Batch, Config, Data, Moments, Problem


class Prompts(NamedTuple):
    """Prompts as they are drawn; padded prompts, examples and features are zero."""

    x: Float[Array, "P N D"]
    y: Float[Array, "P N"]
    query: Float[Array, "P D"]
    label: Float[Array, " P"]  # of the query
    fixed: Bool[Array, " P"]  # True where w is the fixed task


def problem(key: Array, config: Config) -> Problem:
    """Draw P training prompts, Pt test prompts and the fixed task."""
    train, test, task = raw(key, config)
    train_batch = batch(*train[:4], config.num_prompts, config.length)
    test_batch = batch(*test[:4], config.num_test, config.length)
    return Problem(train_batch, test_batch, moments(train_batch), task)


def sample(_key: Array, problem: Problem, _config: Config) -> Batch:
    """Return the fixed training set, for full-batch gradient descent."""
    return problem.train


def raw(key: Array, config: Data) -> tuple[Prompts, Prompts, Float[Array, " D"]]:
    """Draw the training prompts, the test prompts and the fixed task."""
    for_task, for_train, for_test = jax.random.split(key, 3)
    task = draws.normal(for_task, config.dimension)
    train = prompts(for_train, config.num_prompts, task, config)
    return train, prompts(for_test, config.num_test, task, config), task


def prompts(key: Array, count: Size | int, task: Float[Array, " D"], config: Data) -> Prompts:
    """Draw prompts with their tasks."""
    D, N = config.dimension, config.length
    for_x, for_query, for_w, for_share = jax.random.split(key, 4)
    root = jnp.sqrt(model.eigenvalues(config))
    x = draws.normal(for_x, count, N, D) * root[None, None, :]
    query = draws.normal(for_query, count, D) * root[None, :]
    w = draws.normal(for_w, count, D)
    fixed = draws.bernoulli(for_share, config.in_weight_share, count)
    w = jnp.where(fixed[:, None], task[None, :], w)
    y, label = jnp.einsum("pnd,pd->pn", x, w), jnp.sum(query * w, axis=1)
    return Prompts(x, y, query, label, fixed)


def batch(
    x: Float[Array, "P N D"],
    y: Float[Array, "P N"],
    query: Float[Array, "P D"],
    label: Float[Array, " P"],
    count: Size | int,
    length: Size | int,
) -> Batch:
    """The batch of these prompts. Padded prompts and examples must be zero."""
    z = jnp.concatenate([y[:, :, None], x], axis=2)
    last = jnp.pad(query, ((0, 0), (1, 0)))
    S = jnp.einsum("pni,pnj->pij", z, z) + last[:, :, None] * last[:, None, :]
    N = jnp.asarray(Size.wrap(length).real, float)
    return Batch(S / N, query, label, Size.wrap(count).weights())


def moments(batch: Batch) -> Moments:
    """The moments of a batch."""
    beta, x, y, weight = batch.S[:, 0, 1:], batch.x, batch.y, batch.weight
    z = beta[:, :, None] * x[:, None, :]
    b = jnp.einsum("p,pij->ij", weight * y, z)
    G = jnp.einsum("pij,pkl->ijkl", weight[:, None, None] * z, z)
    return Moments(jnp.sum(weight * y**2), b, G)
