"""Checks of the exact error, of the minimum over scores and of the branches."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.positional_semantic import data, laws, model
from jaxtheory.theories.positional_semantic.checks import material
from jaxtheory.theories.positional_semantic.model import Config, Overlaps

SAMPLES = 20000


def errors(key: Array, params: model.Params, problem: model.Problem, config: Config) -> Array:
    """|y - f|^2 / d of fresh samples, each by whole matrices."""
    d = len(problem.direction)
    x = jnp.asarray(config.token_scale, float) * jax.random.normal(key, (SAMPLES, 2, d))
    return jax.vmap(lambda x: material.literal_error(params, x, problem, config))(x)


@check("test_error: fresh samples", "derived", "sample")
def error_by_samples(key: Array, config: Config) -> Compared:
    """The error of a random vector against a mean over samples, at the config's d."""
    if not material.is_unpadded(config):
        return None
    problem, params = data.problem(key, config), material.weights(key, config)
    values = errors(jax.random.fold_in(key, 2), params, problem, config)
    got = laws.test_error(model.overlaps(params, problem, config), config, 12)
    return got, jnp.mean(values), jnp.std(values) / jnp.sqrt(SAMPLES) + 1e-4 * got


@check("baseline: regression on samples", "derived", "sample")
def baseline_by_regression(key: Array, config: Config) -> Compared:
    """The variance of the entries of T over samples of its two scores, times sigma^2."""
    x = jnp.asarray(config.token_scale, float) * jax.random.normal(key, (SAMPLES, 2, 1))
    train = model.Batch(x[:0].transpose(1, 0, 2), jnp.zeros((2, 0)), jnp.zeros(0))
    problem = model.Problem(train, jnp.ones(1), jnp.ones(1))  # chi = x
    T = jax.vmap(lambda x: material.label_matrix(x, problem, config))(x)
    gap = T - jnp.mean(T, axis=0, keepdims=True)
    values = jnp.asarray(config.token_scale, float) ** 2 * jnp.sum(gap**2, axis=(1, 2))
    return laws.baseline(config), jnp.mean(values), jnp.std(values) / jnp.sqrt(SAMPLES) + 1e-9


@check("nearest: a grid, and autodiff", "derived", "bound")
def nearest_on_grid(key: Array, config: Config) -> Compared:
    """Where a sample's energy is convex, its slope vanishes and no point of a grid is lower."""
    config = config.replace(token_scale=0.5)
    o, V, nodes = material.overlaps_of(key), jnp.asarray(5.0), laws.quadrature(4)
    w, t = laws.fields(o, nodes, config)
    stiff = jnp.asarray(0.5, float) ** 4 * V

    def value(x: Array, w: Array, t: Array) -> Array:
        return jnp.sum((x - w) ** 2) / 2 + stiff * jnp.sum(
            (t - jnp.diagonal(material.matrix(x))) ** 2
        )

    h = laws.nearest(w, w, t, stiff, 40)
    slope = jax.vmap(jax.grad(value))(h.T, w.T, t.T)
    axis = jnp.linspace(-2.0, 2.0, 21)
    moves = jnp.stack(jnp.meshgrid(axis, axis), axis=2).reshape(-1, 2)
    around = jax.vmap(
        lambda h, w, t: value(h, w, t) - jnp.min(jax.vmap(lambda x: value(h + x, w, t))(moves))
    )(h.T, w.T, t.T)
    return jnp.stack([jnp.max(jnp.abs(slope)), jnp.max(around)]), jnp.full(2, 1e-8)


