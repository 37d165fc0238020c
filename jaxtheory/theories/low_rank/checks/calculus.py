"""Checks of the gradient and of its conservation laws."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.low_rank import calculus, model
from jaxtheory.theories.low_rank.checks import literal, material
from jaxtheory.theories.low_rank.model import Config


@check("gradient: autodiff, conservation laws", "derived", "equal")
def gradient_literal(key: Array, config: Config) -> Compared:
    """The gradient in all four matrices, and two identities that it satisfies.

    They are W_O^T g_O = sum_h g_V W_V^T of the last layer and W_K g_K^T = g_Q W_Q^T of each head.
    """
    params, batch, problem = material.setting(key, config)
    g = calculus.gradient(params, batch, problem, config)
    values = jnp.einsum("had,hbd->ab", g.value[-1], params.value[-1])
    return (g, params.output.T @ g.output, params.key @ g.key.mT), (
        jax.grad(literal.loss)(params, batch, problem, config),
        values,
        g.query @ params.query.mT,
    )


@check("balance_drift: second order in the step", "derived", "equal")
def drift_second_order(key: Array, config: Config) -> Compared:
    """After one step the laws of gradient flow fail by exactly eta^2 (g g^T - g' g'^T).

    The step is from a balanced start. Checked on the second and fourth example.
    """
    if (material.plain(config) and config.num_layers == 1) or config.task == "multiclass":
        return None
    _, batch, problem = material.setting(key, config)
    start, eta = model.initial(problem, config), config.learning_rate
    g = calculus.gradient(start, batch, problem, config)
    new = jax.tree.map(lambda w, dw: w - eta * dw, start, g)
    size = lambda x: jnp.sqrt(jnp.sum(x**2))
    moved = lambda f: size(f(new) - f(start))
    V = lambda p: jnp.einsum("had,hbd->ab", p.value[-1], p.value[-1])
    O = lambda p: p.output.T @ p.output
    violations = size(g.query @ g.query.mT - g.key @ g.key.mT), size(V(g) - O(g))
    changes = (
        moved(lambda p: p.query @ p.query.mT) + moved(lambda p: p.key @ p.key.mT),
        moved(V) + moved(O),
    )
    want = jnp.stack(
        [eta**2 * a / jnp.where(b > 0, b, 1) for a, b in zip(violations, changes, strict=True)]
    )
    return calculus.balance_drift(new, problem, config), want
