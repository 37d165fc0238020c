"""Checks of the gradient and of its conservation laws."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.low_rank import calculus, model, training
from jaxtheory.theories.low_rank.checks import literal, material
from jaxtheory.theories.low_rank.model import Config


def gradient_literal(key: Array, config: Config) -> Compared:
    """In all four matrices."""
    params, batch, made = material.setting(key, config)
    return calculus.gradient(params, batch, made, config), jax.grad(literal.loss)(
        params, batch, made, config
    )


def gradient_balanced(key: Array, config: Config) -> Compared:
    """W_O^T g_O = sum_h g_V W_V^T of the last layer, W_K g_K^T = g_Q W_Q^T of each head: products,
    then traces (Euler's identities).
    """
    params, batch, made = material.setting(key, config)
    g = calculus.gradient(params, batch, made, config)
    seen = model.forward(params, batch.tokens, made, config)
    right = params.output.T @ g.output
    left = jnp.einsum("had,hbd->ab", g.value[-1], params.value[-1])
    flow = jnp.sum(
        calculus.slope(seen.F, batch, config) * seen.F
    )  # F is homogeneous of degree 1 in W_O
    return (right, params.key @ g.key.mT, jnp.vdot(params.output, g.output)), (
        left,
        g.query @ params.query.mT,
        flow,
    )


def drift_second_order(key: Array, config: Config) -> Compared:
    """After one step from a balanced start the laws of gradient flow fail by eta^2 (g g^T - g'
    g'^T) exactly.
    """
    _, batch, made = material.setting(key, config)
    start, eta = model.initial(made, config), config.learning_rate
    g = calculus.gradient(start, batch, made, config)
    new = training.step(key, jnp.int32(0), start, batch, made, config)
    size = lambda x: jnp.sqrt(jnp.sum(x**2))
    moved = lambda f: size(f(new) - f(start))
    V = lambda p: jnp.einsum("had,hbd->ab", p.value[-1], p.value[-1])
    O = lambda p: p.output.T @ p.output
    left = size(g.query @ g.query.mT - g.key @ g.key.mT), size(V(g) - O(g))
    whole = (
        moved(lambda p: p.query @ p.query.mT) + moved(lambda p: p.key @ p.key.mT),
        moved(V) + moved(O),
    )
    want = jnp.stack(
        [eta**2 * a / jnp.where(b > 0, b, 1) for a, b in zip(left, whole, strict=True)]
    )
    return calculus.balance_drift(new, made, config), want


CHECKS = (
    Check("gradient: autodiff of the loss token by token", "derived", "equal", gradient_literal),
    Check(
        "gradient: conservation laws and Euler's identity", "derived", "equal", gradient_balanced
    ),
    Check("balance_drift: second order in the step", "derived", "equal", drift_second_order),
)
