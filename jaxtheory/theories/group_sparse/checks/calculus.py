"""Checks of the gradient and of the six-number reduction."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.group_sparse import calculus
from jaxtheory.theories.group_sparse.checks import literal, material
from jaxtheory.theories.group_sparse.model import Config, Linear


@check("gradient: autodiff of the token-by-token loss in v and W", material.PAPER, "equal")
def gradient_by_token(key: Array, config: Config) -> Compared:
    """The gradient in v and W against autodiff of the token-by-token loss."""
    if not material.is_unpadded(config):
        return None
    problem, params = material.case(key, config)
    return calculus.gradient(params, problem.train, problem, config), jax.grad(literal.loss)(
        params, problem.train
    )


@check("gradient: autodiff of the linear predictor", "derived", "equal")
def gradient_linear(key: Array, config: Config) -> Compared:
    """The gradient in beta against autodiff of the logistic loss."""
    if not material.is_unpadded(config):
        return None
    problem, params = material.case(key, config)
    beta = params.W12
    got: Any = calculus.gradient(Linear(beta), problem.train, problem, config)
    return got.beta, jax.grad(literal.linear_loss)(beta, problem.train)


@check("velocity: full gradient on the completed sample", "derived", "equal")
def velocity_completed(key: Array, config: Config) -> Compared:
    """Autodiff of the token-by-token loss on the completed sample, in all blocks.

    v2, W12 and W21 do not move. Checked at D = 2 and D = 4.
    """
    if not material.is_unpadded(config) or config.num_groups.cap == 3:
        return None
    problem, reduced = material.setting(key, config)
    rate = calculus.velocity(reduced, problem.train, problem, config)
    params = calculus.embed(reduced, problem, config)
    want = jax.grad(literal.loss)(params, literal.completed(problem.train, problem, config))
    return material.gathered(calculus.embed(rate, problem, config)), material.gathered(want)


@check("embed: entry by entry", "derived", "equal")
def embed_entries(key: Array, config: Config) -> Compared:
    """All blocks of the embedded layer, with each number's part of W written entry by entry."""
    if not material.is_unpadded(config):
        return None
    problem, reduced = material.setting(key, config)
    parts = literal.form_of(problem, config)
    W = jnp.einsum("m,mab->ab", jnp.stack(reduced[1 : 1 + len(parts)]), parts)
    v = jnp.concatenate([reduced.c * problem.truth, jnp.zeros(config.num_groups.cap)])
    return literal.assemble(calculus.embed(reduced, problem, config)), (v, W)


@check("project: least squares", "derived", "equal")
def project_nearest(key: Array, config: Config) -> Compared:
    """The projection by least squares, for a W without the invariant form.

    The columns of A do not sum to 0.
    """
    if not material.is_unpadded(config):
        return None
    problem, params = material.case(key, config)
    numbers, _ = literal.least_squares(
        literal.assemble(params)[1], literal.form_of(problem, config)
    )
    if config.num_groups.cap == 2:
        numbers = jnp.append(numbers, -numbers[-1])
    got = jnp.stack(calculus.project(params, problem, config))
    return got, jnp.append(params.v1 @ problem.truth, numbers)
