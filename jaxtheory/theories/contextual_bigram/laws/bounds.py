"""Bounds on the cost of threshold and rounding.

They are for A whose kept entries are exactly the support.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.theories.contextual_bigram.laws import population
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem


def deviation(
    A: Float[Array, "T N"], problem: Problem, config: Config
) -> tuple[Float[Array, ""], Float[Array, "T N"]]:
    """alpha_A, and Delta_A on the support of Q, zero off it."""
    params = Params(A, problem.transition)
    off = population.residual(params, problem, config).attention
    return population.alignment(params, problem, config).attention, jnp.where(
        problem.context > 0, off, 0
    )


def threshold_bounds(
    A: Float[Array, "T N"], problem: Problem, config: Config
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """After thresholding, |Delta_A| <= b and alpha_A changes by at most b / sqrt(K_Q).

    b = |1 - alpha_A| sqrt(Q) / T + |Delta_A on the support of Q|.

    Source: lemma E.2; the constants are derived.
    """
    alpha, on_support = deviation(A, problem, config)
    root = jnp.sqrt(jnp.asarray(config.sparsity.real, float))
    b = jnp.abs(1 - alpha) * root / config.length.real + population.norm(
        on_support, problem.stationary
    )
    return b, b / jnp.sqrt(population.signals(problem, config).attention)


def rounding_bound(A: Float[Array, "T N"], problem: Problem, config: Config) -> Float[Array, ""]:
    """A bound on |A^ - Q| after rounding.

    It is the mu-norm over columns of

    [|1 - alpha_A| |1_S - Q q| / T + sqrt(Q) |q| |Delta_A on S|] / Z

    with S the support, Q its size and Z the sum of the kept entries: I - q 1^T is a projection on
    S, of norm sqrt(Q) |q|. It depends on Delta_A but for terms of order 1/T, as 1_S = Q q for
    uniform weights. Source: lemma F.1; the constants are derived.
    """
    q, mu, Q = problem.context, problem.stationary, jnp.asarray(config.sparsity.real, float)
    alpha, on_support = deviation(A, problem, config)
    size = lambda x: jnp.sqrt(jnp.sum(x**2, axis=0))
    Z = jnp.sum(jnp.where(q > 0, A, 0), axis=0)
    uneven = jnp.where(q > 0, 1 - Q * q, 0)
    level = jnp.abs(1 - alpha) * size(uneven) / config.length.real
    per_column = level + jnp.sqrt(Q) * size(q) * size(on_support)
    return jnp.sqrt(jnp.sum(mu * (per_column / jnp.where(Z == 0, 1, jnp.abs(Z))) ** 2))
