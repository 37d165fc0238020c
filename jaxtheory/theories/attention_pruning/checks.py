"""Checks of the calculus, the algorithm, the binarisation and the baselines, each against a second route; and the example configs."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core.theory import Check
from jaxtheory.theories.attention_pruning import baselines, bounds, calculus, model, predictions, pruning, training
from jaxtheory.theories.attention_pruning.bound_checks import BOUND_CHECKS, setting
from jaxtheory.theories.attention_pruning.model import Config, FusedMask

EXAMPLES = (
    Config(dimension=6, length=8, num_sequences=3, rank=2),
    Config(dimension=3, length=1, rank=3, momentum=0.0, pruning_ratio=0.0),
    Config(
        dimension=8,
        length=5,
        rank=2,
        logit_scale=12.5,
        regularization=0.1,
        attention="block",
        clip=True,
        mask_init="uniform",
        ranking="magnitude_mask",
    ),
    Config(dimension=8, length=3, num_sequences=2, rank=8, logit_scale=1.0, regularization=1e-3, attention="full", mask_init="half"),
)


def rows(key: Array) -> tuple[Array, Array, Array]:
    """Logits, target attention and a direction, each (4, 6), the first token hidden."""
    z, z_star, s = 2.0 * jax.random.normal(key, (3, 4, 6))
    return z, shown_softmax(z_star), s


def shown_softmax(z: Float[Array, "*rows n"]) -> Float[Array, "*rows n"]:
    """Softmax without the first token."""
    return jax.nn.softmax(jnp.where(jnp.arange(z.shape[-1]) == 0, -jnp.inf, z) if z.ndim == 1 else z.at[..., 0].set(-jnp.inf), axis=-1)


def row_loss(z: Array, f_star: Array) -> Array:
    """(1/2) ||softmax(z) - f*||^2."""
    return jnp.sum((shown_softmax(z) - f_star) ** 2) / 2


def logit_gradient_autodiff(key: Array, config: Config) -> tuple:
    """Reverse mode in the logits."""
    z, f_star, _ = rows(key)
    f = shown_softmax(z)
    return calculus.logit_gradient(f, f - f_star), jax.grad(row_loss)(z, f_star)


def logit_hessian_autodiff(key: Array, config: Config) -> tuple:
    """Forward over reverse mode in the logits."""
    z, f_star, s = rows(key)
    f = shown_softmax(z)
    return calculus.logit_hessian(f, f - f_star, s), jax.jvp(lambda z: jax.grad(row_loss)(z, f_star), (z,), (s,))[1]


def gradient_autodiff(key: Array, config: Config) -> tuple:
    """One fused mask."""
    problem, batch, fused, _ = setting(key, config)
    return calculus.gradient(fused, batch, problem, config), jax.grad(model.loss)(fused, batch, problem, config)


def two_mask_gradient_autodiff(key: Array, config: Config) -> tuple:
    """A mask on each factor."""
    problem, batch, _, factors = setting(key, config)
    return calculus.gradient(factors, batch, problem, config), jax.grad(model.loss)(factors, batch, problem, config)


def hessian_autodiff(key: Array, config: Config) -> tuple:
    """Forward over reverse mode, one mask and two, along the masks read backwards."""
    problem, batch, fused, factors = setting(key, config)
    masks: tuple[model.Params, ...] = (fused, factors)
    directions = [jax.tree.map(jnp.flip, m) for m in masks]
    route = lambda m, v: jax.jvp(lambda m: jax.grad(model.loss)(m, batch, problem, config), (m,), (v,))[1]
    got = [calculus.hessian_vector_product(m, v, batch, problem, config) for m, v in zip(masks, directions, strict=True)]
    return got, [route(m, v) for m, v in zip(masks, directions, strict=True)]


def saliency_stationary(key: Array, config: Config) -> tuple:
    """Iterating M <- saliency(M) contracts where lambda = 4 (L_g - lambda), and ends where -grad L_attn(M) / lambda = M."""
    problem, batch, fused, _ = setting(key, config)
    curvature = bounds.lipschitz(batch, problem, config).gradient - config.regularization
    steep = config.replace(regularization=4 * curvature)
    fixed = jax.lax.fori_loop(0, 40, lambda _, m: calculus.saliency(m, batch, problem, steep), fused)
    pull = jax.grad(model.attention_loss)(fixed, batch, problem, steep)
    return fixed, jax.tree.map(lambda g: -g / steep.regularization, pull)


def saliency_limit(key: Array, config: Config) -> tuple | None:
    """At huge lambda, gradient descent with eta = 1/lambda and no momentum reaches the saliency of M = 0."""
    if config.length.cap == 1:
        return None  # one token attends to itself: no saliency
    problem, batch, *_ = setting(key, config)
    curvature = bounds.lipschitz(batch, problem, config).gradient - config.regularization
    steep = config.replace(regularization=1e13 * curvature, step_scale=1.0, momentum=0.0, clip=False)
    state = training.init(key, problem, steep)
    state = jax.lax.fori_loop(0, 3, lambda t, s: training.step(key, t, s, batch, problem, steep), state)
    zero = FusedMask(jnp.zeros_like(problem.weights))
    return calculus.saliency(zero, batch, problem, steep), state.params


def curvature_diagonal(key: Array, config: Config) -> tuple:
    """Against the Jacobian of the attention at M = 1."""
    problem, batch, *_ = setting(key, config)
    ones = FusedMask(jnp.ones_like(problem.weights))
    J = jax.jacobian(model.forward)(ones, batch, problem, config).mask
    return calculus.curvature_score(batch, problem, config), jnp.sum(J**2, axis=(0, 1, 2)) / config.num_sequences.real


def step_as_written(key: Array, config: Config) -> tuple:
    """Two steps of the literal recursion with autodiff gradients, at eta = 1/L_g so that rounding does not grow."""
    problem, batch, fused, factors = setting(key, config)
    eta = 1 / bounds.lipschitz(batch, problem, config).gradient
    config = config.replace(step_scale=eta * config.regularization)

    def literal(params: model.Params) -> model.Params:
        V = jax.tree.map(jnp.zeros_like, params)
        for _ in range(2):
            V = jax.tree.map(lambda v, g: config.momentum * v + g, V, jax.grad(model.loss)(params, batch, problem, config))
            params = jax.tree.map(lambda m, v: m - eta * v, params, V)
            if config.clip:
                params = jax.tree.map(lambda m: jnp.minimum(jnp.maximum(m, 0.0), 1.0), params)
        return params

    def stepped(params: model.Params) -> model.Params:
        state = training.begin(params, problem, config)
        for t in range(2):
            state = training.step(key, jnp.asarray(t), state, batch, problem, config)
        return training.params(state, problem, config)

    return (stepped(fused), stepped(factors)), (literal(fused), literal(factors))


def kept_by_comparison(scores: Array, zeros: Array) -> Array:
    """1 where at least `zeros` entries of the first axis are smaller, or equal and earlier, by comparing all pairs."""
    before = jnp.tril(jnp.ones((len(scores), len(scores)), bool), -1)
    before = before.reshape(before.shape + (1,) * (scores.ndim - 1))
    smaller = (scores[None, :] < scores[:, None]) | ((scores[None, :] == scores[:, None]) & before)
    return (jnp.sum(smaller, axis=1) >= zeros).astype(float)


def zeros_of(config: Config, n: int) -> Array:
    """floor(rho n), counted one by one."""
    return jnp.sum(jnp.arange(1.0, n + 1.0) <= config.pruning_ratio * n + 1e-9)


def count_one_by_one(key: Array, config: Config) -> tuple:
    """At rho = k/100 of 100 entries for every k (floats fall short at .29), and at the config's rho."""
    n = config.dimension.cap**2
    counts = [*(pruning.count(k / 100, 100) for k in range(100)), pruning.count(config.pruning_ratio, n)]
    return jnp.stack(counts).astype(float), jnp.append(jnp.arange(100), zeros_of(config, n)).astype(float)


