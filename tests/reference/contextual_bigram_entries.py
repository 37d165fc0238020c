"""Metrics, analyses, curves and data of contextual_bigram in plain NumPy, from their docstrings.

Expectations are sums over every sample (`contextual_bigram_numpy`); the curve `prox` is the run of
the matrices themselves; laws of the task are compared with draws by NumPy's own generators.
"""

import math
import sys
from collections import Counter
from typing import Any

import jax
import numpy as np

from jaxtheory.theories.contextual_bigram.model import Config, Params
from tests.reference import contextual_bigram_numpy as cb
from tests.reference import contextual_bigram_training_numpy as tr
from tests.reference import entries
from tests.reference.agree import agree, average
from tests.reference.entries import Case

TOLERANCES = {"support_match:one_step": 1e-8}


def task(problem: Any) -> cb.Task:
    return cb.Task(*(np.asarray(x) for x in problem[:3]))


def near(scale: float, seed: int, sums: bool = False) -> Any:
    """Q and P with noise of a scale; with `sums`, columns that sum to 1."""

    def make(problem: Any, config: Any) -> Params:
        rng, one = np.random.default_rng(seed), task(problem)
        A, V = (M + scale * rng.normal(size=M.shape) for M in (one.Q, one.P))
        return Params(tr.affine(A), tr.affine(V)) if sums else Params(A, V)

    return make


def start(problem: Any, config: Any) -> Params:
    return Params(*task(problem).start)


def special(problem: Any, config: Any) -> Params:
    """Columns at the edges of the rules: the least and the largest entry twice, an entry at theta
    times the largest and one below it, one at -lambda, no positive entry.
    """
    one = task(problem)
    A = np.where(one.Q > 0, 1.0, 0.5)
    places = np.argsort(one.Q[:, 0] > 0, kind="stable")
    A[places[:3], 0] = [-config.l1, 0.2, float(config.threshold)]
    A[:, 1] = -np.where(one.Q[:, 1] > 0, 1.0, 2.0)
    return Params(A, -one.P)


def wrong_sign(problem: Any, config: Any) -> Params:
    """Beyond the start on the other side of both lines."""
    one = task(problem)
    return Params(2 * one.uniform - one.Q, 2 * one.trivial - one.P)


def make(N: int, T: int, Q: int, B: int, **fields: Any) -> Config:
    return Config(num_states=N, length=T, sparsity=Q, batch_size=B, **fields)


GIVEN = ((0.1, 0.6, 0.0), (0.9, 0.0, 0.5), (0.0, 0.4, 0.5))
RATES = {"learning_rate": 0.3, "late_learning_rate": 0.2}
CASES = (
    Case(
        "uniform",
        make(
            3,
            5,
            2,
            7,
            stage_threshold=0.7,
            threshold=0.25,
            l1=0.02,
            switch_step=3,
            correlation=0.8,
            **RATES,
        ),
        (near(0.1, 0), near(0.05, 1, True), start, special, near(0.0, 0), wrong_sign),
    ),
    Case(
        "unequal",
        make(3, 4, 3, 5, weights="unequal", l1=0.0, switch_step=2, **RATES),
        (near(0.3, 2),),
    ),
    Case(
        "one position",
        make(2, 4, 1, 1, stationary_floor=0.2, l1=0.01, switch_step=1, **RATES),
        (near(0.2, 3), special),
    ),
    Case(
        "given",
        make(3, 4, 2, 3, given=GIVEN, l1=0.03, switch_step=9, **RATES | {"learning_rate": 0.8}),
        (near(0.2, 4),),
    ),
    Case(
        "padded",
        make(3, 4, 2, 5, threshold=0.25, l1=0.03, switch_step=4, correlation=0.6, **RATES),
        (near(0.1, 5), special),
        padded=True,
    ),
    Case("wide", make(10, 3, 2, 20001, stationary_floor=0.01, correlation=0.5)),
    Case("many", make(3, 3, 2, 20001, correlation=0.5)),
    Case("many unequal", make(2, 4, 3, 20001, weights="unequal", concentration=0.6)),
)


def widen(params: Any, config: Any) -> Params:
    """Zeros beyond the sizes."""
    N, T = config.num_states.cap, config.length.cap
    pad = lambda x, *caps: np.pad(x, [(0, c - n) for c, n in zip(caps, x.shape, strict=True)])
    return Params(pad(params.attention, T, N), pad(params.value, N, N))


