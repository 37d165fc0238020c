"""Metrics, levels and data of causal_graph in plain NumPy, from their docstrings.

The layers act on one-hot tokens, ancestors are found by walking up, and joint laws of two tokens
are written with powers of pi from the last common ancestor.
"""

import math
from typing import Any

import jax
import numpy as np

from jaxtheory.theories import causal_graph
from jaxtheory.theories.causal_graph import data
from jaxtheory.theories.causal_graph.model import Config, Params
from tests.reference.agree import agree, average
from tests.reference.entries import Case

SEED = 5  # of the cases
FILLED = True  # with zeros and NaN beyond the sizes


def shape(config: Any) -> tuple[int, int, int]:
    return tuple(size.n for size in (config.num_states, config.length, config.num_prompts))


def weights(scale: float, seed: int = 0, diagonal: float = 0.0) -> Any:
    """Random scores in both layers, and a multiple of the identity in the second."""

    def make(problem: Any, config: Any) -> Params:
        (S, T, _), rng = shape(config), np.random.default_rng(seed)
        A2 = scale * rng.normal(size=(S, S)) + diagonal * np.eye(S)
        return Params(scale * rng.normal(size=(T, T)), A2)

    return make


def sparse_problem(_config: Any) -> Any:
    """Prompts whose transitions have zeros, which drawn ones do not."""
    one = [[0, 1, 0], [0.5, 0, 0.5], [0.3, 0.7, 0]]
    pi = np.array([one, [[0.2, 0.8, 0], [0, 0, 1], [1, 0, 0]]])
    s = np.array([[1, 0, 1, 2, 1, 0], [0, 1, 2, 0, 0, 2]])
    return causal_graph.THEORY.given(s, pi, test=(s[::-1], pi[::-1]))[0]


CASES = (
    Case(
        "padded",
        Config(num_states=3, length=5, num_prompts=4, graph="tree", query="graph"),
        (weights(0.8, 10), weights(0.3, 11, 1.0)),
        padded=True,
    ),
    Case(
        "chain",
        Config(num_states=3, length=5, num_prompts=7),
        (weights(0.9, 1), weights(0.0, 2, 0.5), weights(0.0)),
    ),
    Case(
        "transitions with zeros",
        Config(num_states=3, length=6, num_prompts=2),
        (weights(0.8, 13), weights(0.2, 14, 1.0)),
        problem=sparse_problem,
    ),
    Case(
        "tree with a query of the graph",
        Config(
            num_states=2,
            length=6,
            num_prompts=5,
            graph="tree",
            query="graph",
            first="uniform",
            concentration=1.3,
            epsilon=0.05,
        ),
        (weights(1.2, 3), weights(0.2, 4, -0.7)),
    ),
    Case(
        "tree of three states",
        Config(num_states=3, length=7, num_prompts=4, graph="tree", concentration=0.2),
        (weights(0.7, 5),),
    ),
    Case(
        "pairs, fresh prompts",
        Config(num_states=4, length=7, num_prompts=6, graph="pairs", prompts="fresh"),
        (weights(0.8, 6), weights(0.1, 7, 2.0)),
    ),
    Case("two tokens", Config(num_states=2, length=2, num_prompts=3), (weights(1.0, 8),)),
    Case(
        "two tokens, a query of the graph",
        Config(num_states=2, length=2, num_prompts=3, query="graph"),
        (weights(1.0, 9),),
    ),
    Case(
        "padded chain",
        Config(num_states=2, length=4, num_prompts=3, first="uniform"),
        (weights(0.8, 12),),
        padded=True,
    ),
    Case("many", Config(num_states=3, length=4, num_prompts=1500, concentration=0.3)),
)


def widen(params: Any, config: Any) -> Params:
    """Zeros beyond the sizes."""
    caps = config.length.cap, config.num_states.cap
    return Params(*(np.pad(x, (0, n - len(x))) for x, n in zip(params, caps, strict=True)))


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def first(params: Any) -> np.ndarray:
    """W, row by row."""
    W = np.zeros_like(params.A1)
    for i, row in enumerate(params.A1):
        W[i, : i + 1] = softmax(row[: i + 1])
    return W


def layers(params: Any, batch: Any) -> tuple[np.ndarray, ...]:
    """One-hot tokens, A2 at them and at the query, the second attention and f."""
    S = batch.target.shape[1]
    X = np.eye(S)[batch.s]
    b = np.einsum("pjs,sk,pk->pj", X, params.A2, X[:, -1])
    a = softmax(np.einsum("ij,pj->pi", first(params), b))
    return X, b, a, np.einsum("pi,pis->ps", a, X)


def loss(f: np.ndarray, batch: Any, config: Any) -> float:
    return float(-(batch.target * np.log(f + float(config.epsilon))).sum(axis=1).mean())