def binarise_by_comparison(key: Array, config: Config) -> tuple:
    """On integer scores, which have many ties."""
    shape = (config.dimension.cap, config.dimension.cap)
    scores = jnp.round(2 * jax.random.normal(key, shape))
    got = pruning.binarise(scores, config.pruning_ratio, model.entries(config))
    return got.astype(float), kept_by_comparison(scores.ravel(), zeros_of(config, scores.size)).reshape(shape)


def doubled_logits(key: Array, config: Config) -> tuple:
    """The rows of `rows`."""
    z, _, _ = rows(key)
    return pruning.doubled(shown_softmax(z)), shown_softmax(2 * z)


def best_factor_by_search(key: Array, config: Config) -> tuple:
    """The error at the factor found is the least over the octaves and the half octaves beside the best, each computed by itself."""
    problem, _, fused, _ = setting(key, config)
    inputs, f_star, mask = predictions.calibration(problem, config)
    W = model.masked_weights(fused, problem)
    error = lambda k: pruning.error(2**k * W, inputs, f_star, mask)
    alpha = pruning.best_logit_factor(model.logits(W, inputs), f_star, mask)
    octaves = jnp.arange(-7.0, 2.0)
    best = octaves[jnp.argmin(jax.lax.map(error, octaves))]
    return pruning.error(alpha * W, inputs, f_star, mask), jnp.min(
        jax.lax.map(error, jnp.clip(best + jnp.asarray([-0.5, 0.0, 0.5]), -7.0, 1.0))
    )


