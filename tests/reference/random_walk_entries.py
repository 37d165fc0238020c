"""Metrics, curves and data of random_walk in plain NumPy, from their docstrings.

The growth of a disturbance in `attention_spread: linear` is a central difference of two runs of the
layer as the source writes it, and the lags of `laws.selected_run` are powers of Pi.
"""

import math
from typing import Any

import numpy as np
from scipy import integrate, stats

from jaxtheory.theories.random_walk import QA1, QA2
from jaxtheory.theories.random_walk.model import Config, Literal, Reduced
from tests.reference import random_walk_numpy as rw
from tests.reference.agree import agree, average
from tests.reference.entries import Case

TOLERANCES = {"attention_spread:linear": 1e-6}


def shape(config: Any) -> tuple[int, int, int, int]:
    sizes = (config.num_states, config.length, config.encoding_dim, config.num_sequences)
    return tuple(size.n for size in sizes)  # K, N, M, B


def values(config: Any, rng: np.random.Generator, signed: bool) -> tuple[np.ndarray, Any]:
    """V and A, which are positive where the log loss must be finite."""
    K, m = config.num_states.n, config.hidden_width.n
    some = (lambda *n: rng.normal(size=n)) if signed else (lambda *n: rng.uniform(size=n))
    return (some(K, K), None) if config.value == "linear" else (some(m, K), some(K, m))


def reduced(scale: float, seed: int = 0, signed: bool = False) -> Any:
    """Random values, and scores of a scale."""

    def make(problem: Any, config: Any) -> Reduced:
        (K, N, *_), rng = shape(config), np.random.default_rng(seed)
        V, A = values(config, rng, signed)
        return Reduced(V, scale * rng.normal(size=K), scale * rng.normal(size=N), A)

    return make


def literal(scale: float, seed: int = 0) -> Any:
    def make(problem: Any, config: Any) -> Literal:
        (K, _, M, _), rng = shape(config), np.random.default_rng(seed)
        V, A = values(config, rng, False)
        return Literal(V, scale * rng.normal(size=(K + M, K + M)), A)

    return make


def special(V: Any, w: Any = None, u: Any = None) -> Any:
    """V of (K, config), flat scores unless they are given."""

    def make(problem: Any, config: Any) -> Reduced:
        K, N, *_ = shape(config)
        zero = np.zeros
        return Reduced(V(K), zero(K) if u is None else u(K), zero(N) if w is None else w(N))

    return make


def forward(K: int) -> np.ndarray:
    """Only steps ahead: the ratio of the walks' two entries is infinite."""
    return rw.transition(K, 1.0).T


def far(K: int) -> np.ndarray:
    """Scores of which all but one underflow beside the largest."""
    return np.where(np.arange(K) == 0, 0.7, -900.0)


def late(N: int) -> np.ndarray:
    """Positional scores with which the query competes with the tokens that underflow in `far`."""
    return np.sin(np.arange(N)) - np.where(np.arange(N) == N - 1, 899.5, 0.0)


def high(N: int) -> np.ndarray:
    """Scores whose exponentials overflow, but for the query's."""
    return np.where(np.arange(N) == N - 1, 0.0, 800.0 + np.sin(np.arange(N)))


def almost_tied(N: int) -> np.ndarray:
    """The first token has 1e-12 less attention than the others."""
    return np.where(np.arange(N) == 0, -1e-12, 0.0)


def make(sizes: tuple[int, int, int, int], p: float, **fields: Any) -> Config:
    K, N, M, B = sizes
    return Config(
        num_states=K, length=N, encoding_dim=M, num_sequences=B, clockwise_probability=p, **fields
    )


