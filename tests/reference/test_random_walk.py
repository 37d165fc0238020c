"""The random-walk room against plain NumPy: data law, loss, gradients, training in both
parametrizations, metrics.
"""

from collections import Counter
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.theories.random_walk import QA1, QA2, THEORY
from jaxtheory.theories.random_walk.model import Literal, Reduced
from tests.reference import random_walk_numpy as rw
from tests.reference.agree import agree, slope


def make(sizes, p, **fields):
    K, N, M, B = sizes
    return THEORY.Config(
        num_states=K, length=N, encoding_dim=M, num_sequences=B, clockwise_probability=p, **fields
    )


def mlp(width):
    return {"value": "mlp", "hidden_width": width}


UNIT, SQUARE, HINGE = {"tokens": "unit"}, {"loss_function": "square"}, {"loss_function": "hinge"}
# Few shapes, so that few operations are compiled. Each config comes with the scale of its scores.
CASES = [  # odd and even circles, M = N, N = 2, B = 1, p = 0 and 1, saturated and flat attention
    (make((5, 6, 9, 12), 0.3), 1.0),
    (make((5, 6, 9, 12), 0.3, **UNIT), 1.0),
    (make((5, 6, 9, 12), 0.8), 30.0),
    (make((5, 6, 9, 12), 0.6, **UNIT, **HINGE), 0.0),
    (make((5, 6, 9, 12), 1.0, **mlp(3)), 0.3),
    (make((5, 6, 9, 12), 0.4, **mlp(3), **UNIT, **SQUARE), 0.3),
    (make((4, 2, 2, 1), 0.0, **HINGE), 1e-3),
    (make((4, 2, 2, 1), 0.5, **UNIT, **SQUARE), 1.0),
]
RUNS = [
    make((5, 6, 9, 12), 0.3),
    make((5, 6, 9, 12), 1.0, learning_rate=0.3, init_scale=0.02),
    make((5, 6, 9, 12), 0.7, learning_rate=2.0, **UNIT),
    make((5, 6, 9, 12), 0.6, learning_rate=0.5, init_scale=0.3, **SQUARE),
    make((5, 6, 9, 12), 0.6, learning_rate=0.5, init_scale=0.3, **HINGE, **UNIT),
    make((5, 6, 9, 12), 0.4, learning_rate=0.5, init_scale=0.02, **mlp(3)),
    make((4, 2, 2, 1), 0.5, init_scale=0.02, **UNIT),
    make((5, 6, 9, 3), 1.0, population=True),
    QA1.replace(num_sequences=12, encoding_dim=20),
]


def twin(config):
    """The NumPy model of a config."""
    unit = config.tokens == "unit"
    return rw.Model(
        config.num_states.n,
        config.length.n,
        config.encoding_dim.n,
        eps=config.epsilon,
        loss=config.loss_function,
        unit=unit,
    )


def rows(batch, config):
    """(B, N) sequences with the label last, valid entries only."""
    tokens = np.asarray(batch.s)[:, : config.length.n - 1]
    return np.concatenate([tokens, np.asarray(batch.y)[:, None]], axis=1)[
        np.asarray(batch.weight) > 0
    ]


def law(config):
    """The distribution of a sequence's label: row s_{N-1} of Pi, or the answer itself."""
    Pi, answers = (
        rw.transition(config.num_states.n, config.clockwise_probability),
        np.eye(config.num_states.n),
    )
    return lambda sequence: Pi[sequence[-2]] if config.task == "walk" else answers[sequence[-1]]


def matrices(params, model):
    """(V, W) or (V, W, A) as NumPy arrays, W lifted from the scores where params are reduced."""
    arrays = {
        name: np.asarray(value) for name, value in params._asdict().items() if value is not None
    }
    if isinstance(params, Reduced):
        arrays["W"] = model.from_scores(arrays["u"], arrays["w"])
    return tuple(arrays[name] for name in ("V", "W", "A") if name in arrays)


def draw(rng, config):
    """Random V >= 0, so that the log loss is finite, and A >= 0 or None."""
    K = config.num_states.n
    if config.value == "linear":
        return rng.uniform(size=(K, K)), None
    return rng.uniform(size=(config.hidden_width.n, K)), rng.uniform(
        size=(K, config.hidden_width.n)
    )