def descent(params: Any, batch: Any, config: Any) -> np.ndarray:
    """-dL/dA1, prompt by prompt through the Jacobians of the softmaxes."""
    W, (X, b, a, f) = first(params), layers(params, batch)
    total = np.zeros_like(W)
    for x, bp, ap, fp, target in zip(X, b, a, f, batch.target, strict=True):
        slope = x @ (target / (fp + float(config.epsilon)))  # of -L in a
        dz = (np.diag(ap) - np.outer(ap, ap)) @ slope
        for i, row in enumerate(W):
            total[i] += dz[i] * (np.diag(row) - np.outer(row, row)) @ bp
    return total / len(X)


def correlation(x: np.ndarray, y: np.ndarray, rows: list[int]) -> float:
    """Over j < i, each row without its mean."""
    xs = [v - x[i, :i].mean() for i in rows for v in x[i, :i]]
    ys = [v - y[i, :i].mean() for i in rows for v in y[i, :i]]
    norm = math.sqrt(math.fsum(v * v for v in xs)) * math.sqrt(math.fsum(v * v for v in ys))
    return math.fsum(a * b for a, b in zip(xs, ys, strict=True)) / norm if norm else 0.0


def by_lag(x: np.ndarray) -> np.ndarray:
    return np.array([np.diagonal(x, -d).mean() for d in range(len(x))])


def centered(x: np.ndarray) -> np.ndarray:
    """Rows without their means over j <= i."""
    out = np.zeros_like(x)
    for i, row in enumerate(x):
        out[i, : i + 1] = row[: i + 1] - row[: i + 1].mean()
    return out


