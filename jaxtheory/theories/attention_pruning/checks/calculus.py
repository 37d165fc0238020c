"""Checks of the closed derivatives and of the one-shot scores."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import linalg
from jaxtheory.theories.attention_pruning import calculus, laws, model, training
from jaxtheory.theories.attention_pruning.checks import literal, material
from jaxtheory.theories.attention_pruning.model import Config, FusedMask


@check("logit_gradient: autodiff of the row loss", "definitions C.4-C.7, D.4", "equal")
@material.once
def logit_gradient_autodiff(key: Array, config: Config) -> Compared:
    """The gradient in the logits by reverse-mode autodiff."""
    z, f_star, _ = literal.rows(key)
    f = literal.shown_softmax(z)
    return calculus.logit_gradient(f, f - f_star), jax.grad(literal.row_loss)(z, f_star)


@check("logit_hessian: autodiff of its gradient", "derived", "equal")
@material.once
def logit_hessian_autodiff(key: Array, config: Config) -> Compared:
    """The second derivative in the logits by forward over reverse mode."""
    z, f_star, s = literal.rows(key)
    f = literal.shown_softmax(z)
    gradient = lambda z: jax.grad(literal.row_loss)(z, f_star)
    return calculus.logit_hessian(f, f - f_star, s), jax.jvp(gradient, (z,), (s,))[1]


@check("gradient: autodiff of the loss, one mask and two", "theorem D.5, equation (1)", "equal")
@material.where_rows
def gradient_autodiff(key: Array, config: Config) -> Compared:
    """The gradient for one fused mask and for a mask on each factor, by autodiff."""
    problem, batch, *mask_sets = material.setting(key, config)
    evaluate = lambda function: [function(masks, batch, problem, config) for masks in mask_sets]
    return evaluate(calculus.gradient), evaluate(jax.grad(model.loss))


@check("hessian_vector_product: jvp of the autodiff gradient, one mask and two", "derived", "equal")
@material.where_long
def hessian_autodiff(key: Array, config: Config) -> Compared:
    """The Hessian-vector product by forward over reverse mode, for one mask and for two.

    The direction is that of the masks in reverse order.
    """
    problem, batch, fused, factors = material.setting(key, config)
    gradient = lambda m: jax.grad(model.loss)(m, batch, problem, config)
    direction = lambda m: jax.tree.map(jnp.flip, m)
    masks: tuple[model.Params, ...] = (fused, factors)
    got = [calculus.hessian_vector_product(m, direction(m), batch, problem, config) for m in masks]
    return got, [jax.jvp(gradient, (m,), (direction(m),))[1] for m in masks]


@check("saliency: its fixed point is stationary", "derived", "equal")
@material.where_long
def saliency_stationary(key: Array, config: Config) -> Compared:
    """The iteration M <- saliency(M) ends where -grad L_attn(M) / lambda = M.

    It contracts where lambda = 4 (L_g - lambda).
    """
    problem, batch, fused, _ = material.setting(key, config)
    curvature = laws.lipschitz(batch, problem, config).gradient - config.regularization
    config = config.replace(regularization=4 * curvature)
    fixed = jax.lax.fori_loop(
        0, 40, lambda _, m: calculus.saliency(m, batch, problem, config), fused
    )
    pull = jax.grad(model.attention_loss)(fixed, batch, problem, config)
    return fixed, FusedMask(-pull.mask / config.regularization)


@check("saliency: gradient descent at huge lambda", "derived", "equal")
@material.once
def saliency_limit(key: Array, config: Config) -> Compared:
    """At huge lambda, gradient descent reaches the saliency of M = 0.

    The descent has eta = 1/lambda and no momentum.
    """
    problem, batch, *_ = material.setting(key, config)
    curvature = laws.lipschitz(batch, problem, config).gradient - config.regularization
    config = config.replace(
        regularization=1e13 * curvature, step_scale=1.0, momentum=0.0, clip=False
    )
    step = lambda t, state: training.step(key, t, state, batch, problem, config)
    state = jax.lax.fori_loop(0, 3, step, training.init(key, problem, config))
    zero = FusedMask(jnp.zeros_like(problem.weights))
    return calculus.saliency(zero, batch, problem, config), state.params


@check("curvature_score: squared Jacobian at M = 1", "derived", "equal")
@material.where_long
def curvature_diagonal(key: Array, config: Config) -> Compared:
    """The diagonal of the Hessian at M = 1 from the Jacobian of the attention."""
    problem, batch, *_ = material.setting(key, config)
    ones = FusedMask(jnp.ones_like(problem.weights))
    J = jax.jacobian(model.forward)(ones, batch, problem, config).mask
    return calculus.curvature_score(batch, problem, config), jnp.sum(
        J**2, axis=(0, 1, 2)
    ) / config.num_sequences.real


@check("hessian_norm: powers of the Hessian, near its spectral radius", "derived", "equal")
@material.where_long
def hessian_norm_spectrum(key: Array, config: Config) -> Compared:
    """||H^30 v|| / ||H^29 v|| for the Hessian H formed by autodiff.

    It is between 0.7 and 1 of the largest |eigenvalue| of H.
    """
    problem, batch, fused, _ = material.setting(key, config)
    flat = lambda m: model.loss(FusedMask(m.reshape(fused.mask.shape)), batch, problem, config)
    H = jax.hessian(flat)(fused.mask.ravel())
    radius = jnp.max(jnp.abs(linalg.eigvalsh(H)))
    before = jnp.linalg.matrix_power(H / radius, 29) @ (problem.uniform[2] - 0.5).ravel()
    got = calculus.hessian_norm(fused, problem, config)
    want = jnp.linalg.norm(H @ before) / jnp.linalg.norm(before)
    outside = material.excess(got, radius), material.excess(0.7 * radius, got)
    return (got, *outside), (want, *jnp.zeros(2))
