"""Checks of the source's inequalities: each bound against what is measured on random masks, tight
cases among them.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.attention import softmax
from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.attention_pruning import calculus, laws, model, training
from jaxtheory.theories.attention_pruning.checks import material
from jaxtheory.theories.attention_pruning.model import Batch, Config, FusedMask, Params, Problem

STEPS = 20


def norms(key: Array, config: Config, name: str) -> Compared:
    """The norm that `name` bounds, and its bound."""
    problem, batch, mask, _ = material.setting(key, config)
    f, c = model.residual(mask, batch, problem, config)
    bounds = {
        "mask_norm": lambda: (jnp.clip(mask.mask, 0.0, 1.0), laws.mask_norm(config)),
        "attention_norm": lambda: (f, laws.attention_norm(config)),
        "residual_norm": lambda: (c, laws.residual_norm(config)),
        "logit_gradient_norm": lambda: (calculus.logit_gradient(f, c), laws.logit_gradient_norm(c)),
        "gradient_norm": lambda: (
            calculus.gradient(mask, batch, problem, config),
            laws.gradient_norm(mask, c, batch, problem, config),
        ),
    }
    measured, bound = bounds[name]()
    return calculus.norm(measured), bound


def attention_floor(key: Array, config: Config) -> Compared:
    """Remark 4.2, in logarithms because attention underflows."""
    problem, batch, mask, _ = material.setting(key, config)
    z = model.logits(model.masked_weights(mask, problem), batch.inputs)
    shown = model.support(problem, config)
    log_f = jax.nn.log_softmax(jnp.where(shown, z, -jnp.inf), axis=-1)
    return laws.log_attention_floor(z, shown, config), jnp.min(jnp.where(shown, log_f, jnp.inf))


def lipschitz_secants(key: Array, config: Config) -> Compared:
    """Secants of f, p_1, p_2, p and the gradient, far (1) and near (1e-3)."""
    problem, batch, mask, other = material.setting(key, config)

    def functions(m: FusedMask) -> laws.Lipschitz:
        f, c = model.residual(m, batch, problem, config)
        p1 = f * c
        p2 = jnp.sum(p1, axis=-1, keepdims=True) * f
        p = calculus.logit_gradient(f, c)
        return laws.Lipschitz(f, p1, p2, p, calculus.gradient(m, batch, problem, config).mask)

    here, constants = functions(mask), laws.lipschitz(batch, problem, config)
    there = [functions(FusedMask(mask.mask + h * other.query)) for h in (1.0, 1e-3)]
    got = [jax.tree.map(lambda a, b: calculus.norm(a - b), far, here) for far in there]
    return got, [
        jax.tree.map(lambda k, h=h: k * h * calculus.norm(other.query), constants)
        for h in (1.0, 1e-3)
    ]


def lipschitz_hessian(key: Array, config: Config) -> Compared:
    """Hessian-vector products."""
    problem, batch, mask, other = material.setting(key, config)
    v = FusedMask(other.query)
    Hv = calculus.hessian_vector_product(mask, v, batch, problem, config)
    return calculus.norm(Hv), laws.lipschitz(batch, problem, config).gradient * calculus.norm(v)


def row_hessian_norm(key: Array) -> Array:
    """The largest spectral norm of the row Hessian over 64 random rows of 5 tokens, from smooth to
    one-hot.
    """
    k_scale, k_rows = jax.random.split(key)
    scale = 10 ** jax.random.uniform(k_scale, (2, 64, 1), minval=-1.0, maxval=1.5)
    f, f_star = jax.nn.softmax(scale * jax.random.normal(k_rows, (2, 64, 5)), axis=-1)
    hessian = jax.vmap(
        lambda s: calculus.logit_hessian(f, f - f_star, jnp.broadcast_to(s, f.shape))
    )(jnp.eye(5))
    return jnp.max(jnp.linalg.norm(hessian.transpose(1, 0, 2), ord=2, axis=(1, 2)))


def two_token_curvature(x: Array) -> Array:
    """v^T H v at f = (x, 1 - x), f* = (0, 1), v = (1, -1) / sqrt 2, by autodiff in the logits."""
    z, v = jnp.stack([jnp.log(x), jnp.log1p(-x)]), jnp.asarray([1.0, -1.0]) / jnp.sqrt(2.0)
    row = lambda z: jnp.sum((jax.nn.softmax(z) - jnp.asarray([0.0, 1.0])) ** 2) / 2
    return v @ jax.hessian(row)(z) @ v


def sharp_at_two_tokens(key: Array, config: Config) -> Compared:
    """The maximum over x, by grids that close in on it."""

    def closer(_: Array | int, box: tuple[Array, Array]) -> tuple[Array, Array]:
        centre, width = box
        grid = centre + width * jnp.linspace(-1.0, 1.0, 199)
        return grid[jnp.argmax(jax.vmap(two_token_curvature)(grid))], width / 50

    x, _ = jax.lax.fori_loop(0, 4, closer, (jnp.asarray(0.5), jnp.asarray(0.49)))
    return jnp.asarray(laws.SHARP_ROW_CURVATURE), two_token_curvature(x)


def two_entry_formula(key: Array, config: Config) -> Compared:
    """The polynomial at random x."""
    x = jax.random.uniform(key, (16,), minval=0.05, maxval=0.95)
    return laws.two_entry_curvature(x), jax.vmap(two_token_curvature)(x)


def smallest_attention(key: Array, config: Config) -> Compared:
    """G.7 on random causal rows, and on uniform ones where it is tight."""
    z = jax.random.normal(key, (2, 2, 4, 4))
    mask = jnp.broadcast_to(jnp.tril(jnp.ones((4, 4), bool)), (2, 4, 4))
    scale = jnp.asarray([1.0, 0.0])[:, None, None]
    f, f_star = softmax(scale * z[0], mask), softmax(z[1], mask)
    c = jnp.where(
        mask & (jnp.arange(4) == 3)[None, :, None], f - f_star, 0
    )  # the last row, whose tokens all see each other
    p = calculus.logit_gradient(f, c)
    delta = jnp.stack([laws.smallest_attention(f[i, 3:], mask[i, 3:]) for i in range(2)])
    norm = jax.vmap(calculus.norm)
    return delta * norm(c), norm(p)


@material.where_short
def gram_floor(key: Array, config: Config) -> Compared:
    """G.4 for any matrices in the place of p."""
    _, batch, *_ = material.setting(key, config)
    B = jax.random.normal(key, (*batch.inputs.shape[:2], batch.inputs.shape[1]))
    return laws.gram_floor(batch.inputs, config) * calculus.norm(B), calculus.norm(
        calculus.outer_sum(B, batch.inputs)
    )


def smallest_weight(key: Array, config: Config) -> Compared:
    """G.5 on a random matrix, and on the one entry where it is tight."""
    problem, _, mask, _ = material.setting(key, config)
    W = problem.weights
    B = jnp.stack([mask.mask, (jnp.abs(W) == jnp.min(jnp.abs(W))).astype(W.dtype)])
    norm = jax.vmap(calculus.norm)
    return laws.smallest_weight(problem, config) * norm(B), norm(W[None] * B)


@material.where_short
def chain_slope(key: Array, config: Config) -> Compared:
    """||grad L_attn|| >= slope ||c||."""
    problem, batch, mask, _ = material.setting(key, config)
    f, c = model.residual(mask, batch, problem, config)
    delta = laws.smallest_attention(f, model.support(problem, config))
    pull = jax.grad(model.attention_loss)(mask, batch, problem, config)
    return laws.chain(delta, batch, problem, config).slope * calculus.norm(c), calculus.norm(pull)


@material.where_short
def chain_inequality(key: Array, config: Config) -> Compared:
    """(mu / 2)(L_attn - xi) <= ||grad L||^2 for a mask in [0, 1]."""
    problem, batch, mask, _ = material.setting(key, config)
    mask = FusedMask(jnp.clip(mask.mask, 0.0, 1.0))
    f = model.forward(mask, batch, problem, config)
    chain = laws.chain(
        laws.smallest_attention(f, model.support(problem, config)), batch, problem, config
    )
    low = chain.mu / 2 * (model.attention_loss(mask, batch, problem, config) - chain.xi)
    slope = calculus.norm(calculus.gradient(mask, batch, problem, config))
    return jnp.where(chain.mu > 0, low, -1.0), slope**2


def path(key: Array, config: Config) -> tuple[Problem, Batch, Params, Config, Array, Array]:
    """The initial mask, the config of plain descent, and L_attn and the least attention along its
    first steps.
    """
    problem, batch, *_ = material.setting(key, config)
    config = material.smooth(batch, problem, config)
    state = training.init(key, problem, config)

    def advance(state: training.State, t: Array) -> tuple[training.State, tuple[Array, Array]]:
        f = model.forward(state.params, batch, problem, config)
        loss = model.attention_loss(state.params, batch, problem, config)
        delta = laws.smallest_attention(f, model.support(problem, config))
        return training.step(key, t, state, batch, problem, config), (loss, delta)

    _, (losses, floors) = jax.lax.scan(advance, state, jnp.arange(STEPS))
    return problem, batch, state.params, config, losses, floors


def descent_path(key: Array, config: Config) -> Compared:
    """L_attn(M_t) <= L(M_0)."""
    problem, batch, start, config, losses, _ = path(key, config)
    return jnp.max(losses), laws.descent(start, batch, problem, config)


def descent_from_ones(key: Array, config: Config) -> Compared:
    """L_attn vanishes at M = 1."""
    problem, batch, mask, _ = material.setting(key, config)
    got = laws.descent(FusedMask(jnp.ones_like(mask.mask)), batch, problem, config)
    return got, jnp.asarray(config.regularization * config.dimension.cap**2 / 2)


@material.where_short
def convergence(key: Array, config: Config) -> Compared:
    """Theorem 4.1 over the first steps."""
    problem, batch, start, config, losses, floors = path(key, config)
    chain = laws.chain(jnp.min(floors), batch, problem, config)
    want = laws.convergence(
        STEPS, laws.descent(start, batch, problem, config), chain.mu, chain.xi, config
    )
    return jnp.min(losses), jnp.clip(want, -1e300, 1e300)


def _norm(name: str, source: str) -> Check:
    return Check(
        f"{name}: measured norm", source, "bound", lambda key, config: norms(key, config, name)
    )


CHECKS = (
    _norm("mask_norm", "lemma E.2, G.9"),
    _norm("attention_norm", "lemma E.3"),
    _norm("residual_norm", "lemmas E.3, G.8"),
    _norm("logit_gradient_norm", "lemma E.3"),
    _norm("gradient_norm", "lemma E.4"),
    Check("log_attention_floor: least log attention", "remark 4.2", "bound", attention_floor),
    Check(
        "lipschitz: secants of f, p_1, p_2, p and the gradient",
        "lemmas F.3-F.7, theorem F.8",
        "bound",
        lipschitz_secants,
    ),
    Check("lipschitz: Hessian-vector products", "theorem F.8", "bound", lipschitz_hessian),
    Check(
        "ROW_CURVATURE: row Hessians",
        "derived",
        "bound",
        lambda key, _config: (row_hessian_norm(key), jnp.asarray(laws.ROW_CURVATURE)),
    ),
    Check(
        # beyond two tokens; no violation was ever found
        "SHARP_ROW_CURVATURE: row Hessians (conjectured)",
        "derived",
        "bound",
        lambda key, _config: (row_hessian_norm(key), jnp.asarray(laws.SHARP_ROW_CURVATURE)),
    ),
    Check("SHARP_ROW_CURVATURE: maximum for two tokens", "derived", "equal", sharp_at_two_tokens),
    Check("two_entry_curvature: autodiff in the logits", "derived", "equal", two_entry_formula),
    Check("smallest_attention: ||p|| >= delta ||c||", "lemma G.7", "bound", smallest_attention),
    Check("gram_floor: ||sum X^T B X|| >= beta ||B||", "lemma G.4", "bound", gram_floor),
    Check("smallest_weight: ||W o B|| >= w_min ||B||", "lemma G.5", "bound", smallest_weight),
    Check("chain: ||grad L_attn|| >= slope ||c||", "lemma G.10", "bound", chain_slope),
    Check("chain: PL inequality", "lemma G.10", "bound", chain_inequality),
    Check("descent: L_attn(M_t) <= L(M_0)", "theorem 4.1", "bound", descent_path),
    Check("descent: lambda d^2 / 2 from M_0 = 1", "derived", "equal", descent_from_ones),
    Check("convergence: theorem 4.1 over 20 steps", "theorem 4.1", "bound", convergence),
)
