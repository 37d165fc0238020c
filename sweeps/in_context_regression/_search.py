"""Zeros of the gradient in the weights on infinitely many prompts, for both forms.

They are searched for by Levenberg-Marquardt steps on the gradient, from many starts: weights of a
random subset of components, with Gaussian noise of a random size up to theirs. Zeros are counted as
matrices A, not as weights.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from jaxtheory import Algorithm
from jaxtheory.theories.in_context_regression import Config, Merged, Problem, Separate, laws, model

from . import THEORY

STARTS = 300
ZERO = 1e-9  # of the norm of the gradient at a zero, which is of order 1 elsewhere


class Search(NamedTuple):
    """The weights of all starts, and the damping of their next step."""

    weights: Float[Array, "starts weights"]
    damping: Float[Array, " starts"]


def of_subsets(subsets: Float[Array, "starts D"], config: Config) -> Merged | Separate:
    """Weights with A_dd as at the minimum in the subset and 0 elsewhere.

    Separate: head d holds component d. Merged: one head holds all of them.
    """
    a, _ = laws.shares(config)
    eye = jnp.eye(len(a))
    if config.form == "merged":
        A = (subsets * a[None])[:, None, :, None] * eye[None, None]
        v = jnp.sqrt(jnp.linalg.norm(A, axis=(2, 3)))
        return Merged(v, A / jnp.where(v > 0, v, 1)[:, :, None, None])
    v = subsets * jnp.cbrt(a)[None]
    k = v[:, :, None, None] * eye[None, :, None, :]
    return Separate(v, k, k)


def init(key: Array, _problem: Problem, config: Config) -> Search:
    """Noisy weights of random subsets of components."""
    for_subsets, for_noise, for_size = jax.random.split(key, 3)
    subsets = jax.random.bernoulli(for_subsets, 0.5, (STARTS, config.dimension.n)).astype(float)
    weights = jax.vmap(lambda one: ravel_pytree(one)[0])(of_subsets(subsets, config))
    size = jax.random.uniform(for_size, (STARTS, 1), maxval=1.5)
    noise = size * jax.random.normal(for_noise, weights.shape)
    return Search(weights + noise, jnp.full(STARTS, 1e-2))


def restored(row: Array, config: Config) -> Merged | Separate:
    """The weights of one start."""
    like = jax.tree.map(lambda x: x[0], of_subsets(jnp.zeros((1, config.dimension.n)), config))
    params: Merged | Separate = ravel_pytree(like)[1](row)
    return params


def loss(row: Array, problem: Problem, config: Config) -> Array:
    """The population loss of one start."""
    return laws.loss(model.matrix(restored(row, config)), laws.population(problem.task, config))


def step(
    _key: Array, _t: Array, state: Search, _batch: tuple, problem: Problem, config: Config
) -> Search:
    """A step of each start, where it makes the gradient smaller, and the damping of the next."""
    slope = jax.grad(lambda row: loss(row, problem, config))

    def moved(row: Array, damping: Array) -> tuple[Array, Array]:
        g, hessian = slope(row), jax.jacfwd(slope)(row)
        system = hessian @ hessian + damping * jnp.eye(len(row))
        new = row - jnp.linalg.solve(system, hessian @ g)
        better = jnp.sum(slope(new) ** 2) < jnp.sum(g**2)
        changed = jnp.clip(jnp.where(better, damping / 5, 4 * damping), 1e-15, 1e6)
        return jnp.where(better, new, row), changed

    return Search(*jax.vmap(moved)(*state))


def metrics(params: Search, problem: Problem, config: Config) -> dict:
    """Zeros of the gradient among the starts.

    zeros      share of the starts that are one
    found      number of different A of zeros: subsets of components, and others one by one
    distance   largest |A - A of the nearest subset|, over the largest A*_dd, of zeros
    gap        largest |loss - L_M| for the nearest subset M, of zeros
    losses     the losses of zeros in rising order, then NaN
    """
    a, gains = laws.shares(config)
    sizes = jax.vmap(lambda row: jnp.linalg.norm(jax.grad(loss)(row, problem, config)))
    zero = sizes(params.weights) < ZERO
    A = jax.vmap(lambda row: model.matrix(restored(row, config)))(params.weights)
    losses = jax.vmap(lambda row: loss(row, problem, config))(params.weights)
    subset = jnp.diagonal(A, axis1=1, axis2=2) > a[None] / 2
    nearest = jnp.where(subset, a[None], 0)[:, :, None] * jnp.eye(len(a))[None]
    distance = jnp.max(jnp.abs(A - nearest), axis=(1, 2)) / jnp.max(a)
    number = jnp.sum(jnp.where(subset, 2 ** jnp.arange(len(a))[None], 0), axis=1)
    listed = jnp.zeros(2 ** len(a)).at[number].max((zero & (distance < 1e-6)).astype(float))
    levels = config.total_variance - jnp.sum(jnp.where(subset, gains[None], 0), axis=1)
    return {
        "zeros": jnp.mean(zero),
        "found": jnp.sum(listed) + jnp.sum(zero & (distance >= 1e-6)),
        "distance": jnp.max(jnp.where(zero, distance, 0)),
        "gap": jnp.max(jnp.where(zero, jnp.abs(losses - levels), 0)),
        "losses": jnp.sort(jnp.where(zero, losses, jnp.nan)),
    }


def no_batch(_key: Array, _problem: Problem, _config: Config) -> tuple:
    """The population needs no batch."""
    return ()


def mean_loss(params: Search, _batch: tuple, problem: Problem, config: Config) -> Array:
    """The mean loss of the starts, which a theory must have and the search does not use."""
    return jnp.mean(jax.vmap(lambda row: loss(row, problem, config))(params.weights))


SEARCHED = THEORY._replace(
    sample=no_batch,
    init=init,
    loss=mean_loss,
    gradient=jax.grad(mean_loss),
    algorithms={"levenberg_marquardt": Algorithm(init, step, sample=no_batch)},
    metrics=metrics,
    dims={"losses": ("run",)},
    predict=lambda problem, config, steps: {},
    assumptions=lambda problem, config: {},
    checks=(),
    examples=(),
    given=None,
)
CONFIG = Config(num_prompts=10, num_test=10)
