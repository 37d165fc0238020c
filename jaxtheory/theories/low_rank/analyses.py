"""What is looked at in trained parameters: truncated changes, removed heads and value dimensions, neurons, Theorem 1's projections."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.theories.low_rank import model, pruning
from jaxtheory.theories.low_rank.model import Batch, Config, Params, Problem, indices

VALUE_RATES = tuple(j / 10 for j in range(11))


# Attention


def relevant(batch: Batch, config: Config) -> Bool[Array, "n L"]:
    """Tokens of a pattern of the label's class."""
    R, C = config.num_relevant_patterns.n, config.num_classes.n
    shown = model.length(config).mask()[None, :] & (batch.weight > 0)[:, None]
    return shown & (batch.pattern < R) & (batch.pattern % C == batch.label[:, None])


def attention_mass(attention: Float[Array, "n H L L"], batch: Batch, config: Config) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Attention on relevant tokens: mean over heads, samples and all queries, and over the relevant queries; zero without such."""
    is_relevant = relevant(batch, config)
    per_query = jnp.mean(jnp.einsum("bhlj,bj->bhl", attention, is_relevant.astype(attention.dtype)), axis=1)
    L = model.length(config)
    every = jnp.sum(jnp.where(L.mask()[None, :], per_query, 0), axis=1) / L.real
    count = jnp.sum(is_relevant, axis=1).astype(attention.dtype)
    own = jnp.sum(jnp.where(is_relevant, per_query, 0), axis=1) / jnp.maximum(count, 1)
    return jnp.sum(batch.weight * every), jnp.sum(batch.weight * own)


# Singular values


def matrices(params: Params) -> list[Float[Array, "rows columns"]]:
    """All matrices, in the order of `model.matrix_names`."""
    heads = [W.reshape(-1, *W.shape[-2:]) for W in params[:3]]
    return [W for several in heads for W in several] + [params.output]


def full_rank(config: Config) -> int:
    """The largest rank of a change, capacities counted."""
    d, m_a, m = config.dimension.cap, config.value_dim.cap, config.num_neurons.cap
    return max(min(model.head_dim(config).cap, d), min(m_a, d), min(m, m_a))


def safe(function: Callable, W: Float[Array, "rows columns"]) -> Array:
    """function(W), NaN where W is not finite: a factorisation never sees such a matrix."""
    good = jnp.all(jnp.isfinite(W))
    return jax.tree.map(lambda x: jnp.where(good, x, jnp.nan), function(jnp.where(good, W, 0)))


def singular_values(delta: Params, config: Config) -> Float[Array, "matrix index"]:
    """Singular values of each matrix, the largest first, zero beyond its own number; NaN where a matrix is not finite."""
    rows = [safe(lambda W: jnp.linalg.svd(W, compute_uv=False), W) for W in matrices(delta)]
    return jnp.stack([jnp.zeros(full_rank(config), s.dtype).at[: len(s)].set(s) for s in rows])


def rank_limit(config: Config) -> Int[Array, " matrix"]:
    """The smaller side of each matrix."""
    d, m_a, m, each = config.dimension.n, config.value_dim.n, config.num_neurons.n, config.num_layers * config.num_heads
    sides = [(model.head_dim(config).n, d)] * 2 * each + [(m_a, d)] * each + [(m, m_a)]
    return jnp.stack([jnp.minimum(*(jnp.asarray(n, jnp.int32) for n in pair)) for pair in sides])


def gap_rank(s: Float[Array, "matrix index"], limit: Int[Array, " matrix"]) -> Int[Array, " matrix"]:
    """The r < limit with the largest s_r / s_(r+1), s_(r+1) taken as at least .03 s_1; 0 for a zero matrix, 1 for limit 1."""
    floor = jnp.maximum(0.03 * s[:, :1], jnp.finfo(s.dtype).tiny)
    following = jnp.pad(s[:, 1:], ((0, 0), (0, 1)))
    ratio = jnp.where(indices(s.shape[1])[None, :] + 1 < limit[:, None], s / jnp.maximum(following, floor), 0)
    return jnp.where(s[:, 0] > 0, 1 + jnp.argmax(ratio, axis=1), 0)


# Truncation


def factorised(delta: Params) -> tuple[Params, Params, Params]:
    """U, s, V^T of every matrix: one decomposition each."""
    u, s, vt = zip(*(safe(lambda W: jnp.linalg.svd(W, full_matrices=False), W) for W in delta), strict=True)
    return Params(*u), Params(*s), Params(*vt)


def truncated(start: Params, factors: tuple[Params, Params, Params], rank: Params) -> Params:
    """W(0) + sum_{j <= rank} s_j u_j v_j^T, a rank for each of the four (traced)."""

    def one(W: Array, u: Array, s: Array, vt: Array, r: Array) -> Array:
        kept = jnp.where(indices(s.shape[-1]) < r, s, 0)
        return W + (u * kept[..., None, :]) @ vt

    return jax.tree.map(one, start, *factors, rank)


def evaluate(params: Params, problem: Problem, config: Config) -> tuple[Array, Array, Array, Array]:
    """On the test set: loss, error (share of margins <= 0), attention on relevant tokens of all and of the relevant queries."""
    seen = model.forward(params, problem.test.tokens, problem, config)
    wrong = model.margin(seen.F, problem.test.label, config) <= 0
    error = jnp.sum(jnp.where(wrong, problem.test.weight, 0))
    return model.hinge(seen.F, problem.test, config), error, *attention_mass(seen.attention[-1], problem.test, config)


def truncation(params: Params, problem: Problem, config: Config) -> dict[str, Array]:
    """Test loss and attention with all changes cut to rank 1, 2, ..; with one of them cut to rank 1; rank r and the small neurons removed.

    Not unique where s_r = s_(r+1).
    """
    start = model.initial(problem, config)
    factors = factorised(model.change(params, problem, config))
    n = full_rank(config)
    alone = np.full((4, 4), n, np.int32)
    np.fill_diagonal(alone, 1)
    ranks = jnp.concatenate([jnp.broadcast_to(indices(n)[:, None] + 1, (n, 4)), jnp.asarray(alone)])
    loss, error, every, own = jax.lax.map(lambda rank: evaluate(truncated(start, factors, Params(*rank)), problem, config), ranks)
    r = jnp.asarray(config.truncation_rank)
    cut = truncated(start, factors, Params(r, r, r, r))
    f = pruning.contributions(model.forward(cut, problem.test.tokens, problem, config).hidden, problem, config)
    small = pruning.order(pruning.norms(cut.output), config)
    return {
        "truncated_loss": loss[:n],
        "truncated_error": error[:n],
        "truncated_attention": every[:n],
        "truncated_query_attention": own[:n],
        "alone_truncated_loss": loss[n:],
        "pruned_truncated_loss": pruning.losses_of(f, small, problem.test, config),
    }


# Heads and value dimensions


def ranking(size: Float[Array, " n"]) -> Int[Array, " n"]:
    """The place of each entry from the smallest on, ties in order."""
    return jnp.argsort(jnp.argsort(size)).astype(jnp.int32)


def head_loss(params: Params, problem: Problem, config: Config) -> Float[Array, " heads"]:
    """Test loss without the 0, 1, .., H heads of smallest |W_V^h|, removed in all layers."""
    rank = ranking(jnp.sum(params.value**2, axis=(0, 2, 3)))

    def without(n: Array) -> Array:
        kept = jnp.where((rank < n)[None, :, None, None], 0, params.value)
        return evaluate(params._replace(value=kept), problem, config)[0]

    return jax.lax.map(without, indices(config.num_heads + 1))


def value_loss(params: Params, problem: Problem, config: Config) -> Float[Array, " rate"]:
    """Test loss without a share of the value dimensions, columns of W_O, smallest |column| times |row of W_V| first; rates 0, .1, .., 1."""
    m_a = config.value_dim
    size = jnp.sum(params.output**2, axis=0) * jnp.sum(params.value[-1] ** 2, axis=(0, 2))
    rank = ranking(jnp.where(m_a.mask(), size, jnp.inf))
    v = model.forward(params, problem.test.tokens, problem, config).values

    def without(n: Array) -> Array:
        hidden = jnp.where((rank < n)[None, None, :], 0, v) @ params.output.T
        return model.hinge(model.read_out(hidden, problem, config), problem.test, config)

    return jax.lax.map(without, (2 * indices(11) * m_a.n + 10) // 20)


# Neurons and projections


def embed(U: Float[Array, "M d"], n: int) -> Float[Array, "M n"]:
    """Patterns as rows of n coordinates, the way diag(delta) carries them to queries and values: cut off or filled with zeros."""
    M, d = U.shape
    return jnp.zeros((M, n), U.dtype).at[:, : min(n, d)].set(U[:, : min(n, d)])


def projections(params: Params, problem: Problem, config: Config) -> Float[Array, "matrix left right"]:
    """mu_i^T Delta W mu_j for W_Q, W_K and W_V of the last layer; the left mu_i as W(0) carries it (heads: their rows, summed).

    Source: equations (7)-(10).
    """
    delta, U = model.change(params, problem, config), problem.patterns
    start = model.initial(problem, config).query[-1] / config.init_diagonal
    query, key = (jnp.einsum("hqe,ie,hqd,jd->ij", start, U, W[-1], U) for W in (delta.query, delta.key))
    left = embed(U, config.value_dim.cap)
    return jnp.stack([query, key, jnp.einsum("ia,had,jd->ij", left, delta.value[-1], U)])


def neuron_projections(params: Params, problem: Problem, config: Config) -> Float[Array, "neuron pattern"]:
    """o_i^T mu_j. Source: equations (11), (12)."""
    return params.output @ embed(problem.patterns, config.value_dim.cap).T


def class_means(problem: Problem, config: Config) -> Float[Array, "C d"]:
    """m_c: the mean token of class c in exact counts, averaged over the patterns that its samples show."""
    R, C, M = config.num_relevant_patterns, config.num_classes, config.num_patterns
    r, c = indices(M.cap)[None, :], indices(C.cap)[:, None]
    own = ((r < R.n) & (r % C.n == c)).astype(problem.patterns.dtype)
    count = jnp.maximum(jnp.sum(own, axis=1, keepdims=True), 1)
    one = own / count  # the pattern of a class, on average
    others = (jnp.sum(one, axis=0, keepdims=True) - one) / jnp.asarray(C.real - 1, own.dtype)
    rest = ((r >= R.n) & (r < M.n)).astype(own.dtype)
    parts = config.num_relevant.real * one + config.num_confusion.real * others + config.num_irrelevant_each.real * rest
    return jnp.where(C.mask()[:, None], (parts / model.length(config).real) @ problem.patterns, 0)


def activity(params: Params, problem: Problem, config: Config) -> Float[Array, "C m"]:
    """o_i^T W_V m_c: positive where neuron i is active on the mean token of class c (uniform attention; last layer's values)."""
    return class_means(problem, config) @ jnp.sum(params.value[-1], axis=0).T @ params.output.T


def own_class(problem: Problem, config: Config) -> Int[Array, " m"]:
    """The class that neuron i speaks for: 0 where sum_l a_(l),i > 0, else 1; for several outputs the largest sum, ties to the first."""
    total = jnp.sum(problem.signs, axis=2)
    if config.task == "binary":
        return jnp.where(total[0] > 0, 0, 1).astype(jnp.int32)
    shown = jnp.where(config.num_classes.mask()[:, None], total, -jnp.inf)
    return jnp.argmax(shown, axis=0).astype(jnp.int32)
