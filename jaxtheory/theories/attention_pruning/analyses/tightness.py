"""How steep the loss is at a mask, and how tight the bounds of `laws` are there."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.theories.attention_pruning import calculus, laws, model
from jaxtheory.theories.attention_pruning.model import Batch, Config, FusedMask, Params, Problem

POWER_ITERATIONS = 30
BOUNDS = ("lipschitz", "gradient_norm", "smallest_attention", "gram_floor", "smallest_weight", "chain")


def norm(params: Params) -> Float[Array, ""]:
    """Frobenius norm over all masks."""
    return jnp.sqrt(sum(jnp.sum(mask**2) for mask in params))


def hessian_norm(params: Params, problem: Problem, config: Config) -> Float[Array, ""]:
    """||Hessian of the loss||_2 from below, by 30 power iterations on Hessian-vector products."""

    def iterate(_: int, carry: tuple[Params, Array]) -> tuple[Params, Array]:
        Hv = calculus.hessian_vector_product(params, carry[0], Batch(problem.inputs), problem, config)
        length = norm(Hv)
        return jax.tree.map(lambda x: x / length, Hv), length

    valid = model.entries(config)
    v = jax.tree.map(lambda x: jnp.where(valid, problem.uniform[2] - 0.5, 0), params)
    v = jax.tree.map(lambda x: x / norm(v), v)
    return jax.lax.fori_loop(0, POWER_ITERATIONS, iterate, (v, jnp.zeros_like(norm(v))))[1]


def bound_ratio(params: Params, curvature: Float[Array, ""], problem: Problem, config: Config) -> Float[Array, " bound"]:
    """Tightness of each bound of BOUNDS at the given mask; 0 where a lower bound is vacuous."""
    if not isinstance(params, FusedMask):
        return jnp.full((len(BOUNDS),), jnp.nan, curvature.dtype)
    batch = Batch(problem.inputs)
    f, f_star, mask = model.forward(params, batch, problem, config), model.target(batch, problem, config), model.support(problem, config)
    c = f - f_star
    p = calculus.logit_gradient(f, c)
    B = calculus.outer_sum(p, batch.inputs)
    pull = norm(FusedMask(problem.weights * B)) / config.num_sequences.real
    size = lambda x: jnp.sqrt(jnp.sum(x**2))  # noqa: E731
    delta = laws.smallest_attention(f, mask)
    pairs = (
        (curvature, laws.lipschitz(batch, problem, config).gradient),
        (norm(calculus.gradient(params, batch, problem, config)), laws.gradient_norm(params, c, batch, problem, config)),
        (delta * size(c), size(p)),
        (laws.gram_floor(batch.inputs, config) * size(p), size(B)),
        (laws.smallest_weight(problem, config) * size(B), size(problem.weights * B)),
        (laws.chain(delta, batch, problem, config).slope * size(c), pull),
    )
    return jnp.stack([low / jnp.where(high > 0, high, 1) for low, high in pairs])
