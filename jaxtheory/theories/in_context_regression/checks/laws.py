"""Checks of the population's moments, minimum and plateaus, and of the runs from aligned starts."""

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import linalg
from jaxtheory.theories.in_context_regression import calculus, data, laws, model, training
from jaxtheory.theories.in_context_regression.checks import literal, material
from jaxtheory.theories.in_context_regression.model import Config

STEPS = 40
Heads = model.Merged | model.Separate


@check("population: moments by quadrature", material.PAPER, "equal")
def moments_by_quadrature(key: Array, config: Config) -> Compared:
    """The moments, exactly: they are polynomials of Gaussian numbers."""
    D, N = Size.wrap(config.dimension).cap, Size.wrap(config.length).cap
    if not material.is_unpadded(config) or N * D > 6:
        return None
    task = jnp.arange(1.0, D + 1) / D
    law = laws.population(task, config)
    c, b, E = literal.moments(task, config)
    return law, laws.Population(literal.spectrum(config), c, b, E)


@check("prompts: moments of draws", material.PAPER, "sample")
def moments_by_draws(key: Array, config: Config) -> Compared:
    """The moments of drawn prompts, entry by entry, within their standard errors."""
    if not material.is_unpadded(config):
        return None
    count, D = 4000, Size.wrap(config.dimension).cap
    task = jnp.arange(1.0, D + 1) / D
    law = laws.population(task, config)
    prompts = data.prompts(key, count, task, config)
    batch = data.batch(*prompts[:4], count, config.length)
    beta = batch.S[:, 0, 1:]
    products = {
        "b": batch.y[:, None, None] * beta[:, :, None] * batch.x[:, None, :],
        "E": beta[:, :, None] * beta[:, None, :],
    }
    rows = jnp.concatenate([x.reshape(count, -1) for x in products.values()], axis=1)
    want = jnp.concatenate([law.b.ravel(), law.E.ravel()])
    return jnp.mean(rows, axis=0), want, jnp.std(rows, axis=0) / count**0.5


@check("population: loss by moments", "derived", "equal")
def loss_by_moments(key: Array, config: Config) -> Compared:
    """The population loss and its gradient against those of the moments, with G = E x Lambda."""
    D = Size.wrap(config.dimension)
    law = laws.population(D.mask().astype(float), config)
    A = jax.random.normal(key, (D.cap, D.cap))
    G = law.E[:, None, :, None] * jnp.diag(law.spectrum)[None, :, None, :]
    moments = model.Moments(law.c, law.b, G)
    got = laws.loss(A, law), laws.slope(A, law)
    return got, (calculus.by_moments(A, moments), calculus.slope(A, moments))


@check("minimum: normal equations", "arXiv 2306.09927", "equal")
def minimum_is_flat(key: Array, config: Config) -> Compared:
    """The minimum solves the normal equations of all D^2 entries.

    For c = 0 it has the printed diagonal.
    """
    if not material.is_unpadded(config):
        return None
    D = Size.wrap(config.dimension).cap
    law = laws.population(jnp.ones(D), config)
    best = laws.minimum(law)
    normal = jnp.kron(law.E, jnp.diag(law.spectrum))
    want = linalg.solve(normal, law.b.ravel()).reshape(D, D)
    plain = laws.population(jnp.ones(D), config.replace(in_weight_share=0.0))
    a, _ = laws.shares(config)
    return (best, laws.minimum(plain)), (want, jnp.diag(a))


@check("plateaus: least squares", material.PAPER, "equal")
def plateaus_by_subspace(key: Array, config: Config) -> Compared:
    """The least loss of A within the first m components, by least squares, for every m."""
    if not material.is_unpadded(config):
        return None
    config = material.aligned(config)
    D = Size.wrap(config.dimension).cap
    law = laws.population(jnp.zeros(D), config)
    levels = []
    for m in range(D + 1):
        A = jnp.zeros((D, D))
        if m:
            a = linalg.solve(law.E[:m, :m], law.b[:m, :m] / law.spectrum[None, :m])
            A = A.at[:m, :m].set(a)
        levels.append(laws.loss(A, law))
    return laws.plateaus(config), jnp.stack(levels)