MLP = {"value": "mlp", "hidden_width": 3, "init_scale": 0.1}
CASES = (
    Case(
        "walk",
        make((5, 6, 9, 12), 0.3, learning_rate=0.7),
        (
            reduced(1.0),
            literal(0.3),
            special(lambda K: np.zeros((K, K))),
            special(forward, lambda N: np.where(np.arange(N) == N - 2, 20.0, 0.0)),
            special(lambda K: np.full((K, K), 0.5) + np.eye(K), u=far),
            special(forward, late, u=far),
            special(forward, high),
            special(lambda K: 1e-11 * rw.transition(K, 0.4), almost_tied),
            special(forward, lambda N: np.where(np.arange(N) == N - 1, 3.0, 0.0)),
        ),
    ),
    Case(
        "unit hinge",
        make((4, 7, 9, 5), 0.8, tokens="unit", loss_function="hinge"),
        (reduced(2.0, 1, True), literal(0.3, 2), special(lambda K: -forward(K))),
    ),
    Case(
        "mlp",
        make((5, 4, 6, 7), 0.6, loss_function="square", **MLP),
        (reduced(1.0, 3, True), reduced(0.5, 4)),
    ),
    Case(
        "disturbed",
        make((3, 7, 8, 3), 1.0, population=True, perturbation=0.1, learning_rate=0.4).replace(
            loss_function="square"
        ),
        (reduced(0.1, 5), special(lambda K: np.ones((K, K)))),
    ),
    Case(
        "disturbed, unit",
        make((3, 7, 8, 3), 0.0, population=True, perturbation=0.1, tokens="unit"),
        (reduced(0.1, 11),),
    ),
    Case(
        "failing",
        make((4, 9, 9, 3), 0.0, population=True, tokens="unit", learning_rate=0.4),
        (special(lambda K: np.ones((K, K))),),
    ),
    Case(
        "failing, query ahead",
        make((3, 7, 8, 3), 1.0, population=True, tokens="unit", perturbation=0.1).replace(
            loss_function="square", learning_rate=15.0
        ),
        (reduced(0.1, 12),),
    ),
    Case(
        "failing, query behind",
        make((3, 4, 200, 3), 1.0, population=True, loss_function="square", learning_rate=4.0),
        (reduced(0.1, 13),),
    ),
    Case(
        "one token more",
        make((3, 5, 8, 3), 0.0, population=True, perturbation=0.1),
        (reduced(0.1, 14),),
    ),
    Case(
        "random start",
        make((3, 4, 8, 3), 0.0, population=True, init_scale=0.1),
        (reduced(0.1, 15),),
    ),
    Case(
        "corner of the hinge",  # v(1) = 1 exactly after two steps
        make((4, 2, 2, 3), 0.25, loss_function="hinge", learning_rate=16.0),
        (special(forward),),
    ),
    Case(
        "two positions", make((3, 2, 2, 1), 0.5, tokens="unit"), (reduced(1.0, 6), literal(0.3, 6))
    ),
    Case("qa1", QA1.replace(num_sequences=12, encoding_dim=20), (reduced(1.0, 7),)),
    Case("qa2", QA2.replace(num_sequences=12, encoding_dim=20, init_scale=0.1), (reduced(1.0, 8),)),
    Case("padded", make((4, 5, 7, 9), 0.3), (reduced(1.0, 9),), padded=True),
    Case(
        "padded, negative",
        make((4, 5, 7, 9), 0.3, loss_function="hinge"),
        (special(lambda K: -1 - forward(K)),),
        padded=True,
    ),
    Case(
        "padded, disturbed",
        make((3, 4, 5, 3), 0.0, population=True, perturbation=0.2, tokens="unit"),
        (reduced(0.5, 10),),
        padded=True,
    ),
    Case("many walks", make((5, 28, 28, 4001), 0.3)),
    Case("many qa1", QA1.replace(num_sequences=4001)),
    Case("many qa2", QA2.replace(num_sequences=4001)),
)


def widen(params: Any, config: Any) -> Reduced:
    """Zeros beyond the sizes."""
    K, N = config.num_states.cap, config.length.cap
    pad = lambda x, *caps: np.pad(x, [(0, c - n) for c, n in zip(caps, x.shape, strict=True)])
    return Reduced(pad(params.V, K, K), pad(params.u, K), pad(params.w, N))


def rows(batch: Any, config: Any) -> np.ndarray:
    """(B, N) sequences with the label last."""
    return np.concatenate([batch.s[:, : config.length.n - 1], batch.y[:, None]], axis=1)


def matrices(params: Any, model: rw.Model) -> tuple[np.ndarray, ...]:
    W = (
        params.W
        if isinstance(params, Literal)
        else model.from_scores(np.asarray(params.u), np.asarray(params.w))
    )
    return (params.V, W) if params.A is None else (params.V, W, params.A)