def metrics(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    return cb.metrics(tuple(params), task(problem), float(config.l1))


def analyses(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    one, theta = task(problem), float(config.threshold)
    measures = cb.analyses(tuple(params), one, theta)
    A, _ = cb.rounded(np.asarray(params.attention), theta)
    some = (np.asarray(params.attention) > 0).any(axis=0)  # an empty column recovers nothing
    right = [some[k] and np.array_equal(A[:, k] > 0, one.Q[:, k] > 0) for k in range(one.N)]
    return measures | {"support_recovery": np.mean(right)}


def shrunk(one: cb.Task, config: Any, length: int) -> list[tuple[float, float]]:
    """Both alphas of the matrices, on expected gradients: between the stages A is thresholded, in
    the second each step is shrunk by lambda.
    """
    (KP, KQ), lam, switch = cb.scales(one), float(config.l1), int(config.switch_step)
    (A, V), path = one.start, []
    for t in range(length):
        path.append(cb.alphas((A, V), one))
        eta = float(config.learning_rate if t < switch else config.late_learning_rate)
        if t == switch and lam > 0:
            A = tr.sparsify(A, float(config.stage_threshold))
        g = cb.preconditioned((A, V), one)
        A, V = A - eta / KP * g[0], V - eta / KQ * g[1]
        if t >= switch and lam > 0:
            A = tr.two_case(A, lam)
        A = tr.affine(A)
    return path


def predict(problem: Any, config: Any, steps: np.ndarray) -> dict[str, Any]:
    one, length = task(problem), int(max(steps)) + 1
    switch = int(config.switch_step)
    rate = lambda t: float(config.learning_rate if t < switch else config.late_learning_rate)
    etas = [rate(t) for t in range(length)]
    path = tr.dynamics((0.0, 0.0), etas, one)
    early = [tr.early(sum(etas[:t]), one) for t in steps]
    early = [pair if pair[1] <= 1 else (math.nan, math.nan) for pair in early]
    prox = shrunk(one, config, length)
    losses = []
    for t in steps:
        a, v = path[t]
        A, V = one.uniform + a * (one.Q - one.uniform), one.trivial + v * (one.P - one.trivial)
        losses.append(cb.population_loss((A, V), one))
    sign = tr.Phi(tr.sign_law(one, config.batch_size.n, float(config.learning_rate)))
    weight, pretrained = float(config.pretrained_weight), np.asarray(problem.pretrained)
    V0 = weight * pretrained + (1 - weight) * one.trivial
    gain = weight * cb.inner(pretrained - one.trivial, one.P - one.trivial, one.mu)
    variance = tr.large_batch_noise((one.uniform, V0), one)[0] / gain**2
    sd = np.sqrt(variance / (config.batch_size.n * switch))
    share = float(config.stage_threshold)
    chance = [tr.recovered(q[q > 0], s, one.T, share) for q, s in zip(one.Q.T, sd, strict=True)]
    full = lambda value: np.full(len(steps), value)
    return {
        "attention_alignment:population": np.array([path[t][0] for t in steps]),
        "value_alignment:population": np.array([path[t][1] for t in steps]),
        "attention_alignment:prox": np.array([prox[t][0] for t in steps]),
        "value_alignment:prox": np.array([prox[t][1] for t in steps]),
        "attention_alignment:early": np.array([pair[0] for pair in early]),
        "value_alignment:early": np.array([pair[1] for pair in early]),
        "loss:bayes": full(cb.bayes_loss(one)),
        "loss:population": np.array(losses),
        "right_sign:sign_law": full(sign),
        "off_support_std:one_step": full(math.sqrt(np.mean(sd**2))),
        "support_match:one_step": full(np.mean(chance)),
    }


# Draws


def law(problem: Any, batch: Any, config: Any) -> None:
    N, T, Q, B = (
        size.n for size in (config.num_states, config.length, config.sparsity, config.batch_size)
    )
    P, mu, q, pretrained = (np.asarray(x) for x in problem)
    assert P.shape == pretrained.shape == (N, N) and q.shape == (T, N)
    assert P.min() >= 0 and pretrained.min() >= 0 and mu.min() > 0
    agree(P.sum(axis=0), np.ones(N), 1e-14)
    agree(mu, cb.stationary(P), 1e-12)
    agree(q.sum(axis=0), np.ones(N), 1e-14)
    assert np.all((q > 0).sum(axis=0) == Q)
    if config.weights == "uniform":
        agree(q[q > 0], np.full(N * Q, 1 / Q), 1e-14)
    if config.given is not None:
        agree(P, config.given, 0)
    gap, moved = P - np.outer(mu, np.ones(N)), pretrained - np.outer(mu, np.ones(N))
    agree(pretrained @ mu, mu, 1e-13)
    agree(pretrained.sum(axis=0), np.ones(N), 1e-13)
    agree(cb.cosine(moved, gap, mu), float(config.correlation), 1e-12)
    sizes = cb.norm(moved, mu), cb.norm(gap, mu)
    assert abs(sizes[0] - sizes[1]) < 1e-12 or (sizes[0] < sizes[1] and pretrained.min() < 1e-12)
    assert batch.tokens.shape == (B, T) and batch.query.shape == batch.label.shape == (B,)
    assert batch.tokens.max() < N and batch.query.max() < N and batch.label.max() < N
    if B > 1000:
        samples(batch, task(problem), N)
        if N < 10:
            tasks(config)
            generated(problem, config)


def samples(batch: Any, one: cb.Task, N: int) -> None:
    """Frequencies of all samples, or where they are many, of tokens and labels."""
    x, k, y = batch
    if N < 10:
        chances: Counter = Counter()
        for weight, (tokens, query, label), _ in cb.law(one):
            chances[(*tokens, query, label)] += weight
        rows = np.column_stack([x, k, y])
        assert {tuple(map(int, row)) for row in rows} <= set(chances)
        for sample, chance in chances.items():
            frequency(np.all(rows == sample, axis=1), chance)
        return
    for tokens in (*x.T, k):
        frequency(tokens[:, None] == np.arange(N), one.mu)
    for tokens in x.T:
        frequency((tokens == 0) & (k == 1), one.mu[0] * one.mu[1])
    of_label = sum(one.Q[s][k][:, None] * one.P[:, x[:, s]].T for s in range(one.T))
    average((y[:, None] == np.arange(N)) - of_label, 0)
    for n in range(N):
        average(((y[:, None] == np.arange(N)) - of_label) * (k == n)[:, None], 0)


def frequency(samples: np.ndarray, chance: Any) -> None:
    """Within 5 standard errors of the chance itself."""
    error = np.sqrt(np.asarray(chance) * (1 - np.asarray(chance)) / len(samples))
    assert np.all(abs(samples.mean(axis=0) - chance) <= 5 * error), (
        f"frequencies differ from {chance}"
    )


def tasks(config: Any) -> None:
    """P and Q of 200 keys against NumPy's draws of the same law: two means within 5 errors."""
    for floor in (float(config.stationary_floor), 0.99 / config.num_states.n):
        some = config.replace(stationary_floor=floor, batch_size=1)
        draw = lambda key, some=some: entries.slot("contextual_bigram", "problem")(key, some)[:3]
        P, mu, q = (np.asarray(x) for x in jax.vmap(draw)(jax.random.split(jax.random.key(2), 200)))
        drawn = [statistics(*one) for one in zip(P, mu, q, strict=True)]
        rng = np.random.default_rng(0)
        wanted = [statistics(*draw_task(rng, some)) for _ in range(800)]
        two(np.array(drawn), np.array(wanted))


def two(one: np.ndarray, other: np.ndarray) -> None:
    error = np.sqrt(one.var(axis=0) / len(one) + other.var(axis=0) / len(other))
    gap = abs(one.mean(axis=0) - other.mean(axis=0))
    assert np.all(gap <= 5 * error + 1e-12), f"statistics differ: {gap / (error + 1e-300)}"


def statistics(P: np.ndarray, mu: np.ndarray, q: np.ndarray) -> np.ndarray:
    gap = P - np.outer(mu, np.ones(len(mu)))
    values = [mu.min(), cb.norm(gap, mu) ** 2, *P.ravel(), *(P**2).ravel(), *(q > 0).ravel()]
    return np.array([*values, *q.ravel(), *(q**2).ravel()])


def draw_task(rng: np.random.Generator, config: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first of 16 with min mu >= mu0 and K_P >= |mu|^2 / 100, else of those with enough K_P the
    one of largest min mu; Q on random positions.
    """
    N, T, Q = config.num_states.n, config.length.n, config.sparsity.n
    alpha, best = np.full(N, float(config.concentration)), None
    for _ in range(16):
        P = rng.dirichlet(alpha, N).T
        mu = np.linalg.solve(np.eye(N) - P + 1, np.ones(N))
        if cb.norm(P - np.outer(mu, np.ones(N)), mu) ** 2 < (mu**2).sum() / 100:
            continue
        if best is None or mu.min() > best[1].min():
            best = P, mu
        if mu.min() >= config.stationary_floor:
            best = P, mu
            break
    assert best is not None
    q = np.zeros((T, N))
    for k in range(N):
        weights = np.ones(Q) if config.weights == "uniform" else rng.uniform(1, 2, Q)
        q[rng.permutation(T)[:Q], k] = weights / weights.sum()
    return *best, q


def generated(problem: Any, config: Any) -> None:
    """`data.sequences` against chains of NumPy, T + 2 tokens after their independent start: the
    joint law of each pair of tokens.
    """
    module = sys.modules["jaxtheory.theories.contextual_bigram.data"]
    x, k, y = (
        np.asarray(a)
        for a in module.sequences(
            jax.random.key(3), jax.tree.map(jax.numpy.asarray, problem), config
        )
    )
    got = np.column_stack([x, k, y]).astype(int)
    one, rng = task(problem), np.random.default_rng(1)
    chains = rng.choice(one.N, size=(60_000, one.T + 1), p=one.mu)
    for _ in range(one.T + 2):
        window, query = chains[:, -one.T - 1 : -1], chains[:, -1]
        s = pick(rng, one.Q.T[query])
        new = pick(rng, one.P.T[window[np.arange(len(window)), s]])
        chains = np.column_stack([chains, new])
    want = chains[:, -one.T - 2 :]
    for i in range(one.T + 2):
        for j in range(i):
            pairs = [row[:, i] * one.N + row[:, j] for row in (got, want)]
            two(*(codes[:, None] == np.arange(one.N**2) for codes in pairs))


def pick(rng: np.random.Generator, laws: np.ndarray) -> np.ndarray:
    """An index from each row's law."""
    return (rng.random((len(laws), 1)) > np.cumsum(laws, axis=1)[:, :-1]).sum(axis=1)
