"""Checks of the gradient and of the reduction of W to scores."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.random_walk import calculus, model
from jaxtheory.theories.random_walk.checks import literal, material
from jaxtheory.theories.random_walk.model import Config, Problem


@check("gradient: autodiff of the loss in the scores", material.PAPER, "equal")
def gradient_reduced(key: Array, config: Config) -> Compared:
    """The gradient in (V, u, w, A) against autodiff of the loss.

    It is checked for unit tokens, the mlp and padded sizes. Raw tokens are checked in
    `gradient_literal`.
    """
    plain = config.tokens == "raw" and config.value == "linear" and not material.padded(config)
    if plain or not material.layer(config):
        return None
    batch, full = material.case(key, config)
    params, problem = calculus.reduce(full, config), Problem(batch, batch)
    return calculus.gradient(params, batch, problem, config), jax.grad(model.loss)(
        params, batch, problem, config
    )


@check("gradient: autodiff of the token-by-token loss in V and W", material.PAPER, "equal")
def gradient_literal(key: Array, config: Config) -> Compared:
    """The gradient in (V, W, A) against autodiff of the token-by-token loss."""
    if material.padded(config) or not material.layer(config):
        return None
    batch, params = material.case(key, config)
    return calculus.gradient(params, batch, Problem(batch, batch), config), jax.grad(literal.loss)(
        params, batch, config
    )


@check("slope: autodiff of ell", material.PAPER, "equal")
def slope_of_loss(key: Array, config: Config) -> Compared:
    """The slope against autodiff of ell at random outputs, down to -eps / 2."""
    if not material.circle(config):
        return None
    f = jax.random.uniform(key, (20,), minval=-0.5 * config.epsilon, maxval=2.0)
    return calculus.slope(f, config), -jax.vmap(jax.grad(lambda x: model.ell(x, config)))(f)


@check("reduce: token-by-token logits", "derived", "equal")
def reduce_logits(key: Array, config: Config) -> Compared:
    """The logits u_{s_j} + w_j, and w_N at the query, against those of W token by token.

    V and A stay.
    """
    if material.padded(config) or not material.layer(config):
        return None
    batch, params = material.case(key, config)
    scores = calculus.reduce(params, config)
    token = jnp.arange(config.length.cap) < config.length.cap - 1
    got = jnp.where(token[None, :], scores.u[batch.s], 0) + scores.w[None, :]
    want = literal.logits(params.W, batch, config)
    return (got, scores.V, scores.A), (want, params.V, params.A)


@check("lift: smallest matrix with the scores", "derived", "equal")
def lift_of_scores(key: Array, config: Config) -> Compared:
    """The lifted W' has the scores it was given, and is the part of W that they see.

    |W|^2 = |W'|^2 + |W - W'|^2. V and A stay.
    """
    if not material.layer(config):
        return None
    _, params = material.case(key, config)
    scores = calculus.reduce(params, config)
    lifted = calculus.lift(scores, config)
    again = calculus.reduce(lifted, config)
    squares = jnp.sum(lifted.W**2) + jnp.sum((params.W - lifted.W) ** 2)
    got = material.flat((again.u, again.w)), squares, lifted.V, lifted.A
    return got, (
        material.flat((scores.u, scores.w)),
        jnp.sum(params.W**2),
        params.V,
        params.A,
    )


@check("imprint: new scores, the rest kept", "derived", "equal")
def imprint_scores(key: Array, config: Config) -> Compared:
    """W takes over the new scores, and the part that scores do not see stays.

    W' - lift(scores') = W - lift(scores).
    """
    if not (material.layer(config) and material.circle(config)):
        return None
    _, params = material.case(key, config)
    before = calculus.reduce(params, config)
    u, w = before.u[::-1], jnp.where(config.length.mask(), before.w**2, 0)
    after = params._replace(W=calculus.imprint(params.W, u, w, config))
    new = calculus.reduce(after, config)
    unseen = [
        x.W - calculus.lift(scores, config).W for x, scores in ((after, new), (params, before))
    ]
    return (material.flat((new.u, new.w)), unseen[0]), (material.flat((u, w)), unseen[1])
