"""Checks of the encodings and of the scores as functions of the attention matrix."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.random_walk import model
from jaxtheory.theories.random_walk.checks import material
from jaxtheory.theories.random_walk.model import Config, Literal


@check("encodings: orthogonal, of squared norm (M+1)/2 and known sum", "derived (DST-I)", "equal")
def wave_orthogonality(_key: Array, config: Config) -> Compared:
    """P P^T = rho on the N positions, zero beyond, and the sum of each p_i.

    p_i sums to cot(i pi / (2 (M + 1))) for odd i, to 0 for even i.
    """
    if not material.circle(config):
        return None
    P, N = model.encodings(config), config.length
    M, i = jnp.asarray(config.encoding_dim.real, float), jnp.arange(1.0, N.cap + 1)
    sums = jnp.where(N.mask() & (i % 2 == 1), 1 / jnp.tan(i * jnp.pi / (2 * (M + 1))), 0)
    return (P @ P.T, P.sum(axis=1)), ((M + 1) / 2 * jnp.diag(N.mask().astype(float)), sums)


@check("rates: Gram matrix of the scores in W", "derived", "equal")
def rates_gram(_key: Array, config: Config) -> Compared:
    """The Jacobian of the scores in W times its transpose is the diagonal matrix of rates.

    So descent on W moves the scores at these rates, and a white W has white scores.
    """
    if not material.circle(config):
        return None
    K, N, size = config.num_states, config.length, config.num_states.cap + config.encoding_dim.cap
    zero = Literal(jnp.zeros((K.cap, K.cap)), jnp.zeros((size, size)))
    jacobian = jax.jacobian(lambda W: material.flat(model.scores(zero._replace(W=W), config)))(
        zero.W
    ).reshape(K.cap + N.cap, -1)
    rate_u, rate_w = model.rates(config)
    valid = jnp.concatenate([jnp.ones(K.cap), N.mask().astype(float)])
    return jnp.diag(
        valid * jnp.concatenate([jnp.broadcast_to(rate_u, (K.cap,)), rate_w])
    ), jacobian @ jacobian.T
