"""Checks of the forward pass and the gradient."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.factual_recall import calculus, data, model
from jaxtheory.theories.factual_recall.checks import material
from jaxtheory.theories.factual_recall.model import Config, Params, Problem


def literal(params: Params, problem: Problem, config: Config) -> Array:
    """The loss prompt by prompt with whole matrices Phi, W, E and one vector of counts c."""
    S, R, D, N, _, _ = material.capacities(config)
    batch, A, V = problem.train, R * D, S + R + N
    if isinstance(params.W, model.Table):
        W = jnp.concatenate([block.reshape(A, -1) for block in params.W], axis=1)
        E, Phi = jnp.eye(V), jnp.eye(A)
    else:
        e = problem.embedding
        W, E = params.W, jnp.concatenate([e.subject, e.relation, e.noise]).T
        Phi = e.answer.reshape(A, -1)
    u, total = jnp.concatenate(params.u), jnp.zeros(())
    for (s, r, i), weight in material.prompts(batch):
        c = jnp.zeros(V).at[s].set(1).at[S + r].set(1).at[S + R :].set(batch.counts[s, r, i])
        f = Phi @ W @ (E @ (u * c))
        total = total - weight * jax.nn.log_softmax(f)[r * D + batch.answer[s, r]]
    return total


@check("gradient: autodiff of whole matrices", "derived", "equal")
def gradient_by_prompt(key: Array, config: Config) -> Compared:
    """The loss and its gradient against autodiff of the loss prompt by prompt."""
    if not material.is_unpadded(config):
        return None
    problem = data.problem(key, config)
    params = material.weights(key, problem, config)
    got = model.loss(params, problem.train, problem, config)
    slope = calculus.gradient(params, problem.train, problem, config)
    return (got, slope), jax.value_and_grad(lambda p: literal(p, problem, config))(params)


@check("gradient: finite differences", "derived", "bound")
def gradient_by_differences(key: Array, config: Config) -> Compared:
    """The slope along a random direction against a central difference of the loss."""
    problem = data.problem(key, config)
    params = material.weights(key, problem, config)
    along = material.weights(jax.random.fold_in(key, 1), problem, config)
    h = 1e-5
    at = lambda sign: model.loss(
        jax.tree.map(lambda x, y: x + sign * h * y, params, along), problem.train, problem, config
    )
    slope = calculus.gradient(params, problem.train, problem, config)
    got = sum(jnp.sum(x * y) for x, y in zip(*map(jax.tree.leaves, (slope, along)), strict=True))
    return jnp.abs(got - (at(1) - at(-1)) / (2 * h)), jnp.asarray(1e-7)


@check("gradient: what the flow conserves", "derived", "equal")
def gradient_is_balanced(key: Array, config: Config) -> Compared:
    """<W_v, dL/dW_v> = u_v dL/du_v for each token, summed over tokens for random embeddings.

    With onehot embeddings sum_a dL/dW_av = 0 for each token.
    """
    problem = data.problem(key, config)
    params = material.weights(key, problem, config)
    slope = calculus.gradient(params, problem.train, problem, config)
    scores = [u * du for u, du in zip(params.u, slope.u, strict=True)]
    if not isinstance(params.W, model.Table):
        W, dW = jax.tree.leaves((params.W, slope.W))
        return jnp.sum(W * dW), jnp.sum(jnp.concatenate(scores))
    values = [jnp.sum(W * dW, axis=(0, 1)) for W, dW in zip(params.W, slope.W, strict=True)]
    sums = [jnp.sum(dW, axis=(0, 1)) for dW in slope.W]
    return (values, [1 + x for x in sums]), (scores, [jnp.ones_like(x) for x in sums])