def twin(config: Any) -> rw.Model:
    K, N, M, _ = shape(config)
    unit, loss = config.tokens == "unit", config.loss_function
    return rw.Model(K, N, M, eps=float(config.epsilon), loss=loss, unit=unit)


def metrics(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    K, p, model = config.num_states.n, float(config.clockwise_probability), twin(config)
    Pi, answers = rw.transition(K, p), np.eye(K)
    walk = config.task == "walk"
    label = lambda s: Pi[s[-2]] if walk else answers[s[-1]]
    measures = rw.metrics(model, matrices(params, model), rows(problem.test, config), label, p)
    measures = {n: x for n, x in measures.items() if walk or not n.startswith("value_")}
    return measures | {"loss": model.loss(matrices(params, model), rows(problem.train, config))}


# Curves


def entropy_gap(law: np.ndarray, q: np.ndarray) -> float:
    """KL(law || q)."""
    return float(sum(a * math.log(a / max(b, 1e-12)) for a, b in zip(law, q, strict=True) if a > 0))


def selected(config: Any, length: int) -> tuple[list[np.ndarray], list[float]]:
    """v_t and the loss: uniform attention for two steps, then the parent alone."""
    K, N, *_ = shape(config)
    p, eta, eps = (
        float(x) for x in (config.clockwise_probability, config.learning_rate, config.epsilon)
    )
    Pi = rw.transition(K, p)
    # entry d of row 0 of Pi^l: the chance that the label is d ahead of the token l before it
    lags = sum(np.linalg.matrix_power(Pi, lag)[0] for lag in range(1, N)) / N
    ell = lambda m: rw.ell(config.loss_function, float(m), eps)
    v, values, losses = np.zeros(K), [], []
    for t in range(length):
        values.append(v)
        if t < 2:
            f = float(v @ lags)
            losses.append(ell(f)[0])
            v = v - eta / K * lags * ell(f)[1]
        else:
            losses.append(sum(Pi[0, d] * ell(v[d])[0] for d in range(K)))
            v = v - eta / K * Pi[0] * np.array([ell(x)[1] for x in v])
    return values, losses


def spread(config: Any, steps: np.ndarray) -> np.ndarray:
    """delta S Z_t/Z_0 E[range of K normals] / sqrt(turns), from runs with disturbed scores."""
    K, N, _, _ = shape(config)
    model, p, h = twin(config), float(config.clockwise_probability), 1e-5
    data = np.array([walk for walk, _ in rw.walks(K, N, p)])
    turns = (N - 1) // K
    lag = np.array([(N - 1 - j) % K for j in range(N - 1)])
    push = np.append((lag == 0) / 1.0 - (lag == 1), 0.0)
    run = lambda by: model.descend(
        (np.zeros((K, K)), model.from_scores(np.zeros(K), by * push)),
        data,
        float(config.learning_rate),
        int(max(steps)),
    )
    ahead, behind, middle = run(h), run(-h), run(0.0)
    wide = integrate.quad(
        lambda x: 1 - stats.norm.cdf(x) ** K - stats.norm.sf(x) ** K, -9, 9, epsabs=1e-13
    )[0]
    spreads = []
    for t in steps:
        w = (model.scores(ahead[t][1])[1] - model.scores(behind[t][1])[1])[:-1] / (2 * h)
        u = (model.scores(ahead[t][1])[0] - model.scores(behind[t][1])[0]) / (2 * h)
        assert abs(u).max() < 1e-6  # a disturbance of the positions leaves the states alone
        Z = np.array([w[lag == d].sum() for d in range(K)])
        growth = (Z[0] - Z.mean()) / turns
        S = model.forward(middle[t], data[0])[1][0]
        spreads.append(min(float(config.perturbation) * S * growth * wide / math.sqrt(turns), 1))
    return np.array(spreads)


def predict(problem: Any, config: Any, steps: np.ndarray) -> dict[str, Any]:
    if config.task != "walk":
        best, divergence = {"qa1": (1.0, 0.0), "qa2": (0.5, math.log(2))}[config.task]
        return {"accuracy": np.full(len(steps), best), "kl": np.full(len(steps), divergence)}
    K, N, *_ = shape(config)
    p, inside = float(config.clockwise_probability), 0 < config.clockwise_probability < 1
    linear = config.value == "linear"
    stuck = linear and p in (0, 1) and (N - 1) % K == 0 and config.init_scale == 0
    constant = lambda value: np.full(len(steps), value if inside else math.nan)
    Pi = rw.transition(K, p)
    root, odds = np.sqrt(Pi), p / (1 - p) if inside else math.nan
    best = 1 / K if stuck and config.perturbation == 0 else max(p, 1 - p)
    curves = {
        "accuracy": np.full(len(steps), best),
        "value_direction_error:theorem": constant(0.0),
        "value_direction_error:sqrt_law": constant(rw.distance(root, Pi)),
        "kl:theorem": constant(0.0),
        "kl:sqrt_law": constant(entropy_gap(Pi[0], root[0] / root[0].sum())),
        "output_gap:sqrt_law": constant(float(np.linalg.norm(rw.direction(root[0]) - Pi[0]))),
        "value_ratio:theorem": constant(odds),
        "value_ratio:sqrt_law": constant(math.sqrt(odds) if inside else math.nan),
    }
    if not linear:
        return curves
    v, loss = selected(config, int(max(steps)) + 1)
    errors, gaps = [], []
    for t, one in enumerate(v):
        q = np.ones(K) if t < 2 else np.maximum(one, 0)
        errors.append(rw.distance(one, Pi[0]))
        gaps.append(entropy_gap(Pi[0], q / q.sum()))
    at = lambda run: np.array([run[t] if inside else math.nan for t in steps])
    return curves | {
        "value_direction_error:population": at(errors),
        "kl:population": at(gaps),
        "loss:population": at(loss),
        "attention_spread:linear": spread(config, steps)
        if stuck
        else np.full(len(steps), math.nan),
    }


# Draws


def law(problem: Any, batch: Any, config: Any) -> None:
    K, N, _, B = shape(config)
    p = float(config.clockwise_probability)
    counts = (K, K) if config.population else (B, 1000)
    for one, count in zip(problem, counts, strict=True):
        assert one.s.shape == (count, N) and one.y.shape == (count,)
        assert np.all(one.s[:, N - 1] == 0)
        agree(one.weight, np.full(count, 1 / count), 1e-15)
        s = rows(one, config)
        if config.task != "walk":
            assert {tuple(row) for row in s.tolist()} <= {q for q, _ in rw.questions(config.task)}
            continue
        assert s.min() >= 0 and s.max() < K
        ahead = (s[:, 1:] - s[:, :-1]) % K
        assert set(np.unique(ahead)) <= {1, K - 1}
        if p in (0, 1):
            assert np.all(ahead == (1 if p else K - 1))
        if config.population:
            assert s[:, 0].tolist() == list(range(K))
    for got, want in zip(batch, problem.train, strict=True):
        agree(got, want, 0)
    if B > 1000:
        check_frequencies(rows(problem.train, config), rows(problem.test, config), config, p)


def check_frequencies(train: np.ndarray, test: np.ndarray, config: Any, p: float) -> None:
    """Frequencies of starts and steps, or of questions; training and test are independent."""
    if config.task != "walk":
        chances = rw.questions(config.task)
        for s in (train, test):
            for question, chance in chances:
                average(np.all(s == np.array(question), axis=1), chance)
        same = sum(chance**2 for _, chance in chances)
        average(np.all(train[:1000] == test, axis=1), same)
        return
    K = config.num_states.n
    for s in (train, test):
        average(s[:, :1] == np.arange(K), 1 / K)
        ahead = ((s[:, 1:] - s[:, :-1]) % K == 1).astype(float)
        average(ahead, p)
        average((ahead[:, 1:] - p) * (ahead[:, :-1] - p), 0)
        average((ahead - p) * (s[:, :1] == 0), 0)
    average(train[:1000, :3] == test[:, :3], [1 / K] * 3)
    steps = [((s[:1000, 1:] - s[:1000, :-1]) % K == 1) - p for s in (train, test)]
    average(steps[0] * steps[1], 0)