def metrics(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    W, slope, (S, T, _) = first(params), descent(params, problem.train, config), shape(config)
    p = [int(x) for x in problem.parents]
    rows = [i for i in range(T) if p[i]]
    mean = lambda values: sum(values) / len(rows) if rows else math.nan
    top = lambda x, i: float(np.argmax(x[i, : i + 1]) == p[i] - 1)
    at_parent = [W[i, p[i] - 1] for i in rows]
    scaled = slope * np.arange(1, T + 1)[:, None]
    off = [params.A2[k, m] for k in range(S) for m in range(S) if k != m]
    test = loss(layers(params, problem.test)[3], problem.test, config)
    return {
        "loss": loss(layers(params, problem.train)[3], problem.train, config),
        "test_loss": test,
        "excess": test - levels(problem, config)["test_loss:bayes"],
        "parent_attention": mean(at_parent),
        "stray_attention": mean([1 - x for x in at_parent]),
        "parent_selected": mean([top(W, i) for i in rows]),
        "gradient_selected": mean([top(slope, i) for i in rows]),
        "gradient_information": correlation(scaled, problem.information, rows),
        "gradient_overlap": correlation(scaled, problem.overlap, rows),
        "strength": np.diag(params.A2).mean() - np.mean(off),
        "lags": by_lag(W),
        "slopes": by_lag(scaled),
        "information_lags": by_lag(centered(problem.information)),
        "overlap_lags": by_lag(centered(problem.overlap)),
    }


def levels(problem: Any, config: Any) -> dict[str, float]:
    """Predictors that count, prompt by prompt."""
    (S, T, _), test = shape(config), problem.test
    alpha, eps = float(config.concentration), float(config.epsilon)
    shares, children, posterior = [], [], []
    for s in test.s:
        share = np.array([(s == k).mean() for k in range(S)])
        n = np.zeros(S)
        for i in range(T):
            if problem.parents[i] and s[problem.parents[i] - 1] == s[-1]:
                n[s[i]] += 1
        shares.append(share)
        children.append(n / n.sum() if n.sum() else share)
        posterior.append((n + alpha) / (n.sum() + S * alpha))
    some = test.target > 0  # 0 log 0 = 0

    def by_law(q: np.ndarray) -> float:
        logs = np.log(np.where(some, q, 1))
        return float(-(test.target * logs).sum(axis=1).mean()) - math.log1p(S * eps)

    return {
        "test_loss:uniform": loss(np.full_like(test.target, 1 / S), test, config),
        "test_loss:unigram": loss(np.array(shares), test, config),
        "test_loss:bigram": loss(np.array(children), test, config),
        "test_loss:bayes": by_law(np.array(posterior)),
        "test_loss:entropy": by_law(test.target),
    }


def predict(problem: Any, config: Any, steps: np.ndarray) -> dict[str, Any]:
    return {name: np.full(len(steps), x) for name, x in levels(problem, config).items()}


def stationary(pi: np.ndarray) -> np.ndarray:
    """mu (1 - pi) = 0 plus sum mu = 1, for one matrix or several."""
    S = pi.shape[-1]
    A = np.eye(S) - np.swapaxes(pi, -1, -2) + 1
    return np.linalg.solve(A, np.ones((*pi.shape[:-1], 1)))[..., 0]


def ancestors(i: int, p: list[int]) -> list[int]:
    """Token i, its parent, and so on."""
    chain = [i]
    while p[chain[-1]]:
        chain.append(p[chain[-1]] - 1)
    return chain


def pair_statistics(pi: np.ndarray, p: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The information and the overlap of one matrix."""
    mu, T = stationary(pi), len(p)
    power = lambda n: np.linalg.matrix_power(pi, n)
    I, G = np.zeros((T, T)), np.zeros((T, T))
    for i in range(T):
        chain_i = ancestors(i, p)
        for j in range(i + 1):
            chain_j = ancestors(j, p)
            common = [x for x in chain_i if x in chain_j]
            if not common:
                continue
            k, m = chain_j.index(common[0]), chain_i.index(common[0])
            P = power(k).T @ np.diag(mu) @ power(m)
            I[i, j] = (P**2 / np.outer(mu, mu)).sum() - 1
            G[i, j] = (P * pi / mu).sum() - 1
    return I, G


def law(problem: Any, batch: Any, config: Any) -> None:
    """Parents, prompts and transitions follow their laws, and the information is that of the
    training prompts.
    """
    S, T, P = shape(config)
    graph_of(problem, config)
    p, train, test = jax.tree.map(np.asarray, data.raw(jax.random.key(SEED), config))
    agree(p, problem.parents, 0)
    for drawn, part in ((train, problem.train), (test, problem.test)):
        agree(drawn.s, part.s, 0)
        agree(part.target, [pi[s[-1]] for pi, s in zip(drawn.pi, drawn.s, strict=True)], 1e-15)
    for part in (problem.train, problem.test, batch):
        assert part.s.min() >= 0 and part.s.max() < S
        agree(part.query, part.s[:, -1], 0)
        agree(part.weight, np.full(len(part.s), 1 / len(part.s)), 1e-14)
    assert batch.s.shape == (P, T) and test.pi.shape == (2000, S, S)
    same = all(np.array_equal(a, b) for a, b in zip(batch, problem.train, strict=True))
    assert same == (config.prompts == "fixed")
    if P <= 40:
        pairs = [pair_statistics(pi, [int(x) for x in p]) for pi in train.pi]
        agree(problem.information, np.mean([I for I, _ in pairs], axis=0), 1e-8)
        agree(problem.overlap, np.mean([G for _, G in pairs], axis=0), 1e-8)
    rows_follow_dirichlet(test.pi, config)
    follows(test, p, config)


def graph_of(problem: Any, config: Any) -> None:
    T = config.length.n
    p = [int(x) for x in problem.parents]
    if config.query == "uniform":
        assert p[-1] == 0
    for i in range(T - (config.query == "uniform")):
        if config.graph == "chain":
            assert p[i] == i
        elif config.graph == "pairs":
            assert p[i] == (i if (i + 1) % 2 == 0 else 0)
        else:
            assert p[i] == 0 if i == 0 else 1 <= p[i] <= i
    if config.graph == "tree":
        trees_are_uniform(config)


def trees_are_uniform(config: Any) -> None:
    """Each parent is one of the tokens before with equal shares, over 2000 graphs."""
    keys = jax.random.split(jax.random.key(SEED), 2000)
    graphs = np.asarray(jax.vmap(lambda key: data.parents(key, config))(keys))
    for i in range(1, config.length.n - (config.query == "uniform")):
        average(graphs[:, i, None] == 1 + np.arange(i), 1 / i)


def rows_follow_dirichlet(pi: np.ndarray, config: Any) -> None:
    """Means and second moments of rows, and rows independent of each other; entries have a floor
    of about 1e-6.
    """
    S, alpha = config.num_states.n, float(config.concentration)
    agree(pi.sum(axis=2), np.ones(pi.shape[:2]), 1e-12)
    assert pi.min() >= 0.99e-6
    average(pi, 1 / S)
    second = (alpha * np.ones((S, S)) + np.eye(S)) / (S * (S * alpha + 1))
    average(pi[:, 0, :, None] * pi[:, 0, None, :], second)
    average(pi[:, 0, :, None] * pi[:, 1, None, :], 1 / S**2)


def follows(test: Any, p: np.ndarray, config: Any) -> None:
    """Each state minus its law, given its parent's, has mean zero, and so has a product of two."""
    S, T, _ = shape(config)
    residuals, rows, mu = [], np.arange(len(test.s)), stationary(test.pi)
    for i in range(T):
        expected = np.full((len(rows), S), 1 / S)
        if p[i]:
            expected = test.pi[rows, test.s[:, p[i] - 1]]
        elif config.first == "stationary" and not (i == T - 1 and config.query == "uniform"):
            expected = mu
        residuals.append(np.eye(S)[test.s[:, i]] - expected)
        average(residuals[-1], 0)
        average(residuals[-1] * test.pi[:, 0], 0)
        if i:
            average(residuals[-1][:, :, None] * residuals[-2][:, None, :], 0)