def wanda_by_comparison(key: Array, config: Config) -> tuple:
    """Scores from norms of the stacked inputs."""
    problem, *_ = setting(key, config)
    flat = problem.inputs.reshape(-1, problem.inputs.shape[-1])
    norms = jnp.sqrt(jnp.sum(flat**2, axis=0))
    kept = kept_by_comparison(jnp.abs(problem.query) * norms[:, None], zeros_of(config, config.dimension.cap))
    return baselines.wanda(problem.query, flat.T @ flat, config), problem.query * kept


def magnitude_by_comparison(key: Array, config: Config) -> tuple:
    """Over the whole matrix."""
    problem, *_ = setting(key, config)
    kept = kept_by_comparison(jnp.abs(problem.weights).ravel(), zeros_of(config, problem.weights.size))
    return baselines.magnitude(problem.weights, config), problem.weights * kept.reshape(problem.weights.shape)


def sparsegpt_by_inverses(key: Array, config: Config) -> tuple:
    """The optimal brain surgeon with an explicit inverse of the trailing H at every input, on the mask of its own scores."""
    problem, *_ = setting(key, config)
    flat = problem.inputs.reshape(-1, problem.inputs.shape[-1])
    d = flat.shape[-1]
    gram = flat.T @ flat
    H = gram + 0.01 * jnp.mean(jnp.diagonal(gram)) * jnp.eye(d)
    inverses = [jnp.linalg.inv(H[j:, j:]) for j in range(d)]
    W = problem.query
    scores = jnp.stack([W[j] ** 2 / inverses[j][0, 0] for j in range(d)])
    kept = kept_by_comparison(scores.ravel(), zeros_of(config, W.size)).reshape(W.shape)
    for j, inverse in enumerate(inverses):
        removed = W[j] * (1 - kept[j])
        W = W.at[j:].add(-inverse[:, 0][:, None] * (removed / inverse[0, 0])[None, :])
        W = W.at[j].set(W[j] * kept[j])
    return baselines.sparsegpt(problem.query, gram, config), W


def hessian_norm_spectrum(key: Array, config: Config) -> tuple:
    """Power iteration stays below the largest |eigenvalue| of the Hessian formed by autodiff."""
    problem, batch, fused, _ = setting(key, config)
    flat = lambda m: model.loss(FusedMask(m.reshape(fused.mask.shape)), batch, problem, config)
    spectrum = jnp.linalg.eigvalsh(jax.hessian(flat)(fused.mask.ravel()))
    return predictions.hessian_norm(fused, problem, config), jnp.max(jnp.abs(spectrum))


def _equal(name: str, source: str, fn: Callable) -> Check:
    return Check(name, source, "equal", fn)


CHECKS = (
    _equal("logit_gradient: autodiff of the row loss", "definitions C.4-C.7, D.4", logit_gradient_autodiff),
    _equal("logit_hessian: autodiff of its gradient", "derived", logit_hessian_autodiff),
    _equal("gradient: autodiff of the loss", "theorem D.5", gradient_autodiff),
    _equal("gradient: autodiff of the two-mask loss", "equation (1)", two_mask_gradient_autodiff),
    _equal("hessian_vector_product: jvp of the autodiff gradient, one mask and two", "derived", hessian_autodiff),
    _equal("saliency: its fixed point is stationary", "derived", saliency_stationary),
    _equal("saliency: gradient descent at huge lambda", "derived", saliency_limit),
    _equal("curvature_score: squared Jacobian at M = 1", "derived", curvature_diagonal),
    _equal("step: Algorithm 1 as written, one mask and two", "Algorithm 1", step_as_written),
    _equal("count: floor(rho n), exact for rho = k/100", "end of section 4", count_one_by_one),
    _equal("binarise: all pairs compared, ties in index order", "end of section 4", binarise_by_comparison),
    _equal("doubled: softmax of twice the logits", "derived", doubled_logits),
    _equal("best_logit_factor: least error of the factors tried", "derived", best_factor_by_search),
    _equal("wanda: all pairs of each column compared", "Sun et al. 2024", wanda_by_comparison),
    _equal("magnitude: all pairs compared", "section 6.1", magnitude_by_comparison),
    _equal("sparsegpt: optimal brain surgeon with explicit inverses", "Frantar and Alistarh 2023", sparsegpt_by_inverses),
    Check("hessian_norm: below the spectral radius", "derived", "bound", hessian_norm_spectrum),
    *BOUND_CHECKS,
)
