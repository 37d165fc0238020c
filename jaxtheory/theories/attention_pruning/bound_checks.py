"""Checks of the source's inequalities: each bound against what is measured on random masks, tight cases among them."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.theory import Check
from jaxtheory.theories.attention_pruning import bounds, calculus, model, training
from jaxtheory.theories.attention_pruning.model import Batch, Config, FactorMasks, FusedMask, Params, Problem

STEPS = 20


def frobenius(x: Array) -> Array:
    """||x||_F."""
    return jnp.sqrt(jnp.sum(x**2))


def setting(key: Array, config: Config) -> tuple[Problem, Batch, FusedMask, FactorMasks]:
    """A random problem of rank r, its batch and random masks, entries N(1/2, 1), all cut from one draw, which compiles fast."""
    d, L, S = config.dimension.cap, config.length.cap, config.num_sequences.cap
    shapes = (S, L, d), (model.HELDOUT, L, d), (2, d, d), (2, d, d), (3, d, d), (3, d, d)
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    draws = jnp.split(jax.random.normal(key, (int(ends[-1]),)), ends[:-1])
    X, heldout, left, right, uniform, masks = (x.reshape(shape) for x, shape in zip(draws, shapes, strict=True))
    shown = (jnp.arange(d) < jnp.asarray(config.rank, int)).astype(left.dtype)
    W_Q, W_K = jnp.sqrt(config.logit_scale / model.LITERAL_SCALE / d) * (left * shown[None, None, :]) @ right
    problem = Problem(X, heldout, W_Q, W_K, W_Q @ W_K.T, model.attention_mask(config), jax.nn.sigmoid(uniform))
    return problem, Batch(X), FusedMask(0.5 + masks[0]), FactorMasks(0.5 + masks[1], 0.5 + masks[2])


def residuals(params: Params, batch: Batch, problem: Problem, config: Config) -> tuple[Array, Array]:
    """f and c = f - f*."""
    f = model.forward(params, batch, problem, config)
    return f, f - model.target(batch, problem, config)


def norms(key: Array, config: Config, name: str) -> tuple:
    """The norm that `name` bounds, and its bound."""
    problem, batch, mask, _ = setting(key, config)
    f, c = residuals(mask, batch, problem, config)
    measured = {
        "mask_norm": lambda: (frobenius(jnp.clip(mask.mask, 0.0, 1.0)), bounds.mask_norm(config)),
        "attention_norm": lambda: (frobenius(f), bounds.attention_norm(config)),
        "residual_norm": lambda: (frobenius(c), bounds.residual_norm(config)),
        "logit_gradient_norm": lambda: (frobenius(calculus.logit_gradient(f, c)), bounds.logit_gradient_norm(c)),
        "gradient_norm": lambda: (
            frobenius(calculus.gradient(mask, batch, problem, config).mask),
            bounds.gradient_norm(mask, c, batch, problem, config),
        ),
    }
    return measured[name]()


def attention_floor(key: Array, config: Config) -> tuple:
    """Remark 4.2, in logarithms because attention underflows."""
    problem, batch, mask, _ = setting(key, config)
    z = model.logits(model.masked_weights(mask, problem), batch.inputs)
    shown = model.support(problem, config)
    log_f = jax.nn.log_softmax(jnp.where(shown, z, -jnp.inf), axis=-1)
    return bounds.log_attention_floor(z, shown, config), jnp.min(jnp.where(shown, log_f, jnp.inf))


def lipschitz_secants(key: Array, config: Config) -> tuple:
    """Secants of f, p_1, p_2, p and the gradient, far (1) and near (1e-3)."""
    problem, batch, mask, other = setting(key, config)

    def functions(m: FusedMask) -> bounds.Lipschitz:
        f, c = residuals(m, batch, problem, config)
        p1 = f * c
        p2 = jnp.sum(p1, axis=-1, keepdims=True) * f
        return bounds.Lipschitz(f, p1, p2, calculus.logit_gradient(f, c), calculus.gradient(m, batch, problem, config).mask)

    here, constants = functions(mask), bounds.lipschitz(batch, problem, config)
    there = [functions(FusedMask(mask.mask + h * other.query)) for h in (1.0, 1e-3)]
    got = [jax.tree.map(lambda a, b: frobenius(a - b), far, here) for far in there]
    return got, [jax.tree.map(lambda k, h=h: k * h * frobenius(other.query), constants) for h in (1.0, 1e-3)]


def lipschitz_hessian(key: Array, config: Config) -> tuple:
    """Hessian-vector products."""
    problem, batch, mask, other = setting(key, config)
    v = FusedMask(other.query)
    Hv = calculus.hessian_vector_product(mask, v, batch, problem, config)
    return frobenius(Hv.mask), bounds.lipschitz(batch, problem, config).gradient * frobenius(v.mask)


def row_hessian_norms(key: Array) -> Array:
    """Spectral norms of the row Hessian over 64 random rows of 5 tokens, from smooth to one-hot."""
    k_scale, k_rows = jax.random.split(key)
    scale = 10 ** jax.random.uniform(k_scale, (2, 64, 1), minval=-1.0, maxval=1.5)
    f, f_star = jax.nn.softmax(scale * jax.random.normal(k_rows, (2, 64, 5)), axis=-1)
    hessian = jax.vmap(lambda s: calculus.logit_hessian(f, f - f_star, jnp.broadcast_to(s, f.shape)))(jnp.eye(5))
    return jnp.linalg.norm(hessian.transpose(1, 0, 2), ord=2, axis=(1, 2))


def row_curvature(key: Array, config: Config) -> tuple:
    """The proven constant."""
    return jnp.max(row_hessian_norms(key)), jnp.asarray(bounds.ROW_CURVATURE)


def sharp_row_curvature(key: Array, config: Config) -> tuple:
    """Conjectured beyond two tokens; no violation was ever found."""
    return jnp.max(row_hessian_norms(key)), jnp.asarray(bounds.SHARP_ROW_CURVATURE)


def two_token_curvature(x: Array) -> Array:
    """v^T H v at f = (x, 1 - x), f* = (0, 1), v = (1, -1) / sqrt 2, by autodiff in the logits."""
    z, v = jnp.stack([jnp.log(x), jnp.log1p(-x)]), jnp.asarray([1.0, -1.0]) / jnp.sqrt(2.0)
    row = lambda z: jnp.sum((jax.nn.softmax(z) - jnp.asarray([0.0, 1.0])) ** 2) / 2
    return v @ jax.hessian(row)(z) @ v


def sharp_at_two_tokens(key: Array, config: Config) -> tuple:
    """The maximum over x, by grids that close in on it."""

    def closer(_: int, box: tuple[Array, Array]) -> tuple[Array, Array]:
        centre, width = box
        grid = centre + width * jnp.linspace(-1.0, 1.0, 199)
        return grid[jnp.argmax(jax.vmap(two_token_curvature)(grid))], width / 50

    x, _ = jax.lax.fori_loop(0, 4, closer, (jnp.asarray(0.5), jnp.asarray(0.49)))
    return jnp.asarray(bounds.SHARP_ROW_CURVATURE), two_token_curvature(x)


def two_entry_formula(key: Array, config: Config) -> tuple:
    """The polynomial at random x."""
    x = jax.random.uniform(key, (16,), minval=0.05, maxval=0.95)
    return bounds.two_entry_curvature(x), jax.vmap(two_token_curvature)(x)


def smallest_attention(key: Array, config: Config) -> tuple:
    """G.7 on random causal rows, and on uniform ones where it is tight."""
    z = jax.random.normal(key, (2, 2, 4, 4))
    mask = jnp.broadcast_to(jnp.tril(jnp.ones((4, 4), bool)), (2, 4, 4))
    scale = jnp.asarray([1.0, 0.0])[:, None, None]
    f, f_star = model.softmax(scale * z[0], mask), model.softmax(z[1], mask)
    c = jnp.where(mask & (jnp.arange(4) == 3)[None, :, None], f - f_star, 0)  # the last row, whose tokens all see each other
    p = calculus.logit_gradient(f, c)
    delta = jnp.stack([bounds.smallest_attention(f[i, 3:], mask[i, 3:]) for i in range(2)])
    norm = jax.vmap(frobenius)
    return delta * norm(c), norm(p)


def gram_floor(key: Array, config: Config) -> tuple | None:
    """G.4 for any matrices in the place of p."""
    if config.num_sequences.cap * config.length.cap > config.dimension.cap:
        return None
    _, batch, *_ = setting(key, config)
    B = jax.random.normal(key, (*batch.inputs.shape[:2], batch.inputs.shape[1]))
    return bounds.gram_floor(batch.inputs, config) * frobenius(B), frobenius(calculus.outer_sum(B, batch.inputs))


def smallest_weight(key: Array, config: Config) -> tuple:
    """G.5 on a random matrix, and on the one entry where it is tight."""
    problem, _, mask, _ = setting(key, config)
    W = problem.weights
    B = jnp.stack([mask.mask, (jnp.abs(W) == jnp.min(jnp.abs(W))).astype(W.dtype)])
    norm = jax.vmap(frobenius)
    return bounds.smallest_weight(problem, config) * norm(B), norm(W[None] * B)


def chain_slope(key: Array, config: Config) -> tuple | None:
    """||grad L_attn|| >= slope ||c||."""
    if config.num_sequences.cap * config.length.cap > config.dimension.cap:
        return None
    problem, batch, mask, _ = setting(key, config)
    f, c = residuals(mask, batch, problem, config)
    delta = bounds.smallest_attention(f, model.support(problem, config))
    pull = jax.grad(model.attention_loss)(mask, batch, problem, config)
    return bounds.chain(delta, batch, problem, config).slope * frobenius(c), frobenius(pull.mask)


def chain_inequality(key: Array, config: Config) -> tuple | None:
    """(mu / 2)(L_attn - xi) <= ||grad L||^2 for a mask in [0, 1]."""
    if config.num_sequences.cap * config.length.cap > config.dimension.cap:
        return None
    problem, batch, mask, _ = setting(key, config)
    mask = FusedMask(jnp.clip(mask.mask, 0.0, 1.0))
    f, _ = residuals(mask, batch, problem, config)
    chain = bounds.chain(bounds.smallest_attention(f, model.support(problem, config)), batch, problem, config)
    low = chain.mu / 2 * (model.attention_loss(mask, batch, problem, config) - chain.xi)
    return jnp.where(chain.mu > 0, low, -1.0), frobenius(calculus.gradient(mask, batch, problem, config).mask) ** 2


def smooth(batch: Batch, problem: Problem, config: Config) -> Config:
    """Plain gradient descent with eta = 1/L_g."""
    eta = 1 / bounds.lipschitz(batch, problem, config).gradient
    return config.replace(step_scale=eta * config.regularization, momentum=0.0, clip=False)


def descent_step(key: Array, config: Config) -> tuple:
    """L(M_1) + (eta / 2) ||grad L(M_0)||^2 <= L(M_0) at eta = 1/L_g."""
    problem, batch, mask, _ = setting(key, config)
    config = smooth(batch, problem, config)
    after = training.step(key, jnp.asarray(0), training.begin(mask, problem, config), batch, problem, config).params
    drop = config.step_scale / config.regularization / 2 * frobenius(calculus.gradient(mask, batch, problem, config).mask) ** 2
    return model.loss(after, batch, problem, config) + drop, model.loss(mask, batch, problem, config)


def path(key: Array, config: Config) -> tuple[Problem, Batch, Params, Config, Array, Array]:
    """The initial mask, the config of plain descent, and L_attn and the least attention along its first steps."""
    problem, batch, *_ = setting(key, config)
    config = smooth(batch, problem, config)
    state = training.init(key, problem, config)

    def advance(state: training.State, t: Array) -> tuple[training.State, tuple[Array, Array]]:
        f, c = residuals(state.params, batch, problem, config)
        seen = jnp.sum(c**2) / (2 * config.num_sequences.real), bounds.smallest_attention(f, model.support(problem, config))
        return training.step(key, t, state, batch, problem, config), seen

    _, (losses, floors) = jax.lax.scan(advance, state, jnp.arange(STEPS))
    return problem, batch, state.params, config, losses, floors


def descent_path(key: Array, config: Config) -> tuple:
    """L_attn(M_t) <= L(M_0)."""
    problem, batch, start, config, losses, _ = path(key, config)
    return jnp.max(losses), bounds.descent(start, batch, problem, config)


def descent_from_ones(key: Array, config: Config) -> tuple:
    """L_attn vanishes at M = 1."""
    problem, batch, mask, _ = setting(key, config)
    got = bounds.descent(FusedMask(jnp.ones_like(mask.mask)), batch, problem, config)
    return got, jnp.asarray(config.regularization * config.dimension.cap**2 / 2)


def convergence(key: Array, config: Config) -> tuple | None:
    """Theorem 4.1 over the first steps."""
    if config.num_sequences.cap * config.length.cap > config.dimension.cap:
        return None
    problem, batch, start, config, losses, floors = path(key, config)
    chain = bounds.chain(jnp.min(floors), batch, problem, config)
    want = bounds.convergence(STEPS, bounds.descent(start, batch, problem, config), chain.mu, chain.xi, config)
    return jnp.min(losses), jnp.clip(want, -1e300, 1e300)


def _norm(name: str, source: str) -> Check:
    return Check(f"{name}: measured norm", source, "bound", lambda key, config: norms(key, config, name))


def _bound(name: str, source: str, fn: Callable) -> Check:
    return Check(name, source, "bound", fn)


BOUND_CHECKS = (
    _norm("mask_norm", "lemma E.2, G.9"),
    _norm("attention_norm", "lemma E.3"),
    _norm("residual_norm", "lemmas E.3, G.8"),
    _norm("logit_gradient_norm", "lemma E.3"),
    _norm("gradient_norm", "lemma E.4"),
    _bound("log_attention_floor: least log attention", "remark 4.2", attention_floor),
    _bound("lipschitz: secants of f, p_1, p_2, p and the gradient", "lemmas F.3-F.7, theorem F.8", lipschitz_secants),
    _bound("lipschitz: Hessian-vector products", "theorem F.8", lipschitz_hessian),
    _bound("ROW_CURVATURE: row Hessians", "derived", row_curvature),
    _bound("SHARP_ROW_CURVATURE: row Hessians (conjectured)", "derived", sharp_row_curvature),
    Check("SHARP_ROW_CURVATURE: maximum for two tokens", "derived", "equal", sharp_at_two_tokens),
    Check("two_entry_curvature: autodiff in the logits", "derived", "equal", two_entry_formula),
    _bound("smallest_attention: ||p|| >= delta ||c||", "lemma G.7", smallest_attention),
    _bound("gram_floor: ||sum X^T B X|| >= beta ||B||", "lemma G.4", gram_floor),
    _bound("smallest_weight: ||W o B|| >= w_min ||B||", "lemma G.5", smallest_weight),
    _bound("chain: ||grad L_attn|| >= slope ||c||", "lemma G.10", chain_slope),
    _bound("chain: PL inequality", "lemma G.10", chain_inequality),
    _bound("step: descent lemma at eta = 1/L_g", "theorem 5.2", descent_step),
    _bound("descent: L_attn(M_t) <= L(M_0)", "theorem 4.1", descent_path),
    Check("descent: lambda d^2 / 2 from M_0 = 1", "derived", "equal", descent_from_ones),
    _bound("convergence: theorem 4.1 over 20 steps", "theorem 4.1", convergence),
)
