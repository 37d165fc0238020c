"""The group-sparse room against plain NumPy: data, loss, gradients, pre-training, its reduction,
downstream training, metrics.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.theories.group_sparse import THEORY, calculus, model
from jaxtheory.theories.group_sparse.data import moved
from jaxtheory.theories.group_sparse.model import Batch, Linear, Params, Tuned
from tests.reference import group_sparse_numpy as gs
from tests.reference.agree import agree, slope


def make(d, D, n, group, **fields):
    return THEORY.Config(
        group_dim=d,
        num_groups=D,
        num_samples=n,
        relevant_group=group,
        downstream_samples=7,
        **fields,
    )


CONFIGS = [  # the smallest sizes, a single sample, wide groups, large features
    make(3, 5, 8, 2),
    make(2, 2, 4, 1, noise_scale=3.0, features="uniform", margin=0.5),
    make(4, 3, 1, 3, noise_scale=0.3, features="rademacher"),
    make(2, 4, 6, 4, learning_rate=2.0, margin=0.0, downstream_rate=1.0),
]
SCALES = (0.0, 0.3, 5.0)
gradient, loss = jax.jit(THEORY.gradient), jax.jit(THEORY.loss)


@cache
def problem(config):
    return THEORY.problem(jax.random.key(3), config)


def samples(batch):
    """A batch as the reference takes it: (X, y) per sample."""
    return [(np.asarray(batch.x)[:, :, i], float(batch.y[i])) for i in range(len(batch.y))]


def downstream(config, batch):
    """Downstream samples of a batch with their margin, group counted from 0."""
    v, j = np.asarray(problem(config).downstream_truth), config.relevant_group - 1
    return [gs.with_margin(sample, v, config.margin, j) for sample in samples(batch)]


def joined(params):
    """(v, W) of the blocks."""
    p = jax.tree.map(np.asarray, params)
    return np.concatenate([p.v1, p.v2]), np.block([[p.W11, p.W12], [p.W21, p.W22]])


def blocks(v, W, d):
    """The blocks of (v, W)."""
    return Params(*map(jnp.asarray, (v[:d], v[d:], W[:d, :d], W[:d, d:], W[d:, :d], W[d:, d:])))


def draw(config, scale, seed=0):
    """Random (v, W) of a scale."""
    rng, h = np.random.default_rng(seed), config.group_dim.n + config.num_groups.n
    return scale * rng.normal(size=h), scale * rng.normal(size=(h, h))


def same(params, v, W, tolerance=1e-12):
    for got, want in zip(joined(params), (v, W), strict=True):
        agree(got, want, tolerance)


def test_the_reference_gradient_is_a_gradient():
    config = make(2, 3, 4, 2)
    (v, W), data = draw(config, 0.7), samples(problem(config).train)
    dv, dW = gs.gradient(v, W, data)
    agree(dv, slope(lambda x: gs.loss(x, W, data), v), 1e-7)
    agree(dW, slope(lambda x: gs.loss(v, x, data), W), 1e-7)


@pytest.mark.parametrize("config", CONFIGS)
def test_data(config):
    """Labels are the side of the relevant group; downstream samples get their margin; directions
    have length 1.
    """
    drawn, j = problem(config), config.relevant_group - 1
    for batches, v in (
        ((drawn.train, drawn.test), drawn.truth),
        ((drawn.downstream, drawn.downstream_test), drawn.downstream_truth),
    ):
        agree(np.sum(np.asarray(v) ** 2), 1.0, 1e-14)
        for batch in batches:
            assert all(y == (1.0 if np.dot(X[:, j], v) >= 0 else -1.0) for X, y in samples(batch))
    for batch in (drawn.downstream, drawn.downstream_test):
        for (X, y), (Z, y_too) in zip(
            samples(moved(batch, drawn, config)), downstream(config, batch), strict=True
        ):
            agree(X, Z, 1e-12)
            assert y == y_too
    agree(model.encodings(config), gs.encodings(config.num_groups.n), 1e-13)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("config", CONFIGS)
def test_layer_and_gradient(config, scale):
    v, W = draw(config, scale)
    params, drawn = blocks(v, W, config.group_dim.n), problem(config)
    data = samples(drawn.train)
    S = np.asarray(model.attend(params, drawn.train.x, config))
    for i, (X, _) in enumerate(data):
        agree(S[:, :, i], gs.attention(W, X), 1e-12)
    agree(loss(params, drawn.train, drawn, config), gs.loss(v, W, data), 1e-12)
    same(gradient(params, drawn.train, drawn, config), *gs.gradient(v, W, data))


def run(config, name, steps, start=None):
    """Params at t = 0..steps through the contract alone."""
    algorithm, drawn = THEORY.algorithms[name], problem(config)
    draw_batch, advance = algorithm.sample or THEORY.sample, jax.jit(algorithm.step)
    state = algorithm.init(jax.random.key(0), drawn, config) if start is None else start
    path = [algorithm.params(state, drawn, config)]
    for t in range(steps):
        state = advance(
            jax.random.key(t), t, state, draw_batch(jax.random.key(t), drawn, config), drawn, config
        )
        path.append(algorithm.params(state, drawn, config))
    return path


@pytest.mark.parametrize("config", CONFIGS)
def test_pre_training(config):
    h = config.group_dim.n + config.num_groups.n
    want = gs.descend(
        np.zeros(h), np.zeros((h, h)), samples(problem(config).train), config.learning_rate, 6
    )
    for params, (v, W) in zip(run(config, "gd", 6), want, strict=True):
        same(params, v, W, 1e-11)


@pytest.mark.parametrize(("d", "D", "group"), [(2, 2, 1), (2, 3, 2), (3, 2, 2)])
def test_the_reduction_is_the_gradient_on_the_symmetrized_sample(d, D, group):
    """All symmetries of one sample: the full gradient has six numbers, and they are those of the
    reduction.
    """
    config, rng = make(d, D, 1, group), np.random.default_rng(1)
    X = rng.normal(size=(d, D))
    y = 1.0 if X[0, group - 1] >= 0 else -1.0
    drawn = problem(config)._replace(truth=jnp.eye(d)[0])
    own = -0.4 if D > 2 else 0.2
    reduced = calculus.Reduced(*map(jnp.asarray, (0.8, -0.3, 0.5, 0.6, -0.2, own)))
    v, W = joined(calculus.embed(reduced, drawn, config))
    dv, dW = gs.gradient(v, W, gs.symmetrized(X, y, group - 1))
    batch = Batch(jnp.asarray(X)[:, :, None], jnp.asarray([y]), jnp.ones(1))
    same(calculus.embed(calculus.velocity(reduced, batch, drawn, config), drawn, config), dv, dW)


@pytest.mark.parametrize("attention", ["frozen", "trained", "scratch"])
@pytest.mark.parametrize("config", [CONFIGS[0], CONFIGS[1], CONFIGS[3]])
def test_downstream(config, attention):
    """One sample a step, in order and again from the first; v from 0; W kept, moved, or from 0."""
    config = config.replace(attention=attention)
    v, W = draw(config, 0.5)
    data = downstream(config, problem(config).downstream)
    path = [
        tuned.layer for tuned in run(config, "downstream", 9, blocks(v, W, config.group_dim.n))[1:]
    ]
    start = np.zeros_like(W) if attention == "scratch" else W
    want = gs.online(
        np.zeros_like(v), start, [*data, *data[:2]], config.downstream_rate, attention != "frozen"
    )[1:]
    for params, (v, W) in zip(path, want, strict=True):
        same(params, v, W, 1e-11)


def test_downstream_after_pre_training():
    config = CONFIGS[0].replace(pretraining_steps=4, attention="trained")
    drawn, h = problem(config), 8
    _, W = gs.descend(np.zeros(h), np.zeros((h, h)), samples(drawn.train), config.learning_rate, 4)[
        -1
    ]
    want = gs.online(
        np.zeros(h), W, downstream(config, drawn.downstream)[:3], config.downstream_rate, True
    )[-1]
    same(run(config, "downstream", 7)[-1].layer, *want, 1e-11)


@pytest.mark.parametrize("config", [CONFIGS[0], CONFIGS[1]])
def test_logistic_regression(config):
    data, d, D = (
        downstream(config, problem(config).downstream),
        config.group_dim.n,
        config.num_groups.n,
    )
    slopes = lambda b, chosen: (
        sum(-y * X / (1 + np.exp(y * np.sum(b * X))) for X, y in chosen) / len(chosen)
    )
    online = fit = np.zeros((d, D))
    for t in range(9):
        online = online - config.downstream_rate * slopes(online, [data[t % 7]])
        fit = fit - config.downstream_rate * slopes(fit, data)
    agree(run(config, "logistic", 9)[-1].beta, online, 1e-12)
    agree(run(config, "logistic_fit", 9)[-1].beta, fit, 1e-12)


def judged(v, W, config, train, test, truth):
    """The metrics of a layer on one task."""
    d, norm = config.group_dim.n, np.linalg.norm(v[: config.group_dim.n])
    S = gs.relevant_attention(W, test, config.relevant_group - 1)
    return {
        "loss": gs.loss(v, W, train),
        "test_loss": gs.loss(v, W, test),
        "accuracy": gs.accuracy(v, W, test),
        "value_norm": norm,
        "value_cosine": v[:d] @ np.asarray(truth) / norm,
        "value_norm_ratio": norm / np.linalg.norm(v),
        "relevant_attention": S.mean(),
        "relevant_attention_min": S.min(axis=1).mean(),
    }


@pytest.mark.parametrize("scale", [0.3, 5.0])
@pytest.mark.parametrize("config", CONFIGS)
def test_metrics(config, scale):
    """A layer on the pre-training task, and the same in training on the downstream one."""
    (v, W), drawn, measure = draw(config, scale, 2), problem(config), jax.jit(THEORY.metrics)
    params = blocks(v, W, config.group_dim.n)
    for name, value in judged(
        v, W, config, samples(drawn.train), samples(drawn.test), drawn.truth
    ).items():
        agree(measure(params, drawn, config)[name], value, 1e-11)
    sets = downstream(config, drawn.downstream), downstream(config, drawn.downstream_test)
    for name, value in judged(v, W, config, *sets, drawn.downstream_truth).items():
        agree(measure(Tuned(params), drawn, config)[name], value, 1e-11)


def test_metrics_of_a_linear_predictor():
    config, rng = CONFIGS[0], np.random.default_rng(0)
    drawn, beta = problem(config), rng.normal(size=(3, 5))
    got = jax.jit(THEORY.metrics)(Linear(jnp.asarray(beta)), drawn, config)
    data = downstream(config, drawn.downstream_test)
    agree(got["accuracy"], np.mean([y * np.sum(beta * X) > 0 for X, y in data]), 1e-12)
    agree(
        got["test_loss"], np.mean([np.logaddexp(0, -y * np.sum(beta * X)) for X, y in data]), 1e-12
    )
    agree(
        got["value_cosine"],
        beta[:, 1] @ np.asarray(drawn.downstream_truth) / np.linalg.norm(beta[:, 1]),
        1e-12,
    )
