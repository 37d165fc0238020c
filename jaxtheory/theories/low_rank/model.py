"""A one-layer Transformer on tokens of relevant, confusing and irrelevant patterns.

The module has its config, parameters, forward pass and hinge loss.

    F_k(X) = (1/|S|) sum_{l in S} a_(l),k^T relu(W_O sum_h W_V^h X softmax(X^T W_K^h^T W_Q^h x_l)),
        X = [x_1 .. x_L], x_l = mu + noise
    binary:      one F, y = +1 for class 0 and -1 for class 1, ell = max(0, 1 - y F)
    multiclass:  ell = max(0, 1 - F_y + max_{k != y} F_k)

Symbols, with their shapes:

    M, d, R, C       patterns, dimension, label-relevant patterns, classes
    n, L, S          samples, tokens, query positions
    m, m_a, m_b      neurons, value and query dimension
    W_Q, W_K         (n_l, H, m_b/H, d)   query and key weights
    W_O (m, m_a)     neurons o_i, rows
    U (M, d)         patterns mu_1..mu_M, rows
    X (n, L, d)      tokens (the paper's X^T)
    H, n_l           heads and layers, 1 and 1 in the paper
    W_V              (n_l, H, m_a, d)   value weights
    A                (K, m, L) or (K, m, 1)   frozen output weights +-1/sqrt(m);
                     K = 1 outputs for task=binary, C for multiclass

Pattern r < R belongs to class r mod C. Earlier layers add their input (X + sum_h ...), the last
does not; W(0) and A are the problem's. Scores carry no 1/sqrt(d). Arrays count from 0. Source:
arXiv 2406.17167, sections II and III-A; K > 1 outputs, heads, layers are ours.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxtheory.core import config as fields
from jaxtheory.core import shapes
from jaxtheory.core.config import Size, evaluation, size, static, traced
from jaxtheory.ops import attention
from jaxtheory.ops.positions import indices
from jaxtheory.texts.errors import InputError


class Config(fields.Config):
    """Hyper-parameters. The defaults are setting S1, where one vector a serves all positions."""

    num_patterns: Size = size(20, "M", "patterns", "[3, inf)")
    num_relevant_patterns: Size = size(2, "R", "label-relevant patterns", "[2, inf)")
    num_classes: Size = size(2, "C", "classes", "[2, inf)")
    dimension: Size = size(20, "d", "dimension of a token", "[2, inf)")
    query_dim: Size = size(20, "m_b", "rows of W_Q and W_K over all heads")
    value_dim: Size = size(20, "m_a", "rows of W_V")
    num_neurons: Size = size(200, "m", "neurons, rows of W_O")
    num_relevant: Size = size(9, "nrel", "tokens of the label's pattern")
    num_confusion: Size = size(
        3, "nconf", "tokens of another class's pattern, fewer than nrel", "[0, inf)"
    )
    num_irrelevant_each: Size = size(1, "per", "tokens of each irrelevant pattern", "[0, inf)")
    batch_size: Size = size(32, "B", "distinct training samples per step")
    num_samples: Size = size(600, "N", "training samples")
    num_test: Size = size(300, "Nt", "test samples")
    lora_rank: Size = size(2, "rlora", "rank of the factors that `lora` trains")
    noise: float = traced(
        0.1,
        "sigma",
        "noise: standard deviation per coordinate, or norm where noise_law is bounded",
        "[0, inf)",
    )
    coherence: float = traced(0.0, "cos", "cosine of mu_1 and mu_2", "[0, 1)")
    overlap: float = traced(
        0.0, "ov", "cosine of each irrelevant pattern j with the relevant one j mod R", "[0, 1)"
    )
    label_noise: float = traced(
        0.0, "flip", "probability that a training label is the next class", "[0, 1)"
    )
    learning_rate: float = traced(1.0, "eta", "step size of all four matrices", "(0, inf)")
    init_diagonal: float = traced(
        0.1,
        "delta",
        "diagonal of W_Q, W_K, W_V at the start; the paper's delta^2 is 0.01",
        "(0, inf)",
    )
    value_ratio: float = traced(1.0, "rv", "W_V starts at rv times this diagonal", "(0, inf)")
    output_scale: float = traced(0.1, "xi", "standard deviation of W_O at the start", "(0, inf)")
    num_queries: int = traced(
        0,
        "S",
        "positions that are read out, the first ones of a random order; 0 for all L",
        "[0, inf)",
    )
    momentum: float = traced(0.9, "beta", "momentum, and Adam's first decay rate", "[0, 1)")
    decay_steps: int = traced(
        150, "taud", "steps in which sgd_cosine takes its rate to 0", "[1, inf)", "steps"
    )
    adam_epsilon: float = traced(
        1e-8, "epsa", "offset in the denominator of Adam's step", "(0, inf)"
    )
    warmup_steps: int = traced(
        0, "tauw", "steps in which Adam's rate rises to its value; 0 for none", "[0, inf)", "steps"
    )
    truncation_rank: int = evaluation(
        2, "r", "rank of the truncation in `pruned_truncated_loss`", "[1, inf)"
    )
    output: str = static(
        "shared",
        "A",
        "one output vector for all positions, or one per position",
        ("shared", "per_token"),
    )
    task: str = static(
        "binary",
        "task",
        "one output with y = +-1, or C outputs with the Crammer-Singer hinge",
        ("binary", "multiclass"),
    )
    num_heads: int = static(1, "H", "attention heads", tuple(range(1, 17)))
    num_layers: int = static(1, "nl", "attention layers", tuple(range(1, 9)))
    counts: str = static(
        "exact",
        "counts",
        "token counts as given, or random around them with a majority vote",
        ("exact", "random"),
    )
    labels: str = static("balanced", "labels", "classes in turn, or drawn", ("balanced", "random"))
    occurrence: str = static(
        "independent",
        "occur",
        "a sample shows one pattern of a class, or all",
        ("independent", "together"),
    )
    noise_law: str = static(
        "gaussian",
        "law",
        "mu + noise; that over its norm; noise of norm sigma",
        ("gaussian", "unit", "bounded"),
    )
    given: tuple | None = static(
        None, "U", "rows of given orthonormal patterns, None for e_1 .. e_M", ()
    )

    def violations(self) -> list[str]:
        """Conditions between fields; those on traced values are skipped while tracing."""
        table = fields.fields(type(self))
        n = {
            name: getattr(self, name).n if field.kind == "size" else getattr(self, name)
            for name, field in table.items()
        }
        if any(isinstance(value, jax.core.Tracer) for value in n.values()):
            return []
        M, R, C, d, L = (
            n["num_patterns"],
            n["num_relevant_patterns"],
            n["num_classes"],
            n["dimension"],
            length(self).n,
        )
        m_a, m_b, B, N = n["value_dim"], n["query_dim"], n["batch_size"], n["num_samples"]
        full = max(min(m_b // n["num_heads"], d), min(m_a, d), min(n["num_neurons"], m_a))
        rules = (
            (
                n["num_confusion"] < n["num_relevant"],
                "num_confusion",
                f"below num_relevant (nrel) = {n['num_relevant']}, as in a majority",
            ),
            (
                d >= M,
                "num_patterns",
                f"in [3, dimension (d)] = [3, {d}] to be orthonormal; raise d",
            ),
            (R <= M, "num_relevant_patterns", f"in [2, num_patterns (M)] = [2, {M}]; raise M"),
            (
                R >= C,
                "num_relevant_patterns",
                f"at least num_classes (C) = {C}, a pattern for each class; raise R",
            ),
            (
                B <= N,
                "batch_size",
                f"in [1, num_samples (N)] = [1, {N}], as samples of a batch are distinct; lower B",
            ),
            (
                R > M or n["num_queries"] <= L,
                "num_queries",
                f"in [0, L] = [0, {L}], L = nrel + nconf + per (M - R); 0: all positions",
            ),
            (
                n["truncation_rank"] <= full,
                "truncation_rank",
                f"in [1, {full}], the largest rank of W_Q, W_K, W_V, W_O",
            ),
            (m_b % n["num_heads"] == 0, "num_heads", f"a divisor of query_dim (m_b) = {m_b}"),
            (
                n["num_layers"] == 1 or m_a == d,
                "num_layers",
                f"1 unless value_dim (m_a) = {m_a} is dimension (d) = {d}: layers add up",
            ),
            (
                n["task"] == "multiclass" or C == 2,
                "num_classes",
                "2 for task=binary; set task=multiclass",
            ),
        )
        conflicts = [
            f"{name} ({table[name].symbol}) = {n[name]}: must be {valid}"
            for holds, name, valid in rules
            if not holds
        ]
        return conflicts + ([] if self.given is None else _given_violations(self.given, M, d))


def _given_violations(given: Any, M: Any, d: Any) -> list[str]:
    """The conditions that given patterns violate: one line, or none."""
    try:
        rows = np.asarray(given, float)
    except (TypeError, ValueError):
        return [f"given (U) = {given!r}: must be a tuple of M rows of d numbers"]
    if rows.shape != (M, d):
        return [
            f"given (U) has shape {rows.shape}: must be (num_patterns (M), dimension (d)) = ({M}, "
            f"{d})"
        ]
    worst = float(np.max(np.abs(rows @ rows.T - np.eye(len(rows)))))
    return (
        [
            f"given (U) is not orthonormal, |U U^T - 1| is {worst:.2g}: must be in [0, 1e-9]; use "
            "coherence (cos)"
        ]
        if worst > 1e-9
        else []
    )


class Batch(NamedTuple):
    """Samples: tokens, classes, the pattern of each token, and the weights of their mean.

    All are zero beyond the sizes.
    """

    tokens: Float[Array, "n L d"]
    label: Int[Array, " n"]
    pattern: Int[Array, "n L"]
    weight: Float[Array, " n"]


class Params(NamedTuple):
    """The matrices W_Q, W_K, W_V and W_O. A gradient or a difference has the same form."""

    query: Float[Array, "nl H q d"]
    key: Float[Array, "nl H q d"]
    value: Float[Array, "nl H m_a d"]
    output: Float[Array, "m m_a"]


class Problem(NamedTuple):
    """Training and test set, patterns U, signs of A, directions of the start, and a random order.

    `normal` is the standard normal W_O(0) / xi, `basis` has the directions of W_Q(0) and W_K(0).

    `initial` makes W(0) of these, or returns `start` if it is given. `basis` is the identity for
    one head, so that W_Q(0) = W_K(0) = delta I, else a random rotation.
    """

    train: Batch
    test: Batch
    patterns: Float[Array, "M d"]
    signs: Float[Array, "K m T"]  # T = L per token, 1 shared
    normal: Float[Array, "m m_a"]
    basis: Float[Array, "d d"]
    shuffle: Float[Array, " m"]
    start: Params | None = None


class Forward(NamedTuple):
    """One forward pass: the input of each layer, its queries, keys and attention, and v, h and F.

    v = sum_h W_V^h X p and h = W_O v are those of the last layer.
    """

    inputs: tuple[Float[Array, "n L d"], ...]
    queries: tuple[Float[Array, "n H L q"], ...]
    keys: tuple[Float[Array, "n H L q"], ...]
    attention: tuple[Float[Array, "n H L L"], ...]
    values: Float[Array, "n L ma"]
    hidden: Float[Array, "n L m"]
    F: Float[Array, "n K"]


# Sizes


def rounded(x: Array) -> Array:
    """The number itself, behind a clip that keeps a compiler from moving products.

    The compiler neither reorders products nor fuses a product into a sum across it.

    Otherwise a product is rounded in one program and not in another, and W - W(0) is not zero at
    the start.
    """
    most = jnp.finfo(x.dtype).max
    return jnp.clip(x, -most, most)


def length(config: Config) -> Size:
    """The length L = nrel + nconf + per (M - R), with a capacity that holds for every value."""
    a, b, per, M, R = (
        getattr(config, name)
        for name in (
            "num_relevant",
            "num_confusion",
            "num_irrelevant_each",
            "num_patterns",
            "num_relevant_patterns",
        )
    )
    is_unpadded = all(part.value is None for part in (a, b, per, M, R))
    least = R.cap if R.value is None else 2
    return Size(
        a.cap + b.cap + per.cap * (M.cap - least),
        None if is_unpadded else a.n + b.n + per.n * (M.n - R.n),
    )


def head_dim(config: Config) -> Size:
    """The number m_b / H of rows of W_Q^h."""
    m_b, H = config.query_dim, config.num_heads
    return Size(-(-m_b.cap // H), None if m_b.value is None else m_b.n // H)


def query_weights(config: Config) -> Float[Array, " L"]:
    """1[l in S] / |S|, where S holds the first `num_queries` positions, or all of them for 0."""
    L = length(config)
    S = jnp.where(jnp.asarray(config.num_queries) == 0, L.n, config.num_queries)
    return jnp.where(indices(L.cap) < S, 1 / S.astype(float), 0)


def matrix_names(config: Config) -> list[str]:
    """WQ, WK, WV, WO, with .l and .h where there are several layers and heads.

    They count from 1. The order is that of `analyses.ranks.matrices`.
    """
    layer = lambda i: f".l{i + 1}" if config.num_layers > 1 else ""
    head = lambda j: f".h{j + 1}" if config.num_heads > 1 else ""
    suffixes = [
        layer(i) + head(j) for i in range(config.num_layers) for j in range(config.num_heads)
    ]
    return [f"W{name}{place}" for name in "QKV" for place in suffixes] + ["WO"]


def fit(params: Params, batch: Batch, problem: Problem, config: Config) -> None:
    """Raise InputError where the arrays do not fit each other or the config (see `core.shapes`)."""
    sizes: dict[str, Size | int] = {
        "L": length(config),
        "q": head_dim(config),
        "H": config.num_heads,
        "nl": config.num_layers,
        "K": config.num_classes if config.task == "multiclass" else 1,
        "T": length(config) if config.output == "per_token" else 1,
    }
    shapes.check_shapes(config, sizes, params=params, batch=batch, problem=problem)


# Parameters


def initial(problem: Problem, config: Config) -> Params:
    """The start W(0), with W_O ~ N(0, xi^2).

    W_Q^h = W_K^h = delta times m_b/H rows of the basis, W_V^h = rv delta I / H.

    Source: section II; IV prints delta^2 for delta. Heads: rows of a random rotation, so that no
    head sees the relevant patterns alone.
    """
    if problem.start is not None:
        return problem.start
    H, q, m_a, d = config.num_heads, head_dim(config), config.value_dim, config.dimension
    row = indices(H)[:, None] * q.n + indices(q.cap)[None, :]  # (H, q)
    inside = q.mask()[None, :] & (row < d.n)
    rows = jnp.where(inside[:, :, None], problem.basis[jnp.minimum(row, d.cap - 1)], 0)
    delta = jnp.asarray(config.init_diagonal, rows.dtype)
    diagonal = jnp.where(m_a.mask()[:, None] & d.mask()[None, :], jnp.eye(m_a.cap, d.cap), 0) * (
        config.value_ratio * delta / H
    )
    stacked = lambda W: jnp.broadcast_to(W[None], (config.num_layers, *W.shape))
    heads = jnp.broadcast_to(diagonal[None], (H, *diagonal.shape))
    start = Params(
        stacked(delta * rows),
        stacked(delta * rows),
        stacked(heads),
        config.output_scale * problem.normal,
    )
    return jax.tree.map(rounded, start)


def embed(U: Float[Array, "M d"], n: Size | int) -> Float[Array, "M n"]:
    """Patterns as rows of n coordinates, cut off or filled with zeros.

    This is how diag(delta) carries them to queries and values.
    """
    n = Size.wrap(n)
    least = min(n.cap, U.shape[1])
    rows = jnp.zeros((len(U), n.cap), U.dtype).at[:, :least].set(U[:, :least])
    return jnp.where(n.mask()[None, :], rows, 0)


def init(_key: Array, problem: Problem, config: Config) -> Params:
    """The start W(0) of the problem."""
    return initial(problem, config)


def change(params: Params, problem: Problem, config: Config) -> Params:
    """The change Delta W = W - W(0), exactly zero at the start."""
    return jax.tree.map(jnp.subtract, params, initial(problem, config))


def output_weights(problem: Problem, config: Config) -> Float[Array, "K m T"]:
    """The output weights A = signs / sqrt(m).

    Raise InputError where per-token weights are tied to another length.
    """
    if config.output == "per_token" and problem.signs.shape[2] != length(config).cap:
        raise InputError(
            f"output weights A have {problem.signs.shape[2]} positions and tokens X have "
            f"{length(config).cap}: with output=per_token a problem holds for one length only"
        )
    return problem.signs / jnp.sqrt(jnp.asarray(config.num_neurons.real, problem.signs.dtype))


# The forward pass


def forward(
    params: Params, tokens: Float[Array, "n L d"], problem: Problem, config: Config
) -> Forward:
    """The forward pass of equation (1).

    Keys beyond L get no attention, and positions outside S have no weight in F.
    """
    L = length(config)
    mask = None if L.value is None else L.mask()[None, None, None, :]
    X, layers = tokens, []
    for layer in range(config.num_layers):
        q, k = (jnp.einsum("bld,hqd->bhlq", X, W[layer]) for W in (params.query, params.key))
        p = attention.softmax(jnp.einsum("bhlq,bhjq->bhlj", q, k), mask)
        v = jnp.einsum("bhle,hae->bla", jnp.einsum("bhlj,bje->bhle", p, X), params.value[layer])
        layers.append((X, q, k, p))
        if layer + 1 < config.num_layers:
            X = X + (v if L.value is None else jnp.where(L.mask()[None, :, None], v, 0))
    hidden = v @ params.output.T
    F = read_out(hidden, problem, config)
    inputs, queries, keys, maps = zip(*layers, strict=True)
    return Forward(inputs, queries, keys, maps, v, hidden, F)


def read_out(
    hidden: Float[Array, "n L m"], problem: Problem, config: Config
) -> Float[Array, "n K"]:
    """The outputs F_k = (1/|S|) sum_{l in S} a_(l),k^T relu(h_l)."""
    A, weight = output_weights(problem, config), query_weights(config)
    if config.output == "shared":  # a sum over l before the product would lay h out anew in memory
        readouts = jax.nn.relu(hidden) @ A[:, :, 0].T
        return jnp.sum(weight[None, :, None] * readouts, axis=1)
    return jnp.einsum("blm,kml->bk", jax.nn.relu(hidden), A * weight[None, None, :])


# The loss


def sign_of(label: Int[Array, " n"], dtype: Any) -> Float[Array, " n"]:
    """The sign y = +1 for class 0, -1 for class 1."""
    return 1 - 2 * label.astype(dtype)


def rival(F: Float[Array, "n C"], label: Int[Array, " n"], config: Config) -> Int[Array, " n"]:
    """argmax_{k != y} F_k, the first index among equal outputs."""
    k = indices(F.shape[1])[None, :]
    return jnp.argmax(
        jnp.where((k == label[:, None]) | (k >= config.num_classes.n), -jnp.inf, F), axis=1
    ).astype(jnp.int32)


def margin(F: Float[Array, "n K"], label: Int[Array, " n"], config: Config) -> Float[Array, " n"]:
    """The margin y F, or F_y - max_{k != y} F_k, positive where the prediction is right."""
    if config.task == "binary":
        return sign_of(label, F.dtype) * F[:, 0]
    pick = lambda k: jnp.take_along_axis(F, k[:, None], axis=1)[:, 0]
    return pick(label) - pick(rival(F, label, config))


def hinge(F: Float[Array, "n K"], batch: Batch, config: Config) -> Float[Array, ""]:
    """The mean of max(0, 1 - margin)."""
    return jnp.sum(batch.weight * jax.nn.relu(1 - margin(F, batch.label, config)))


def loss(params: Params, batch: Batch, problem: Problem, config: Config) -> Float[Array, ""]:
    """The mean hinge loss of the batch. Derivatives at the kinks h = 0 and margin = 1 are zero.
    Source: equations (2), (3).
    """
    fit(params, batch, problem, config)
    return hinge(forward(params, batch.tokens, problem, config).F, batch, config)


def attention_map(params: Params, problem: Problem, config: Config) -> Float[Array, "L L"]:
    """The attention of the last layer, averaged over the heads and the test samples."""
    p = forward(params, problem.test.tokens, problem, config).attention[-1]
    return jnp.einsum("bhlj,b->lj", p, problem.test.weight) / config.num_heads