@cache
def run(name, index, steps=6):
    """Params at t = 0..steps of RUNS[index] and its problem, through the contract alone."""
    config, algorithm, key = RUNS[index], THEORY.algorithms[name], jax.random.key(4)
    drawn = THEORY.problem(key, config)
    state = algorithm.init(key, drawn, config)
    path = [algorithm.params(state, drawn, config)]
    for t in range(steps):
        state = algorithm.step(key, t, state, THEORY.sample(key, drawn, config), drawn, config)
        path.append(algorithm.params(state, drawn, config))
    return path, drawn


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("loss", ["log", "square", "hinge"])
@pytest.mark.parametrize("width", [0, 3])
def test_the_reference_gradient_is_a_gradient(unit, loss, width):
    rng = np.random.default_rng(0)
    model = rw.Model(3, 4, 4, loss=loss, unit=unit)
    params = (
        rng.uniform(size=(width or 3, 3)),
        0.3 * rng.normal(size=(7, 7)),
        *([rng.uniform(size=(3, width))] if width else []),
    )
    data = rng.integers(3, size=(4, 4))
    for i, got in enumerate(model.gradient(params, data)):
        agree(
            got,
            slope(lambda x, i=i: model.loss((*params[:i], x, *params[i + 1 :]), data), params[i]),
            1e-7,
        )


@pytest.mark.parametrize("unit", [False, True])
def test_the_reference_scores_invert(unit):
    rng = np.random.default_rng(0)
    model = rw.Model(4, 5, 8, unit=unit)
    u, w = rng.normal(size=4), rng.normal(size=5)
    for got, want in zip(model.scores(model.from_scores(u, w)), (u, w), strict=True):
        agree(got, want, 1e-13)


def frequencies_follow(expected, data):
    """Every sequence of the law within 5 standard errors of its probability, none
    outside the law.
    """
    expected, seen = dict(expected), Counter(map(tuple, data.tolist()))
    assert set(seen) <= set(expected)
    for sequence, weight in expected.items():
        assert (
            abs(seen[sequence] / len(data) - weight)
            <= 5 * np.sqrt(weight * (1 - weight) / len(data)) + 1e-12
        )


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_walks_follow_the_enumerated_law(p):
    config = make((3, 4, 4, 20000), p)
    drawn = THEORY.problem(jax.random.key(5), config)
    frequencies_follow(rw.walks(3, 4, p), rows(drawn.train, config))
    agree(drawn.train.weight, np.full(20000, 1 / 20000), floor=0)
    assert len(rows(drawn.test, config)) == 1000


@pytest.mark.parametrize("config", [QA1, QA2])
def test_questions_follow_the_enumerated_law(config):
    config = config.replace(num_sequences=4000)
    frequencies_follow(
        rw.questions(config.task), rows(THEORY.problem(jax.random.key(6), config).train, config)
    )


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_the_population_is_the_law(p):
    config = make((5, 7, 7, 3), p, population=True)
    for batch in THEORY.problem(jax.random.key(0), config):
        assert sorted(map(tuple, rows(batch, config).tolist())) == sorted(
            walk for walk, _ in rw.walks(5, 7, p)
        )


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("config", "scale"), CASES)
def test_literal_loss_and_gradient(config, scale, seed):
    rng, drawn = np.random.default_rng(seed), THEORY.problem(jax.random.key(seed), config)
    (V, A), size = draw(rng, config), config.num_states.n + config.encoding_dim.n
    params, data, model = (
        Literal(V, scale * rng.normal(size=(size, size)), A),
        rows(drawn.train, config),
        twin(config),
    )
    agree(
        THEORY.loss(params, drawn.train, drawn, config), model.loss(matrices(params, model), data)
    )
    got = THEORY.gradient(params, drawn.train, drawn, config)
    for g, want in zip(
        matrices(got, model), model.gradient(matrices(params, model), data), strict=True
    ):
        agree(g, want)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("config", "scale"), CASES)
def test_reduced_loss_and_gradient(config, scale, seed):
    """The reduced gradient is the literal one seen along the directions in which u_k and w_j move
    W.
    """
    rng, drawn = np.random.default_rng(seed), THEORY.problem(jax.random.key(seed), config)
    K, N = config.num_states.n, config.length.n
    (V, A), u, w = draw(rng, config), scale * rng.normal(size=K), scale * rng.normal(size=N)
    params, data, model = (
        jax.tree.map(jnp.asarray, Reduced(V, u, w, A)),
        rows(drawn.train, config),
        twin(config),
    )
    agree(
        THEORY.loss(params, drawn.train, drawn, config), model.loss(matrices(params, model), data)
    )
    got = THEORY.gradient(params, drawn.train, drawn, config)
    dV, dW, *dA = model.gradient(matrices(params, model), data)
    agree(got.V, dV)
    agree(got.u, [(dW * model.from_scores(direction, 0 * w)).sum() for direction in np.eye(K)])
    agree(got.w, [(dW * model.from_scores(0 * u, direction)).sum() for direction in np.eye(N)])
    if dA:
        agree(got.A, dA[0])