@check("aligned_run: descent on all weights", "derived", "equal")
def aligned_descent(key: Array, config: Config) -> Compared:
    """The run in few numbers against descent on all weights by autodiff of L."""
    config = material.aligned(config)
    if not material.is_unpadded(config) or (
        config.form == "separate" and Size.wrap(config.rank).cap > 1
    ):
        return None
    config = config.replace(initial_scale=1.0)  # a start from which the run is over in STEPS
    eta = 0.3 / laws.curvature(config.replace(form="merged"))
    config = config.replace(learning_rate=eta)
    D = Size.wrap(config.dimension).cap
    law = laws.population(jnp.zeros(D), config)
    loss = lambda params: laws.loss(model.matrix(params), law)
    problem, _ = material.setting(key, config)
    reduced = training.reduced(model.init(key, problem, config))

    def step(params: Heads, _: None) -> tuple[Heads, Array]:
        slope = jax.grad(loss)(params)
        return jax.tree.map(lambda p, g: p - eta * g, params, slope), loss(params)

    _, losses = jax.lax.scan(step, reduced, None, length=STEPS)
    return laws.aligned_run(config, STEPS), losses


@check("logistic: descent at a small rate", material.PAPER, "bound")
def logistic_flow(key: Array, config: Config) -> Compared:
    """The logistic curve against descent at a hundredth of the rate, whose error is of that order:
    got is the largest difference over tr Lambda, want the bound 0.01.
    """
    config = material.aligned(config)
    if not material.is_unpadded(config) or config.form == "separate":
        return None
    config = config.replace(spectrum=0.0, initial_scale=0.1)
    eta = 0.01 / laws.curvature(config)
    config = config.replace(learning_rate=eta)
    count = 4000
    run = laws.aligned_run(config, count)
    curve = laws.logistic(jnp.arange(count, dtype=float), config)
    return jnp.max(jnp.abs(run - curve)) / config.total_variance, jnp.asarray(0.01)


@check("curvature: Hessian by autodiff", "derived", "equal")
def curvature_of_hessian(key: Array, config: Config) -> Compared:
    """The largest eigenvalue of the whole Hessian by autodiff, at the minimum of aligned heads."""
    config = material.aligned(config)
    D, H, R = (Size.wrap(n).cap for n in (config.dimension, config.heads, config.rank))
    separate = config.form == "separate"
    if not material.is_unpadded(config) or (separate and (H < D or R > 1)):
        return None
    law = laws.population(jnp.zeros(D), config)
    flat, unravel = ravel_pytree(material.minimum(config))
    hessian = jax.hessian(lambda x: laws.loss(model.matrix(unravel(x)), law))(flat)
    return laws.curvature(config), linalg.eigvalsh(hessian)[-1]


@check("escape_steps: half of a component", "derived", "bound")
def escape_of_descent(key: Array, config: Config) -> Compared:
    """How much later component 1 is half learned from half of sigma, over that by the law.

    It is component 1 of the aligned run.

    The rate is small and sigma such that the law says 2000 steps. The law counts no steps near the
    end, of which there are as many from any sigma; the bound is for whole steps and the rate.
    """
    config = material.aligned(config)
    H, R, D = (Size.wrap(n).cap for n in (config.heads, config.rank, config.dimension))
    if not material.is_unpadded(config) or config.form != "separate" or R > 1 or H < D:
        return None
    eta = 0.05 / laws.curvature(config)
    top = model.eigenvalues(config)[0]
    config = config.replace(learning_rate=eta, initial_scale=1 / (2 * top**2 * eta * 2000))
    config = config.replace(heads=1, dimension=1, total_variance=top, length=1)
    _, gains = laws.shares(config)
    half = config.total_variance - 0.75 * gains[0]  # 1 - (1 - 1/2)^2 of the gain
    starts = [config, config.replace(initial_scale=config.initial_scale / 2)]
    step_counts = [
        jnp.sum((laws.aligned_run(start, 6000) > half).astype(float)) for start in starts
    ]
    law = [laws.escape_steps(start)[0] for start in starts]
    return jnp.abs((step_counts[1] - step_counts[0]) / (law[1] - law[0]) - 1), jnp.asarray(2e-3)
