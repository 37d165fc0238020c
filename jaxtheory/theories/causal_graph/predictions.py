"""Metrics along training, and the theory's levels and conditions."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxtheory.core.config import Size
from jaxtheory.ops.positions import indices
from jaxtheory.theories.causal_graph import calculus, laws, model
from jaxtheory.theories.causal_graph.model import Config, Params, Problem


def metrics(params: Params, problem: Problem, config: Config) -> dict:
    """Return the metrics. Rows are those of tokens that have a parent; NaN if none has.

    loss                  loss on the training prompts
    test_loss             loss on the test prompts
    excess                test_loss minus the level of the posterior mean
    parent_attention      mean over rows of W_{i, p(i)}
    stray_attention       mean over rows of the other entries, 1 - parent_attention
    parent_selected       share of rows whose largest entry of W is the parent
    gradient_selected     share of rows where the steepest descent of A1 is at the parent
    gradient_information  correlation of the descent direction of A1 with the information
    gradient_overlap      the same with the overlap
    strength              mean of the diagonal of A2 minus the mean of its other entries
    lags                  mean of W_{i, i-d} over the tokens i > d, for lags d = 0..T-1
    slopes                the same for -i dL/dA1_ij, the descent direction of A1 times i
    information_lags      the same for the information I_ij minus its mean over j <= i
    overlap_lags          the same for the overlap G_ij

    At A1 = 0 slopes are close to beta0 / (T S) times overlap_lags (`laws.first_slope`). The
    correlations are over j < i. Rows of the gradient are multiplied by i, and the rows of both have
    their means subtracted.
    """
    S, T = Size.wrap(config.num_states), Size.wrap(config.length)
    W = model.first_attention(params, config)
    slope = -calculus.gradient(params, problem.train, problem, config).A1
    test_loss = model.loss(params, problem.test, problem, config)
    has, place = problem.parents > 0, jnp.maximum(problem.parents - 1, 0)
    rows = jnp.sum(has).astype(float)
    mean = lambda x: jnp.sum(jnp.where(has, x, 0)) / rows  # 0 / 0 is NaN
    i = indices(T.cap)
    inside = model.causal(T)
    parent = i[None, :] == place[:, None]
    at_parent = jnp.take_along_axis(W, place[:, None], axis=1)[:, 0]
    top = lambda x: jnp.argmax(jnp.where(inside, x, -jnp.inf), axis=1).astype(place.dtype)
    largest = lambda x: (top(x) == place).astype(float)
    earlier = (i[None, :] < i[:, None]) & has[:, None]
    scaled = slope * (1 + i)[:, None].astype(float)
    return {
        "loss": model.loss(params, problem.train, problem, config),
        "test_loss": test_loss,
        "excess": test_loss - laws.levels(problem.test, problem.parents, config).bayes,
        "parent_attention": mean(at_parent),
        "stray_attention": mean(jnp.sum(jnp.where(parent, 0, W), axis=1)),
        "parent_selected": mean(largest(W)),
        "gradient_selected": mean(largest(slope)),
        "gradient_information": correlation(scaled, problem.information, earlier),
        "gradient_overlap": correlation(scaled, problem.overlap, earlier),
        "strength": model.strength(params.A2, S),
        "lags": by_lag(W, T),
        "slopes": by_lag(scaled, T),
        "information_lags": by_lag(laws.centered(problem.information, T), T),
        "overlap_lags": by_lag(laws.centered(problem.overlap, T), T),
    }


def correlation(x: Float[Array, "T T"], y: Float[Array, "T T"], where: Array) -> Float[Array, ""]:
    """The correlation of two matrices over some entries, their rows centered; 0 if one is zero."""
    number = jnp.maximum(jnp.sum(where, axis=1, keepdims=True), 1).astype(float)

    def centered(z: Float[Array, "T T"]) -> Float[Array, "T T"]:
        z = jnp.where(where, z, 0)
        return jnp.where(where, z - jnp.sum(z, axis=1, keepdims=True) / number, 0)

    x, y = centered(x), centered(y)
    norm = jnp.sqrt(jnp.sum(x**2)) * jnp.sqrt(jnp.sum(y**2))
    return jnp.sum(x * y) / jnp.where(norm > 0, norm, 1)


def by_lag(W: Float[Array, "T T"], length: Size) -> Float[Array, " T"]:
    """The mean of W_{i, i-d} over i > d for each lag d; NaN for lags beyond T."""
    i = indices(length.cap)
    column = i[None, :] - i[:, None]  # row d, column i: i - d
    entries = jnp.where(column >= 0, W[i[None, :], jnp.maximum(column, 0)], 0)
    rows = jnp.asarray(length.real, float) - i.astype(float)
    return jnp.where(length.mask(), jnp.sum(entries, axis=1) / rows, jnp.nan)


def predict(problem: Problem, config: Config, steps: Int[Array | np.ndarray, " n"]) -> dict:
    """Return the levels of `laws.levels` on the test prompts, for all steps.

    test_loss: uniform  output 1/S
    test_loss: unigram  share of each state in the prompt, the output at A2 = 0
    test_loss: bigram   share of each state among the tokens whose parent has the state s_T
    test_loss: bayes    posterior mean of pi(.|s_T)
    test_loss: entropy  pi(.|s_T) itself
    """
    levels = laws.levels(problem.test, problem.parents, config)
    shape = np.asarray(steps).shape
    return {
        f"test_loss:{name}": jnp.broadcast_to(value, shape)
        for name, value in levels._asdict().items()
    }


def assumptions(problem: Problem, config: Config) -> dict:
    """Return the conditions under which the first gradient finds parents and training keeps them.

    All are derived. "Long" has no constant; ours is 10 S. The strength is small below
    T / (S alpha + 1), from which on the noise of the output outweighs the information.
    """
    S, T = (jnp.asarray(Size.wrap(n).real, float) for n in (config.num_states, config.length))
    i = indices(Size.wrap(config.length).cap)
    has, place = problem.parents > 0, jnp.maximum(problem.parents - 1, 0)
    at_parent = jnp.take_along_axis(problem.overlap, place[:, None], axis=1)[:, 0]
    non_parents = model.causal(Size.wrap(config.length)) & (i[None, :] != place[:, None])
    strength = jnp.asarray(config.initial_strength, float)
    most = T / (S * jnp.asarray(config.concentration, float) + 1)
    rival = jnp.max(jnp.where(non_parents, problem.overlap, -jnp.inf), axis=1)
    margins = {
        "overlap largest at the parent": jnp.min(jnp.where(has, at_parent - rival, jnp.inf)),
        "long prompts: T > 10 S": T - 10 * S,
        "small start: 0 < beta0 < T/(S alpha + 1)": jnp.minimum(strength, most - strength),
    }
    return {name: (margin > 0, margin) for name, margin in margins.items()}
