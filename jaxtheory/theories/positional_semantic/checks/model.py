"""Checks of the loss, the gradient and the curvature of a sample."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.positional_semantic import calculus, data, model
from jaxtheory.theories.positional_semantic.checks import material
from jaxtheory.theories.positional_semantic.model import Config


@check("gradient: autodiff of whole matrices", "derived", "equal")
def gradient_by_sample(key: Array, config: Config) -> Compared:
    """The loss and its gradient against autodiff of |T x - softmax(h h^T) x|^2 by sample."""
    if not material.is_unpadded(config):
        return None
    problem, params = data.problem(key, config), material.weights(key, config)
    got = model.loss(params, problem.train, problem, config)
    slope = calculus.gradient(params, problem.train, problem, config)
    want = jax.value_and_grad(lambda p: material.literal(p, problem, config))(params)
    return (got, slope), want


@check("gradient: finite differences", "derived", "bound")
def gradient_by_differences(key: Array, config: Config) -> Compared:
    """The slope along a random direction against a central difference of the loss."""
    problem, params = data.problem(key, config), material.weights(key, config)
    along, h = material.weights(jax.random.fold_in(key, 1), config), 1e-5
    at = lambda sign: model.loss(
        model.Params(params.Q + sign * h * along.Q), problem.train, problem, config
    )
    slope = calculus.gradient(params, problem.train, problem, config)
    got = jnp.sum(slope.Q * along.Q)
    return jnp.abs(got - (at(1) - at(-1)) / (2 * h)), jnp.asarray(1e-6)


@check("curvature: autodiff", "derived", "equal")
def curvature_by_autodiff(key: Array, _config: Config) -> Compared:
    """The Hessian of sum (S - t)^2 / 2 in h, at one point."""
    h, t = jax.random.normal(key, (2,)), jax.random.uniform(jax.random.fold_in(key, 1), (2,))
    of = lambda x: jnp.sum((jnp.diagonal(material.matrix(x)) - t) ** 2) / 2
    H = jax.hessian(of)(h)
    got = jnp.concatenate(calculus.curvature(h[:, None], t[:, None]))
    return got, jnp.stack([H[0, 0], H[0, 1], H[1, 1]])


@check("init: overlaps of the starts", "derived", "equal")
def overlaps_of_starts(key: Array, config: Config) -> Compared:
    """The cosine of a start with its direction is 1, and |Q|^2 / d = c^2."""
    problem, c = data.problem(key, config), jnp.asarray(config.init_scale, float)
    rho = jnp.asarray(config.position_norm, float)
    got, want = [], []
    for start in ("semantic", "positional"):
        one = config.replace(start=start)
        o = model.overlaps(model.init(key, problem, one), problem, one)
        got += [o.q, o.theta if start == "semantic" else o.m]
        want += [c**2, c if start == "semantic" else c * rho]
    return jnp.stack(got), jnp.stack(want)
