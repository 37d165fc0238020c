"""Metrics, analyses and curves of low_rank in plain NumPy, from their docstrings; the data are in
`low_rank_draws`.

Every rank is a truncation of its own, every rate a forward pass without the neurons, one sample at
a time.
"""

import math
from typing import Any

import numpy as np
from scipy import stats

from jaxtheory.theories.low_rank.model import Config, Params
from tests.reference import low_rank_draws as draws
from tests.reference import low_rank_numpy as lr
from tests.reference.entries import Case

law = draws.law
KAPPA = 1.05


def near(scale: float, seed: int) -> Any:
    """W(0) with noise."""

    def make(problem: Any, config: Any) -> Params:
        rng = np.random.default_rng(seed)
        return Params(*(W + scale * rng.normal(size=W.shape) for W in start(problem, config)))

    return make


def initial(problem: Any, config: Any) -> Params:
    return Params(*start(problem, config))


def two_zero(problem: Any, config: Any) -> Params:
    """Two neurons are zero."""
    Q, K, V, O = (W.copy() for W in near(0.3, 9)(problem, config))
    O[:2] = 0
    return Params(Q, K, V, O)


def silent(problem: Any, config: Any) -> Params:
    """All neurons point away from all values, so that all margins are 0."""
    Q, K, V, O = near(0.1, 9)(problem, config)
    values = [lr.layers((Q, K, V, O), X)[-1].mean(axis=0) for X in problem.test.tokens]
    away = np.random.default_rng(1).uniform(-20, -10, size=len(O))
    return Params(Q, K, V, np.outer(away, np.mean(values, axis=0)))


def uneven(factor: float) -> Any:
    """The first of the neurons is scaled."""

    def make(problem: Any, config: Any) -> Params:
        Q, K, V, O = (W.copy() for W in near(0.5, 6)(problem, config))
        O[0] *= factor
        return Params(Q, K, V, O)

    return make


def make(**fields: Any) -> Config:
    sizes: dict[str, Any] = {
        "num_patterns": 4,
        "dimension": 5,
        "num_neurons": 7,
        "num_relevant": 2,
        "num_confusion": 1,
        "batch_size": 3,
        "num_samples": 7,
        "num_test": 5,
        "query_dim": 4,
        "value_dim": 5,
        "noise": 0.2,
        "init_diagonal": 0.5,
        "output_scale": 0.7,
    }
    return Config(**sizes | fields)


def rotated(M: int, d: int) -> tuple[tuple[float, ...], ...]:
    """M orthonormal rows."""
    Q, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(d, M)))
    return tuple(tuple(float(x) for x in row) for row in Q.T)


MANY = {"num_samples": 1501, "num_test": 1201, "batch_size": 5, "num_neurons": 3}
CASES = (
    Case("plain", make(), (near(0.5, 0), initial, two_zero, silent)),
    Case(
        "three classes",
        make(
            task="multiclass",
            num_classes=3,
            num_relevant_patterns=4,
            num_patterns=6,
            dimension=6,
            query_dim=6,
            value_dim=8,
            num_heads=2,
            output="per_token",
            num_queries=2,
            label_noise=0.4,
            coherence=0.3,
            overlap=0.4,
        ),
        (near(0.4, 1), silent),
    ),
    Case(
        "layers",
        make(
            num_layers=2,
            num_heads=2,
            counts="random",
            occurrence="together",
            noise_law="unit",
            truncation_rank=1,
            num_relevant=4,
            num_confusion=2,
        ),
        (near(0.4, 2),),
    ),
    Case(
        "small values",
        make(
            value_dim=3,
            query_dim=3,
            output="per_token",
            noise_law="bounded",
            value_ratio=1.5,
            num_irrelevant_each=0,
            num_confusion=0,
        ),
        (near(0.5, 3),),
    ),
    Case(
        "given",
        make(given=rotated(4, 5), coherence=0.3, overlap=0.2, num_neurons=10),
        (uneven(1e-3), uneven(1e3)),
    ),
    Case("padded", make(coherence=0.2, overlap=0.3), (near(0.4, 4),), padded=True),
    Case(
        "padded, three classes",
        make(
            task="multiclass",
            num_classes=3,
            num_relevant_patterns=3,
            num_patterns=5,
            counts="random",
            labels="random",
        ),
        (near(0.4, 5),),
        padded=True,
    ),
    Case(
        "many",
        make(
            **MANY | {"task": "multiclass", "num_classes": 3, "label_noise": 0.3},
            num_relevant_patterns=4,
            num_patterns=5,
            num_relevant=3,
        ),
    ),
    Case(
        "many random",
        make(
            **MANY,
            counts="random",
            labels="random",
            num_relevant=3,
            num_confusion=2,
            num_irrelevant_each=2,
            noise_law="bounded",
            num_heads=2,
        ),
    ),
    Case(
        "many together",
        make(
            **MANY,
            occurrence="together",
            num_relevant=4,
            num_relevant_patterns=4,
            num_patterns=5,
            noise_law="unit",
            output="per_token",
        ),
    ),
)