@pytest.mark.parametrize("index", range(len(RUNS)))
def test_training(index):
    """The literal algorithm step by step; the reduction must be the same run seen through its
    scores.
    """
    config = RUNS[index]
    model = twin(config)
    path, drawn = run("literal", index)
    reduced, _ = run("reduced", index)
    wanted = model.descend(
        matrices(path[0], model), rows(drawn.train, config), config.learning_rate, len(path) - 1
    )
    for literal, short, want in zip(path, reduced, wanted, strict=True):
        for got, matrix in zip(matrices(literal, model), want, strict=True):
            agree(got, matrix)
        for got, value in zip(short[:3], (want[0], *model.scores(want[1])), strict=True):
            agree(got, value, floor=1.0)  # a score is a sum of products of size one


@pytest.mark.parametrize("name", ["literal", "reduced"])
@pytest.mark.parametrize("index", range(len(RUNS)))
def test_metrics_along_training(name, index):
    config, model = RUNS[index], twin(RUNS[index])
    path, drawn = run(name, index)
    for t in (0, 2, 6):
        got, params = THEORY.metrics(path[t], drawn, config), matrices(path[t], model)
        want = rw.metrics(
            model, params, rows(drawn.test, config), law(config), config.clockwise_probability
        )
        want["loss"] = model.loss(params, rows(drawn.train, config))
        if config.task == "walk":
            assert set(want) <= set(got)
        for metric in set(want) & set(got):
            agree(got[metric], want[metric])


@pytest.mark.parametrize("loss", ["log", "square", "hinge"])
@pytest.mark.parametrize("p", [0.0, 1.0])
def test_deterministic_walks_are_never_learned(p, loss):
    """The failure theorem in NumPy and in the room: N = rK + 1, accuracy exactly 1/K, V
    proportional to 1 1^T, uniform attention.
    """
    config = make((5, 6, 9, 3), p, loss_function=loss, population=True, learning_rate=0.5)
    model, data = twin(config), np.array([walk for walk, _ in rw.walks(5, 6, p)])
    V, W = model.descend((np.zeros((5, 5)), np.zeros((14, 14))), data, 0.5, 5)[-1]
    want = rw.metrics(model, (V, W), data, law(config), p)
    assert np.ptp(V) <= 1e-12 and want["attention_spread"] <= 1e-10 and want["accuracy"] == 0.2
    drawn, algorithm, key = (
        THEORY.problem(jax.random.key(0), config),
        THEORY.algorithms["reduced"],
        jax.random.key(1),
    )
    state = algorithm.init(key, drawn, config)
    for t in range(5):
        state = algorithm.step(key, t, state, drawn.train, drawn, config)
    got = THEORY.metrics(state, drawn, config)
    assert float(got["attention_spread"]) == 0
    agree(got["accuracy"], 0.2, 1e-15)
    agree(state.V, V)


def test_padding_changes_nothing():
    """Loss, gradient and metrics of arrays with spare room, on their valid entries."""
    rng = np.random.default_rng(3)
    config = make((4, 5, 7, 9), 0.3)
    wide = config.pad(num_states=5, length=6, num_sequences=12, encoding_dim=9)
    drawn, model = THEORY.problem(jax.random.key(9), wide), twin(config)
    u, w, V = rng.normal(size=4), rng.normal(size=5), rng.uniform(size=(4, 4))
    spare = lambda a, *caps: np.pad(a, [(0, cap - n) for cap, n in zip(caps, a.shape, strict=True)])
    params = Reduced(*map(jnp.asarray, (spare(V, 5, 5), spare(u, 5), spare(w, 6))))
    lifted, data = (V, model.from_scores(u, w)), rows(drawn.train, wide)
    assert data.shape == (9, 5)
    agree(THEORY.loss(params, drawn.train, drawn, wide), model.loss(lifted, data))
    agree(
        THEORY.gradient(params, drawn.train, drawn, wide).V,
        spare(model.gradient(lifted, data)[0], 5, 5),
    )
    got = THEORY.metrics(params, drawn, wide)
    for name, value in rw.metrics(model, lifted, rows(drawn.test, wide), law(config), 0.3).items():
        agree(got[name], value)
