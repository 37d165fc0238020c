"""The gradient of the loss in closed form."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core.config import Size
from jaxtheory.theories.positional_semantic import model
from jaxtheory.theories.positional_semantic.model import Batch, Config, Params, Problem


def slope(h: Float[Array, "2 n"], target: Float[Array, "2 n"]) -> Float[Array, "2 n"]:
    """The gradient of sum_l (S_l - t_l)^2 / 2 in h.

    With b_l = (S_l - t_l) S_l (1 - S_l) it is

    (b_1 (2 h_1 - h_2) - b_2 h_2,  b_2 (2 h_2 - h_1) - b_1 h_1)
    """
    S = model.attention(h)
    b = (S - target) * S * (1 - S)
    first = b[0] * (2 * h[0] - h[1]) - b[1] * h[1]
    return jnp.stack([first, b[1] * (2 * h[1] - h[0]) - b[0] * h[0]])


def gradient(params: Params, batch: Batch, problem: Problem, config: Config) -> Params:
    """dL/dQ = sum over samples of g sum_l slope_l (x_l + s_l p) / sqrt(d) + lambda Q."""
    model.fit(params, batch, config)
    root = jnp.sqrt(jnp.asarray(Size.wrap(config.dimension).real, float))
    h = model.scores(params, batch, problem, config)
    k = batch.square[None] * slope(h, batch.target)
    pulled = jnp.einsum("ln,lnd->d", k, batch.x) + jnp.sum(k[0] - k[1]) * problem.position
    return Params(pulled / root + jnp.asarray(config.ridge, float) * params.Q)


def curvature(
    h: Float[Array, "2 n"], target: Float[Array, "2 n"]
) -> tuple[Float[Array, " n"], Float[Array, " n"], Float[Array, " n"]]:
    """The entries 11, 12, 22 of the Hessian of sum_l (S_l - t_l)^2 / 2 in h.

    With u_1 = h_1 (h_1 - h_2), u_2 = h_2 (h_2 - h_1) and S' = S (1 - S) it is

    sum_l (S'^2 + (S - t) S' (1 - 2 S))_l (grad u_l)(grad u_l)^T + b_l grad^2 u_l
    """
    S = model.attention(h)
    P = S * (1 - S)
    b, (c, e) = (S - target) * P, P**2 + (S - target) * P * (1 - 2 * S)
    one, two = (2 * h[0] - h[1], -h[0]), (-h[1], 2 * h[1] - h[0])
    return (
        c * one[0] ** 2 + e * two[0] ** 2 + 2 * b[0],
        c * one[0] * one[1] + e * two[0] * two[1] - b[0] - b[1],
        c * one[1] ** 2 + e * two[1] ** 2 + 2 * b[1],
    )