def widen(params: Any, config: Any) -> Params:
    """Zeros beyond the sizes."""
    H, n, d = config.num_heads, config.num_layers, config.dimension.cap
    q, a, m = -(-config.query_dim.cap // H), config.value_dim.cap, config.num_neurons.cap
    shapes = ((n, H, q, d), (n, H, q, d), (n, H, a, d), (m, a))
    pad = lambda x, shape: np.pad(x, [(0, c - s) for c, s in zip(shape, x.shape, strict=True)])
    return Params(*(pad(W, shape) for W, shape in zip(params, shapes, strict=True)))


# The layer


def start(problem: Any, config: Any) -> tuple[np.ndarray, ...]:
    """W(0): delta times m_b/H rows of the basis for each head, rv delta I / H, xi times normal
    draws.
    """
    H, d, a = config.num_heads, config.dimension.n, config.value_dim.n
    q, delta = config.query_dim.n // H, float(config.init_diagonal)
    QK = np.zeros((H, q, d))
    for h in range(H):
        for i in range(q):
            if h * q + i < d:
                QK[h, i] = delta * problem.basis[h * q + i]
    V = np.zeros((H, a, d))
    for i in range(min(a, d)):
        V[:, i, i] = float(config.value_ratio) * delta / H
    layers = lambda W: np.repeat(W[None], config.num_layers, axis=0)
    return layers(QK), layers(QK), layers(V), float(config.output_scale) * problem.normal


def twin(problem: Any, config: Any) -> lr.Model:
    A = problem.signs / math.sqrt(config.num_neurons.n)
    queries = int(config.num_queries) or problem.train.tokens.shape[1]
    return lr.Model(A, queries, config.task == "multiclass")


def samples(batch: Any) -> list[lr.Sample]:
    return [(X, int(y)) for X, y in zip(batch.tokens, batch.label, strict=True)]


def measured(params: Any, problem: Any, config: Any) -> tuple[float, float, float, float]:
    """Loss, error, and attention on relevant tokens of all queries and of the relevant ones."""
    model, test = twin(problem, config), samples(problem.test)
    attention, own = [], []
    R, C = config.num_relevant_patterns.n, config.num_classes.n
    for (X, y), pattern in zip(test, problem.test.pattern, strict=True):
        mark = (pattern < R) & (pattern % C == y)
        Z, heads = lr.layers(params, X)[-2], range(config.num_heads)
        attend = lambda h, l, Z=Z: lr.attend(params[0][-1, h], params[1][-1, h], Z, l)
        on = [np.mean([attend(h, l)[mark].sum() for h in heads]) for l in range(len(X))]
        attention.append(np.mean(on))
        own.append(np.mean(np.array(on)[mark]) if mark.any() else 0.0)
    loss, error = lr.loss(params, test, model), lr.error(params, test, model)
    return loss, error, float(np.mean(attention)), float(np.mean(own))


def loss_without(params: Any, problem: Any, config: Any) -> float:
    return lr.loss(params, samples(problem.test), twin(problem, config))


def separate(group: np.ndarray) -> list[np.ndarray]:
    """The single matrices of a group, layer by layer and head by head."""
    return [group] if group.ndim == 2 else [W for layer in group for W in layer]


def norms(W: np.ndarray) -> np.ndarray:
    return np.array([math.sqrt((row**2).sum()) for row in W])


def class_means(problem: Any, config: Any) -> np.ndarray:
    """(C, d) the mean token of each class in exact counts."""
    U, R, C = problem.patterns, config.num_relevant_patterns.n, config.num_classes.n
    average = [np.mean([U[r] for r in range(R) if r % C == c], axis=0) for c in range(C)]
    nrel, nconf, per = (
        size.n for size in (config.num_relevant, config.num_confusion, config.num_irrelevant_each)
    )
    L = nrel + nconf + per * (len(U) - R)
    means = []
    for c in range(C):
        rival = np.mean([average[k] for k in range(C) if k != c], axis=0)
        means.append((nrel * average[c] + nconf * rival + per * U[R:].sum(axis=0)) / L)
    return np.array(means)


def carried(U: np.ndarray, n: int) -> np.ndarray:
    """Rows cut off or filled with zeros."""
    return np.array([[row[i] if i < len(row) else 0.0 for i in range(n)] for row in U])


# Entries


def metrics(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    loss, error, attention, own = measured(params, problem, config)
    first, m = start(problem, config), config.num_neurons.n
    change = [W - V for W, V in zip(params, first, strict=True)]
    single = [W for group in change for W in separate(group)]
    most = max(min(W.shape) for W in single)
    spectra = [np.linalg.svd(W, compute_uv=False) for W in single]
    total = params.value[-1].sum(axis=0)
    active = [
        [o @ total @ mean > 0 for mean in class_means(problem, config)] for o in params.output
    ]
    place, ratio = largest_gap(norms(params.output))
    moved = norms(change[3])
    top = sorted(moved)[math.ceil(0.95 * m - 1e-9) - 1]
    return {
        "loss": loss,
        "error": error,
        "relevant_attention": attention,
        "relevant_query_attention": own,
        "singular_values": np.array([[*s, *[0.0] * (most - len(s))] for s in spectra]),
        "gap_rank": np.array([float(gap_rank(s)) for s in spectra]),
        "balance_drift": np.array(drift(params, first)),
        "dead_neurons": np.mean([not any(row) for row in active]),
        "small_fraction": place,
        "small_ratio": ratio,
        "small_changes": np.mean([n < 0.33 * top for n in moved]),
    }


def gap_rank(s: np.ndarray) -> int:
    """The r below the number of values with the largest s_r / max(s_(r+1), 0.03 s_1)."""
    if s[0] == 0:
        return 0
    ratios = [s[r - 1] / max(s[r], 0.03 * s[0]) for r in range(1, len(s))]
    return 1 + ratios.index(max(ratios)) if ratios else 1


def largest_gap(size: np.ndarray) -> tuple[float, float]:
    """Place and ratio of the largest ratio of consecutive sorted norms between 10 and 90 %."""
    s, m = sorted(size), len(size)
    gaps = [
        (s[r] / s[r - 1] if s[r - 1] > 0 else 1.0, r)
        for r in range(1, m)
        if 10 * r >= m and 10 * r <= 9 * m
    ]
    if not gaps:
        return 0.0, 0.0
    ratio, place = max(gaps, key=lambda pair: (pair[0], -pair[1]))
    return place / m, ratio


def drift(params: Any, first: Any) -> list[float]:
    """|change of the difference of two Gram matrices| over the sum of both |changes|."""
    size = lambda blocks: math.sqrt(sum((b**2).sum() for b in blocks))
    grams = []
    for Q, K, V, O in (params, first):
        heads = [separate(Q), separate(K)]
        grams.append(([W @ W.T for W in heads[0]], [W @ W.T for W in heads[1]]))
        grams[-1] += ([sum(W @ W.T for W in V[-1])], [O.T @ O])
    drifts = []
    for i in (0, 2):
        change, counterpart = (
            [a - b for a, b in zip(grams[0][j], grams[1][j], strict=True)] for j in (i, i + 1)
        )
        total = size(change) + size(counterpart)
        differences = [a - b for a, b in zip(change, counterpart, strict=True)]
        drifts.append(size(differences) / total if total > 0 else 0.0)
    return drifts


def analyses(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    first, means = start(problem, config), class_means(problem, config)
    O, a = params.output, config.value_dim.n
    moved, total = O - first[3], problem.signs.sum(axis=2)
    images, U = carried(problem.patterns, a), problem.patterns
    binary = config.task == "binary"
    own = (
        [0 if t > 0 else 1 for t in total[0]]
        if binary
        else [list(t).index(max(t)) for t in total.T]
    )
    V0 = first[2][-1].sum(axis=0)
    return {
        "neuron_norms": norms(O),
        "neuron_changes": norms(moved),
        "neuron_class": np.array(own, float),
        "neuron_start": np.array([[o @ V0 @ mean for o in first[3]] for mean in means]),
        "projections": projections(params, first, U, images, config),
        "neuron_projections": np.array([[o @ mu for mu in images] for o in O]),
        "neuron_change_projections": np.array([[o @ mu for mu in images] for o in moved]),
        "pruned_loss": pruned(params, first, problem, config),
        "head_pruned_loss": without_heads(params, problem, config),
        "value_pruned_loss": without_values(params, problem, config),
        **truncation(params, first, problem, config),
    }


def projections(
    params: Any, first: Any, U: np.ndarray, left_patterns: np.ndarray, config: Any
) -> Any:
    """mu_i^T Delta W mu_j of the last layer, the left one as W(0) carries it, summed over heads."""
    forms = np.zeros((3, len(U), len(U)))
    for h in range(config.num_heads):
        for which in (0, 1):
            change = params[which][-1, h] - first[which][-1, h]
            through = U @ (first[0][-1, h] / float(config.init_diagonal)).T
            forms[which] += through @ change @ U.T
        forms[2] += left_patterns @ (params[2][-1, h] - first[2][-1, h]) @ U.T
    return forms


def ranked(score: np.ndarray) -> list[int]:
    """Places by score, ties in their own order."""
    return sorted(range(len(score)), key=lambda i: (round(float(score[i]), 12), i))


def at_rates(params: Any, order: list[int], problem: Any, config: Any) -> list[float]:
    """The loss without the first round(rate m) neurons of an order, at rates 0, 1/200, .., 1."""
    m = len(order)
    by_count = [
        loss_without(lr.pruned(tuple(params), np.array(order), n), problem, config)
        for n in range(m + 1)
    ]
    return [by_count[lr.rounded_up_half(j / 200, m)] for j in range(201)]


def pruned(params: Any, first: Any, problem: Any, config: Any) -> np.ndarray:
    """(rate, order) for |o|, -|o|, a drawn number, |o - o(0)| and mean |f_i|."""
    size, model = norms(params.output), twin(problem, config)
    saliency = np.zeros(len(size))
    for X, _ in samples(problem.train):
        h = np.maximum(lr.layers(params, X)[-1] @ params.output.T, 0)
        for k in range(len(model.A)):
            f = sum(model.weights(k, l) * h[l] for l in range(model.queries)) / model.queries
            saliency += abs(f) / len(problem.train.label)
    scores = (size, -size, problem.shuffle, norms(params.output - first[3]), saliency)
    return np.array([at_rates(params, ranked(s), problem, config) for s in scores]).T


def without_heads(params: Any, problem: Any, config: Any) -> np.ndarray:
    """Without 0..H heads of smallest |W_V^h| over all layers."""
    H = config.num_heads
    order = ranked(np.array([(params.value[:, h] ** 2).sum() for h in range(H)]))
    losses = []
    for n in range(H + 1):
        V = params.value.copy()
        V[:, order[:n]] = 0
        losses.append(loss_without((params.query, params.key, V, params.output), problem, config))
    return np.array(losses)


def without_values(params: Any, problem: Any, config: Any) -> np.ndarray:
    """Without 0, 0.1, .., 1 of the columns of W_O of smallest |column| |row of W_V|."""
    a = config.value_dim.n
    rows = np.array([(params.value[-1, :, i] ** 2).sum() for i in range(a)])
    order = ranked((params.output**2).sum(axis=0) * rows)
    losses = []
    for j in range(11):
        O = params.output.copy()
        O[:, order[: lr.rounded_up_half(j / 10, a)]] = 0
        losses.append(loss_without((*params[:3], O), problem, config))
    return np.array(losses)


def truncation(params: Any, first: Any, problem: Any, config: Any) -> dict[str, Any]:
    most = max(min(W.shape) for group in params for W in separate(group))
    rows = [
        measured(lr.truncated(first, tuple(params), r), problem, config) for r in range(1, most + 1)
    ]
    loss, error, attention, own = (np.array(column) for column in zip(*rows, strict=True))
    one = lr.truncated(first, tuple(params), 1)
    single_losses = [
        loss_without((*params[:i], one[i], *params[i + 1 :]), problem, config) for i in range(4)
    ]
    cut = lr.truncated(first, tuple(params), int(config.truncation_rank))
    return {
        "truncated_loss": loss,
        "truncated_error": error,
        "truncated_attention": attention,
        "truncated_query_attention": own,
        "alone_truncated_loss": np.array(single_losses),
        "pruned_truncated_loss": np.array(at_rates(cut, ranked(norms(cut[3])), problem, config)),
    }


def predict(problem: Any, config: Any, steps: np.ndarray) -> dict[str, Any]:
    R, C, head_count = (
        config.num_relevant_patterns.n,
        config.num_classes.n,
        config.num_heads * config.num_layers,
    )
    nrel, nconf = config.num_relevant.n, config.num_confusion.n
    L = nrel + nconf + config.num_irrelevant_each.n * (config.num_patterns.n - R)
    share = nrel / L
    if config.counts == "random":
        n = nrel + nconf
        law = stats.binom(n, nrel / n)
        share = sum(law.pmf(b) * max(b, n - b) for b in range(n + 1)) / L
    independent = R if config.occurrence == "independent" else C
    ranks = np.array([*[independent] * (2 * head_count), *[C] * (head_count + 1)], float)
    means = carried(class_means(problem, config), config.value_dim.n)
    width = float(config.noise) * math.sqrt(config.dimension.n / L)
    small = stats.norm.cdf(-KAPPA * width / np.mean(norms(means)))
    full = lambda value: np.array([value] * len(steps))
    curves = {
        "relevant_attention:uniform": full(share),
        "gap_rank:law": full(ranks),
        "small_fraction:own_mean": full(small),
    }
    if config.task != "binary":
        return curves
    cosine = means[0] @ means[1] / (norms(means)[0] * norms(means)[1])
    angle = 0.5 - math.acos(cosine) / (2 * math.pi)
    return curves | {
        "dead_neurons:angle": np.array([angle if t == 0 else math.nan for t in steps]),
        "small_fraction:angle": full(angle),
    }