@check("potential: the equations of its stationary points", "derived", "bound")
def potential_by_response(key: Array, config: Config) -> Compared:
    """dPhi against V^, q^, m^ and theta^ as expectations of responses df/dw and df/dchi.

    Responses are derivatives of the minimum by differences of w and chi, where Phi's own slope has
    derivatives of Phi in q, theta, m and V. Integration by parts is exact for polynomials only on
    nodes; the bound is that of 14 nodes where the energy of a sample is convex.
    """
    config = config.replace(token_scale=0.5)
    o, V = Overlaps(*jnp.asarray([0.5, 0.4, 0.2])), jnp.asarray(4.0)
    nodes, ratio = laws.quadrature(14), 2.0
    sigma, rho, ridge = (
        jnp.asarray(x, float) for x in (config.token_scale, config.position_norm, config.ridge)
    )
    stiff = sigma**4 * V
    w, _ = laws.fields(o, nodes, config)
    share = o.theta / jnp.sqrt(o.q)
    chi = sigma * (share * nodes.x[:2] + jnp.sqrt(1 - share**2) * nodes.x[2:])

    def force(w: Array, chi: Array) -> Array:
        h = laws.nearest(w, w, model.mixed(chi, config), stiff, 12)
        return (h - w) / (sigma**2 * V)

    f, e = force(w, chi), 1e-5
    mean = lambda x: nodes.mean(jnp.sum(x, axis=0))
    turned = jnp.eye(2)[:, :, None]  # one token moves
    by_w, by_chi = jnp.zeros(()), jnp.zeros(())
    for l in range(2):
        move = e * turned[l]
        by_w = by_w + nodes.mean((force(w + move, chi) - force(w - move, chi))[l]) / (2 * e)
        by_chi = by_chi + nodes.mean((force(w, chi + move) - force(w, chi - move))[l]) / (2 * e)
    V_, q_ = -ratio * sigma**2 * by_w, ratio * sigma**2 * mean(f**2)
    m_, theta_ = ratio * nodes.mean(f[0] - f[1]), ratio * sigma**2 * by_chi
    rest = o.q - o.theta**2 - (o.m / rho) ** 2
    want = jnp.stack(
        [
            (ridge + V_ - 1 / V) / 2,
            o.theta / V - theta_,
            o.m / (rho**2 * V) - m_,
            (rest / V**2 - q_) / 2,
        ]
    )
    h = laws.nearest(w, w, model.mixed(chi, config), stiff, 12)
    phi = lambda o, V: laws.potential(o, V, h, jnp.asarray(ratio), nodes, config)
    slope_o, slope_V = jax.grad(phi, (0, 1))(o, V)
    return jnp.abs(jnp.stack([*slope_o, slope_V]) - want), jnp.full(4, 2e-6)


@check("branch: invariant, stationary, and the energy of its own minimum", "derived", "bound")
def branch_is_stationary(_key: Array, _config: Config) -> Compared:
    """At the default config residuals vanish, and the off-branch slope of Phi is zero by symmetry.

    The energy alpha E (loss at h) + lambda q / 2 is Phi, as the two other terms cancel. Overlaps
    are not negative, and the test error is that of many features.
    """
    config, gaps = Config(), []
    nodes = laws.quadrature(5)
    sigma, ridge = jnp.asarray(config.token_scale, float), jnp.asarray(config.ridge, float)
    for start in ("positional", "semantic"):
        at = laws.branch(start, [8.0], config, 5)
        o, V = Overlaps(at.q[0], at.theta[0], at.m[0]), at.V[0]
        w, t = laws.fields(o, nodes, config)
        h = laws.nearest(w, w, t, sigma**4 * V, 20)
        loss = sigma**2 * nodes.mean(jnp.sum((t - model.attention(h)) ** 2, axis=0))
        slope = jax.grad(
            lambda o, V=V, h=h: laws.potential(o, V, h, jnp.asarray(8.0), nodes, config)
        )(o)
        gaps += [at.residual[0], *map(jnp.abs, slope)]
        gaps += [jnp.abs(8 * loss + ridge * o.q / 2 - at.energy[0])]
        many = laws.test_error(o, config.replace(dimension=10**9), 5)
        gaps += [-o.theta, -o.m, jnp.abs(at.test_error[0] - many)]
    return jnp.stack(gaps), jnp.full(len(gaps), 1e-9)
