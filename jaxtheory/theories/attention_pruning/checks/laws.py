"""Checks of the source's inequalities.

Each bound is compared with measured values on random masks, tight cases among them.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared, check
from jaxtheory.ops import linalg
from jaxtheory.ops.attention import softmax
from jaxtheory.theories.attention_pruning import calculus, laws, model, training
from jaxtheory.theories.attention_pruning.checks import literal, material
from jaxtheory.theories.attention_pruning.model import Config, FusedMask

STEPS = 20


@material.once
def mask_norm(key: Array, config: Config) -> Compared:
    """The bound on ||M||_F, which M = 1 attains."""
    _, _, mask, _ = material.setting(key, config)
    bound = laws.mask_norm(config)
    clipped = calculus.norm(jnp.clip(mask.mask, 0.0, 1.0))
    attained = calculus.norm(jnp.ones_like(mask.mask))
    return (bound, material.excess(clipped, bound)), (attained, jnp.zeros(()))


@material.once
def attention_norm(key: Array, config: Config) -> Compared:
    """The bound on ||f||_F, which one-hot attention attains."""
    problem, batch, mask, _ = material.setting(key, config)
    sharp = problem._replace(weights=1e12 * problem.weights)
    bound = laws.attention_norm(config)
    measured = calculus.norm(model.forward(mask, batch, problem, config))
    return (bound, material.excess(measured, bound)), (
        calculus.norm(model.forward(mask, batch, sharp, config)),
        jnp.zeros(()),
    )


@material.once
def residual_norm(key: Array, config: Config) -> Compared:
    """The bound on ||c||_F, which one-hot rows attain where f and f* choose different tokens."""
    problem, batch, mask, _ = material.setting(key, config)
    one_hot = jnp.broadcast_to(
        jnp.eye(config.length.cap), (config.num_sequences.cap, *problem.attention_mask.shape)
    )
    bound = laws.residual_norm(config)
    measured = calculus.norm(model.residual(mask, batch, problem, config)[1])
    return (bound, material.excess(measured, bound)), (
        calculus.norm(one_hot - jnp.roll(one_hot, 1, axis=-1)),
        jnp.zeros(()),
    )


@material.once
def logit_gradient_norm(key: Array, config: Config) -> Compared:
    """The bound on ||p||_F, attained at f = (1/2, 1/2), 0 elsewhere."""
    z, f_star, _ = literal.rows(key)
    f = jnp.stack([literal.shown_softmax(z), jnp.zeros_like(z).at[:, :2].set(0.5)])
    target = jnp.stack([f_star, f[1] + z[:, :1] @ jnp.asarray([[1.0, -1.0, 0, 0, 0, 0]])])
    p = calculus.logit_gradient(f, f - target)
    random, tight = (laws.logit_gradient_norm((f - target)[i, None]) for i in range(2))
    excess = material.excess(calculus.norm(p[0]), random)
    return (tight, excess), (calculus.norm(p[1]), jnp.zeros(()))


@material.once
def part_norm(key: Array, config: Config) -> Compared:
    """The bounds on ||p_1||_F and ||p_2||_F, and where they are attained.

    They are attained where f is one-hot and f* is uniform on the other tokens.
    """
    z, f_star, _ = literal.rows(key)
    n = z.shape[-1]
    f = jnp.stack([literal.shown_softmax(z), jnp.zeros_like(z).at[:, 0].set(1)])
    c = f - jnp.stack([f_star, (1 - f[1]) / (n - 1)])
    p1 = f * c
    p2 = jnp.sum(p1, axis=-1, keepdims=True) * f
    norms = jnp.stack([jax.vmap(calculus.norm)(p) for p in (p1, p2)])  # (part, case)
    bounds = jnp.stack([laws.part_norm(c[i, None], config.replace(length=n)) for i in range(2)])
    excess = material.excess(norms[:, 0], bounds[0])
    return (jnp.full(2, bounds[1]), excess), (norms[:, 1], jnp.zeros(2))


@material.once
def gradient_norm(key: Array, config: Config) -> Compared:
    """The bound on the norm of the gradient, attained by opposite tokens.

    Its first term is attained at M = 0, its second at M = 1.
    """
    problem, batch, mask, _ = material.setting(key, config)

    def bound_and_norm(mask: FusedMask, *args: Any) -> tuple[Array, Array]:
        _, c = model.residual(mask, *args)
        return laws.gradient_norm(mask, c, *args), calculus.norm(calculus.gradient(mask, *args))

    tight_problem, tight_batch, zero, ones, tight_config = material.opposite(config)
    tight_inputs = tight_batch, tight_problem, tight_config
    cases = [bound_and_norm(zero, *tight_inputs), bound_and_norm(ones, *tight_inputs)]
    bound, measured = bound_and_norm(mask, batch, problem, config)
    got = [*(case[0] for case in cases), material.excess(measured, bound)]
    return got, [*(case[1] for case in cases), jnp.zeros(())]


@material.once
def attention_floor(key: Array, config: Config) -> Compared:
    """Remark 4.2, in logarithms because attention underflows.

    It is attained at equal logits, and nearly attained by rows with one low logit.
    """
    causal = jnp.tril(jnp.ones((5, 5), bool))[None]
    z = 10 * jax.random.normal(key, (1, 5, 5))
    low = z.at[0, 4].set(20 * jnp.asarray([-1.0, 1, 1, 1, 1]))
    config = config.replace(length=5)
    bounds = [laws.log_attention_floor(x, causal, config) for x in (0 * z, z, low)]
    log_f = jax.nn.log_softmax(jnp.where(causal, jnp.stack([z, low]), -jnp.inf), axis=-1)
    least = jnp.min(jnp.where(causal[None], log_f, jnp.inf), axis=(1, 2, 3))
    excess = material.excess(jnp.stack(bounds[1:]), least)
    return (bounds[0], excess), (jnp.log(jnp.asarray(1 / 5)), jnp.zeros(2))


@check(
    "lipschitz: derivatives of f, p_1, p_2, p and the gradient",
    "lemmas F.3-F.7, theorem F.8",
    "bound",
)
@material.where_long
def lipschitz_derivatives(key: Array, config: Config) -> Compared:
    """The derivatives of f, p_1, p_2, p and the gradient along random masks.

    Between opposite tokens the derivative of f is as large as its constant. The others stay below
    half of theirs.
    """

    def compared(m: FusedMask, v: FusedMask, *args: Any) -> tuple[Any, Any]:
        def functions(m: FusedMask) -> laws.Lipschitz:
            f, c = model.residual(m, *args)
            p1 = f * c
            p2 = jnp.sum(p1, axis=-1, keepdims=True) * f
            slope = jax.grad(model.loss)(m, *args).mask
            return laws.Lipschitz(f, p1, p2, p1 - p2, slope)

        moved = jax.jvp(functions, (m,), (v,))[1]
        bound = lambda k: k * calculus.norm(v)
        return jax.tree.map(calculus.norm, moved), jax.tree.map(bound, laws.lipschitz(*args))

    problem, batch, mask, factors = material.setting(key, config)
    random = compared(mask, FusedMask(factors.query), batch, problem, config)
    if config.num_sequences.cap < 3:
        return random
    tight_problem, tight_batch, zero, _, config = material.opposite(config)
    direction = FusedMask(jnp.zeros((2, 2)).at[0, 0].set(1))
    tight = compared(zero, direction, tight_batch, tight_problem, config)
    return (random[0], tight[0]), (random[1], tight[1])


def suprema() -> tuple[Array, dict[str, Array]]:
    """||J||, and the quantities that are largest where f and f* are one-hot on different tokens.

    ||J|| is reached at f = (1/2, 1/2).
    """
    half = jnp.full(2, 0.5)
    f, f_star = jnp.eye(2)
    c, m = f - f_star, f @ (f - f_star)
    return linalg.singular_values(jnp.diag(half) - jnp.outer(half, half))[0], {
        "c": jnp.linalg.norm(c),
        "f": jnp.linalg.norm(f),
        "m": jnp.abs(m),
        "2f-f*": jnp.max(jnp.abs(2 * f - f_star)),
        "c-m": jnp.max(jnp.abs(c - m)),
    }


@check("lipschitz: products of what rows reach", "lemmas F.3-F.7", "equal")
@material.once
def lipschitz_constants(key: Array, config: Config) -> Compared:
    """The Lipschitz constants as products of the bounds of their factors.

    A row reaches each of these bounds. Norms come from singular values.
    """
    problem, batch, *_ = material.setting(key, config)
    J, top = suprema()
    curvature = J**2 + top["c-m"] * J
    squares = linalg.singular_values(batch.inputs)[:, 0] ** 2
    largest = jnp.sort(jnp.abs(problem.weights).ravel())[-1]
    rows = largest * jnp.linalg.norm(squares)
    parts = J, J * top["2f-f*"], J * (top["f"] * (top["c"] + top["f"]) + top["m"]), curvature
    gradient = config.regularization + curvature * largest**2 * jnp.mean(squares**2)
    want = laws.Lipschitz._make([*(k * rows for k in parts), gradient])
    return laws.lipschitz(batch, problem, config), want


@check("ROW_CURVATURE: terms of the row Hessian", "derived", "equal")
@material.once
def row_curvature(key: Array, config: Config) -> Compared:
    """The row curvature as the sum of the bounds of its terms.

    A row reaches each of these bounds. The row Hessian is the sum of these terms.
    """
    z, f_star, s = literal.rows(key)
    f = literal.shown_softmax(z)
    c = f - f_star

    def terms(f: Array, c: Array, s: Array) -> Array:
        J, away = jnp.diag(f) - jnp.outer(f, f), jnp.eye(len(f)) - f[None]
        return J @ (J @ s) + away.T @ (f * (c - f @ c) * (away @ s))

    J, top = suprema()
    got = jnp.asarray(laws.ROW_CURVATURE), calculus.logit_hessian(f, c, s)
    return got, (J**2 + top["c-m"] * J, jax.vmap(terms)(f, c, s))


@material.once
def radius(key: Array, config: Config) -> Compared:
    """The radius as the larger of the norms, entry by entry."""
    problem, *_ = material.setting(key, config)
    cases = [problem, problem._replace(weights=100 * problem.weights)]
    longest = [jnp.max(jnp.linalg.norm(x.inputs, axis=(1, 2))) for x in cases]
    heaviest = [jnp.linalg.norm(x.weights) for x in cases]
    want = [jnp.maximum(*pair) for pair in zip(longest, heaviest, strict=True)]
    return [laws.radius(x) for x in cases], want


@material.once
def smoothness(key: Array, config: Config) -> Compared:
    """The constant in R alone is at least L_g, and equal to it for opposite tokens."""
    problem, batch, *_ = material.setting(key, config)
    sharp = laws.lipschitz(batch, problem, config).gradient
    bound = laws.smoothness(laws.radius(problem), config)
    tight, tight_batch, _, _, config = material.opposite(config)
    got = laws.smoothness(jnp.sqrt(2.0), config), material.excess(sharp, bound)
    return got, (laws.lipschitz(tight_batch, tight, config).gradient, jnp.zeros(()))


@check("SHARP_ROW_CURVATURE: row Hessians (conjectured)", "derived", "bound")
@material.once
def sharp_rows(key: Array, config: Config) -> Compared:
    """The largest spectral norm of the row Hessian over 64 random rows of 5 tokens.

    The rows go from smooth to one-hot. No violation was ever found.
    """
    k_scale, k_rows = jax.random.split(key)
    scale = 10 ** jax.random.uniform(k_scale, (2, 64, 1), minval=-1.0, maxval=1.5)
    f, f_star = jax.nn.softmax(scale * jax.random.normal(k_rows, (2, 64, 5)), axis=-1)
    hessian = jax.vmap(
        lambda s: calculus.logit_hessian(f, f - f_star, jnp.broadcast_to(s, f.shape))
    )(jnp.eye(5))
    norms = jnp.abs(linalg.eigvalsh(hessian.transpose(1, 0, 2)))
    return jnp.max(norms), jnp.asarray(laws.SHARP_ROW_CURVATURE)


def two_token_curvature(x: Array) -> Array:
    """v^T H v at f = (x, 1 - x), f* = (0, 1), v = (1, -1) / sqrt 2, by autodiff in the logits."""
    z, v = jnp.stack([jnp.log(x), jnp.log1p(-x)]), jnp.asarray([1.0, -1.0]) / jnp.sqrt(2.0)
    row = lambda z: jnp.sum((jax.nn.softmax(z) - jnp.asarray([0.0, 1.0])) ** 2) / 2
    return v @ jax.hessian(row)(z) @ v


@check("SHARP_ROW_CURVATURE: maximum for two tokens", "derived", "equal")
@material.once
def sharp_at_two_tokens(key: Array, config: Config) -> Compared:
    """The maximum over x by successively finer grids."""

    def closer(_: Array | int, box: tuple[Array, Array]) -> tuple[Array, Array]:
        center, width = box
        grid = center + width * jnp.linspace(-1.0, 1.0, 199)
        return grid[jnp.argmax(jax.vmap(two_token_curvature)(grid))], width / 50

    x, _ = jax.lax.fori_loop(0, 4, closer, (jnp.asarray(0.5), jnp.asarray(0.49)))
    return jnp.asarray(laws.SHARP_ROW_CURVATURE), two_token_curvature(x)


@check("two_entry_curvature: autodiff in the logits", "derived", "equal")
@material.once
def two_entry_formula(key: Array, config: Config) -> Compared:
    """The polynomial at random x."""
    x = jax.random.uniform(key, (16,), minval=0.05, maxval=0.95)
    return laws.two_entry_curvature(x), jax.vmap(two_token_curvature)(x)


@material.once
def smallest_attention(key: Array, config: Config) -> Compared:
    """Lemma G.7 on random causal rows, and on uniform ones, where it is attained."""
    z = jax.random.normal(key, (2, 2, 4, 4))
    mask = jnp.broadcast_to(jnp.tril(jnp.ones((4, 4), bool)), (2, 4, 4))
    scale = jnp.asarray([1.0, 0.0])[:, None, None]
    f, f_star = softmax(scale * z[0], mask), softmax(z[1], mask)
    # the last row, whose tokens all see each other
    c = jnp.where(mask & (jnp.arange(4) == 3)[None, :, None], f - f_star, 0)
    p = calculus.logit_gradient(f, c)
    delta = jnp.stack([laws.smallest_attention(f[i, 3:], mask[i, 3:]) for i in range(2)])
    below, above = delta * jax.vmap(calculus.norm)(c), jax.vmap(calculus.norm)(p)
    hidden = laws.smallest_attention(f[0], mask[0])
    least = jnp.sort(jnp.where(mask[0], f[0], 1).ravel())[0]
    got = below[1], material.excess(below[0], above[0]), hidden
    return got, (above[1], jnp.zeros(()), least)


@material.where_short
def gram_floor(key: Array, config: Config) -> Compared:
    """The least singular value of the stacked inputs, squared; and lemma G.4.

    The lemma is taken for arbitrary matrices in place of p.
    """
    _, batch, *_ = material.setting(key, config)
    B = jax.random.normal(key, (*batch.inputs.shape[:2], batch.inputs.shape[1]))
    beta = laws.gram_floor(batch.inputs, config)
    Z = batch.inputs.reshape(-1, batch.inputs.shape[-1])
    outer = calculus.norm(jnp.einsum("sli,slm,smj->ij", batch.inputs, B, batch.inputs))
    got = beta, material.excess(beta * calculus.norm(B), outer)
    return got, (linalg.singular_values(Z)[-1] ** 2, jnp.zeros(()))


@material.once
def smallest_weight(key: Array, config: Config) -> Compared:
    """Lemma G.5 on a random matrix, and on the single entry where it is attained."""
    problem, _, mask, _ = material.setting(key, config)
    W, bound = problem.weights, laws.smallest_weight(problem, config)
    entry = (jnp.abs(W) == jnp.min(jnp.abs(W))).astype(W.dtype)
    excess = material.excess(bound * calculus.norm(mask), calculus.norm(W * mask.mask))
    return (bound, excess), (calculus.norm(W * entry), jnp.zeros(()))


@material.once
def chain_attained(key: Array, config: Config) -> Compared:
    """The equalities of the chain for orthogonal tokens.

    At M = 0 they are ||grad L_attn|| = slope ||c|| and ||grad L||^2 = mu L_attn, and at M = 1
    ||grad L||^2 = mu xi / 2.
    """
    problem, batch, zero, ones, config = material.orthogonal(config)
    f, c = model.residual(zero, batch, problem, config)
    chain = laws.chain(jnp.min(f), batch, problem, config)
    pull, slope = (
        calculus.norm(jax.grad(model.loss)(mask, batch, problem, config)) for mask in (zero, ones)
    )
    loss = model.attention_loss(zero, batch, problem, config)
    got = chain.slope * calculus.norm(c), chain.mu * loss, chain.mu / 2 * chain.xi
    return got, (pull, pull**2, slope**2)


@check("chain: slope and PL inequality", "lemma G.10", "bound")
@material.where_short
def chain_inequality(key: Array, config: Config) -> Compared:
    """||grad L_attn|| >= slope ||c|| and (mu / 2)(L_attn - xi) <= ||grad L||^2.

    They hold for random masks in [0, 1]. Both are loose except where they are attained.
    """
    problem, batch, mask, _ = material.setting(key, config)
    mask = FusedMask(jnp.clip(mask.mask, 0.0, 1.0))
    f, c = model.residual(mask, batch, problem, config)
    chain = laws.chain(
        laws.smallest_attention(f, model.support(problem, config)), batch, problem, config
    )
    pull = jax.grad(model.attention_loss)(mask, batch, problem, config)
    slope = calculus.norm(pull.mask + config.regularization * mask.mask)
    low = chain.mu / 2 * (jnp.sum(c**2) / (2 * config.num_sequences.real) - chain.xi)
    got = chain.slope * calculus.norm(c), jnp.where(chain.mu > 0, low, -1.0)
    return got, (calculus.norm(pull), slope**2)


@check("descent: descent lemma over 20 steps", "theorems 4.1, 5.2", "bound")
@material.where(lambda config: config.mask_init != "ones")
def descent_path(key: Array, config: Config) -> Compared:
    """L_attn(M_t) <= L(M_0) and the descent lemma, along plain descent with eta = 1/L_g.

    The lemma is L(M_t+1) + (eta / 2) ||grad L(M_t)||^2 <= L(M_t).
    """
    problem, batch, *_ = material.setting(key, config)
    config = material.smooth(batch, problem, config)
    state = training.init(key, problem, config)
    eta = config.step_scale / config.regularization

    def advance(state: training.State, t: Array) -> tuple[training.State, tuple]:
        loss, slope = jax.value_and_grad(model.loss)(state.params, batch, problem, config)
        pair = loss, model.attention_loss(state.params, batch, problem, config)
        return training.step(key, t, state, batch, problem, config), (*pair, calculus.norm(slope))

    _, (losses, attention, slopes) = jax.lax.scan(advance, state, jnp.arange(STEPS))
    got = jnp.max(attention), losses[1:] + eta / 2 * slopes[:-1] ** 2
    return got, (laws.descent(state.params, batch, problem, config), losses[:-1])


@check("descent: lambda d^2 / 2 from M_0 = 1", "derived", "equal")
@material.once
def descent_from_ones(key: Array, config: Config) -> Compared:
    """L_attn vanishes at M = 1."""
    problem, batch, mask, _ = material.setting(key, config)
    got = laws.descent(FusedMask(jnp.ones_like(mask.mask)), batch, problem, config)
    return got, jnp.asarray(config.regularization * config.dimension.cap**2 / 2)


@material.once
def convergence(key: Array, config: Config) -> Compared:
    """The rate on parabolas (kappa / 2) x^2 + xi, where mu = 4 kappa.

    It is attained after one step of eta = 1 / kappa, and where the descent starts at its end. On
    slower descents the least value after t steps reaches a fifth of it.
    """
    kappa, start, xi = 0.5 + jax.random.uniform(key, (3,))
    at = lambda eta: config.replace(step_scale=eta * config.regularization)
    t = jnp.arange(1.0, 40.0)
    slow = jax.vmap(lambda t: laws.convergence(t, start, 4 * kappa, xi, at(1 / (2 * t * kappa))))(t)
    least = (1 - 1 / (2 * t)) ** (2 * t - 2) * start + xi
    got = (
        laws.convergence(1, start, 4 * kappa, jnp.zeros(()), at(1 / kappa)),
        laws.convergence(3, jnp.zeros(()), 4 * kappa, xi, at(1 / kappa)),
        material.excess(least, slow),
    )
    return got, (start, xi, jnp.zeros_like(t))


@check("dense_sharpness: dense Hessian at M = 1", "derived", "bound")
@material.where_rows
def sharpness(key: Array, config: Config) -> Compared:
    """The step size and the dense Hessian of the loss at M = 1, by autodiff.

    `dense_sharpness` is at most the largest eigenvalue of this Hessian, to which the power method
    converges from below.
    """
    problem, batch, mask, _ = material.setting(key, config)
    ones = jnp.ones_like(mask.mask)
    of_mask = lambda M: model.loss(FusedMask(M.reshape(ones.shape)), batch, problem, config)
    largest = linalg.eigvalsh(jax.hessian(of_mask)(ones.ravel()))[-1]
    estimate = laws.dense_sharpness(problem, config)
    step = laws.predict_boundary(problem, config) / (2 * (1 + config.momentum))
    return (estimate, 0.98 * largest, step * estimate), (largest * (1 + 1e-9), estimate, 1 + 1e-9)


def _attained(
    name: str, source: str, fn: Callable, how: str = "attained, and never below"
) -> Check:
    return Check(f"{name}: {how}", source, "equal", fn)


CHECKS = (
    _attained("mask_norm", "lemma E.2, G.9", mask_norm),
    _attained("attention_norm", "lemma E.3", attention_norm),
    _attained("residual_norm", "lemmas E.3, G.8", residual_norm),
    _attained("logit_gradient_norm", "lemma E.3", logit_gradient_norm),
    _attained("part_norm", "lemma E.3", part_norm),
    _attained("gradient_norm", "lemma E.4", gradient_norm),
    _attained("radius", "assumption E.1", radius, "norms of inputs and weights"),
    _attained("smoothness", "theorem F.8", smoothness),
    _attained("log_attention_floor", "remark 4.2", attention_floor, "attained, and never above"),
    _attained(
        "smallest_attention", "lemma G.7", smallest_attention, "||p|| >= delta ||c||, attained"
    ),
    _attained("gram_floor", "lemma G.4", gram_floor, "||sum X^T B X|| >= beta ||B||"),
    _attained(
        "smallest_weight", "lemma G.5", smallest_weight, "||W o B|| >= w_min ||B||, attained"
    ),
    _attained("chain", "lemma G.10", chain_attained, "equalities for orthogonal tokens"),
    _attained("convergence", "theorem 4.1", convergence, "gradient descent on parabolas"),
)
