"""Checks of the encodings and of what the scores are to the attention matrix."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.random_walk import model
from jaxtheory.theories.random_walk.checks import material
from jaxtheory.theories.random_walk.model import Config, Literal


def wave_orthogonality(_key: Array, config: Config) -> Compared:
    """P P^T = rho on the N positions, zero beyond."""
    P, N = model.encodings(config), config.length
    rho = (jnp.asarray(config.encoding_dim.real, float) + 1) / 2
    return P @ P.T, rho * jnp.diag(N.mask().astype(float))


def rates_gram(_key: Array, config: Config) -> Compared:
    """d(scores)/dW times its transpose is the diagonal of rates: descent on W moves the scores so,
    and white W has white scores.
    """
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


CHECKS = (
    Check(
        "encodings: orthogonal, of squared norm (M+1)/2",
        "derived (DST-I)",
        "equal",
        wave_orthogonality,
    ),
    Check("rates: Gram matrix of the scores in W", "derived", "equal", rates_gram),
)
