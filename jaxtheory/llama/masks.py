"""Masks on the query and key weights of a layer, fitted by gradient descent.

This is equation (1) of the source with heads, shared keys and rotary encodings.

    L(M_Q, M_K) = mean over sequences of sum_h (1/2) ||f_h - f*_h||_F^2
                  + (lambda / 2) (||M_Q||^2 + ||M_K||^2)

with f_h the causal attention of M_Q o W_Q and M_K o W_K and f*_h that of W_Q and W_K, on the same
inputs X (after RMSNorm). With p_h the gradient of (1/2) ||f_h - f*_h||^2 in the logits,

    dL/dM_Q = W_Q o mean(X^T dq) + lambda M_Q,   dq_h = R^T(p_h k_g(h)) / sqrt(e)
    dL/dM_K = W_K o mean(X^T dk) + lambda M_K,   dk_g = sum_(h in g) R^T(p_h^T q_h) / sqrt(e)

q and k after the rotation R, R^T its inverse. Of Qwen3, R^T is followed by the transposed Jacobian
of the RMSNorm of each head (`model.rms_norm_gradient`); biases only enter q and k.
Source: arXiv 2410.11261, equation (1); heads, sum over heads, rotary encodings, norms and biases
reconstructed.
"""

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from jaxtheory.llama import model
from jaxtheory.llama.config import Config
from jaxtheory.llama.model import Layer
from jaxtheory.theories.attention_pruning import calculus, training
from jaxtheory.theories.attention_pruning.analyses.linear import Rule
from jaxtheory.theories.attention_pruning.model import Config as Settings


class Masks(NamedTuple):
    """Real-valued masks on W_Q and W_K, where 1 keeps an entry."""

    query: Float[Array, "d H*e"]
    key: Float[Array, "d G*e"]


def _ones(layer: Layer) -> Masks:
    """Return M = 1, the start of the fit."""
    return Masks(jnp.ones_like(layer.query), jnp.ones_like(layer.key))


def _masked(masks: Masks, layer: Layer) -> Layer:
    return replace(layer, query=masks.query * layer.query, key=masks.key * layer.key)


def _attention(
    masks: Masks, layer: Layer, x: Float[Array, "S T d"], config: Config
) -> Float[Array, "S G r T T"]:
    """Return f, the attention of the masked weights."""
    return model.attention(_masked(masks, layer), x, config)


def _loss(
    masks: Masks,
    target: Float[Array, "S G r T T"],
    layer: Layer,
    x: Float[Array, "S T d"],
    regularization: Float[Array, ""] | float,
    config: Config,
) -> Float[Array, ""]:
    """Return L(M_Q, M_K), as in the docstring of this module; target: f*."""
    residual = _attention(masks, layer, x, config) - target
    penalty = jnp.sum(masks.query**2) + jnp.sum(masks.key**2)
    return jnp.sum(residual**2) / (2 * len(x)) + regularization / 2 * penalty


def _gradient(
    masks: Masks,
    target: Float[Array, "S G r T T"],
    layer: Layer,
    x: Float[Array, "S T d"],
    regularization: Float[Array, ""] | float,
    config: Config,
) -> Masks:
    """Return the gradient of `_loss` in the masks, in closed form."""
    masked = _masked(masks, layer)
    q, k = model.project(masked, x, config)
    f = model.causal_softmax(model.scores(model.Queries(q, k), config), config)
    p = calculus.logit_gradient(f, f - target) / np.sqrt(config.head_dim).astype(f.dtype)
    dq = jnp.einsum("sgrij,sgje->sgrie", p, k)
    dk = jnp.einsum("sgrij,sgrie->sgje", p, q)
    before = model.linear_heads(masked, x, config)

    def back(d: Array, u: Array, scale: Array | None) -> Array:
        d = model.rotate(d, config, inverse=True)
        d = d if scale is None else model.rms_norm_gradient(d, u, scale, config)
        return jnp.einsum("sti,stj->ij", x, model.merge_heads(d)) / len(x)

    dq = back(dq.reshape(len(x), -1, *dq.shape[-2:]), before[0], layer.query_norm)
    dk = back(dk, before[1], layer.key_norm)
    return Masks(
        layer.query * dq + regularization * masks.query,
        layer.key * dk + regularization * masks.key,
    )


class Fit(NamedTuple):
    """Settings of the fit of the masks M of a layer, which starts from M = 1.

    A mask multiplies the entries of W_Q or W_K. The masks minimize half the squared error of
    the attention plus (lambda / 2) ||M||^2. Source: arXiv 2410.11261, algorithm 1.

    Args:
        steps: The number of steps, at least 1.
        step_scale: c of the step size c / lambda, positive.
        momentum: The momentum, in [0, 1).
        clip: True clips the masks to [0, 1] after each step.
        stops: The shares of the steps, in (0, 1], after which masks are candidates for pruning.
        ratio_aware: True uses the attention of the binarized masks, whose gradient is applied to M
            (straight-through).
        batch: The number of calibration sequences that are drawn for each step; 0 uses all.

    Example:
        >>> from jaxtheory import llama
        >>> llama.Gradient(fit=llama.Fit(steps=100)).fit.steps
        100
    """

    steps: int = 300
    step_scale: float = 0.008
    momentum: float = 0.9
    clip: bool = True
    stops: tuple[float, ...] = (1.0,)
    ratio_aware: bool = False
    batch: int = 0


def fit_masks(
    key: Array,
    target: Float[Array, "S G r T T"],
    layer: Layer,
    x: Float[Array, "S T d"],
    regularization: Float[Array, ""] | float,
    rule: Rule,
    options: Fit,
    config: Config,
) -> Masks:
    """Return the masks at each of options.stops, along a leading axis."""
    settings = Settings().replace(
        regularization=regularization, step_scale=options.step_scale, momentum=options.momentum
    )
    optimizer = training.optimizer(settings)
    start = _ones(layer)
    valid = jax.tree.map(lambda M: jnp.ones(M.shape, bool), start)

    def step(t: Array, state: tuple[Masks, optax.OptState]) -> tuple[Masks, optax.OptState]:
        masks, velocity = state
        applied, f_star, inputs = masks, target, x
        if options.ratio_aware:
            applied = jax.tree.map(
                lambda M, v: rule.matrix_mask(M, v).astype(M.dtype), masks, valid
            )
        if options.batch:
            drawn = jax.random.choice(
                jax.random.fold_in(key, t), len(x), (options.batch,), replace=False
            )
            f_star, inputs = target[drawn], x[drawn]
        gradient = _gradient(applied, f_star, layer, inputs, 0.0, config)
        gradient = jax.tree.map(lambda g, M: g + regularization * M, gradient, masks)
        update, velocity = optimizer.update(gradient, velocity)
        masks = optax.apply_updates(masks, update)
        if options.clip:
            masks = jax.tree.map(optax.projections.projection_hypercube, masks)
        return masks, velocity

    state, at_stops, begun = (start, optimizer.init(start)), [], 0
    for share in options.stops:
        stop = round(share * options.steps)
        state = jax.lax.fori_loop(begun, stop, step, state)
        at_stops.append(state[0])
        begun = stop
    return jax.tree.map(lambda *masks: jnp.stack(masks), *at_stops)
