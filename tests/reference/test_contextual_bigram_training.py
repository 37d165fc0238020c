"""The contextual-bigram room against plain NumPy: every algorithm on the same batches, metrics,
analyses, transfer, curves, padding.
"""

import math
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.theories.contextual_bigram import THEORY
from jaxtheory.theories.contextual_bigram.laws import bounds, dynamics, noise, transfer
from tests.reference import contextual_bigram_numpy as cb
from tests.reference import contextual_bigram_training_numpy as tr
from tests.reference.agree import agree
from tests.reference.test_contextual_bigram import (
    GIVEN,
    TIGHT,
    agree_both,
    make,
    matrices,
    problem,
    samples,
    task,
    to_params,
)

STEPS = 8
# the switch within the run; strong and weak lambda, each prox, lambda = 0, a large relative
# threshold, unequal weights, tau = 0
RUNS = [
    make(
        3,
        5,
        2,
        8,
        l1=0.01,
        learning_rate=0.05,
        late_learning_rate=0.02,
        switch_step=4,
        pretrained_weight=0.3,
        softmax_rate=2.0,
    ),
    make(
        3,
        5,
        2,
        8,
        l1=0.1,
        prox="textbook",
        learning_rate=0.05,
        late_learning_rate=0.03,
        switch_step=3,
        stage_threshold=0.9,
    ),
    make(
        3,
        5,
        2,
        8,
        prox="simplex",
        learning_rate=0.04,
        late_learning_rate=0.04,
        switch_step=5,
        correlation=0.6,
    ),
    make(
        3,
        5,
        2,
        8,
        l1=0.0,
        learning_rate=0.03,
        late_learning_rate=0.05,
        switch_step=2,
        stage_threshold=0.0,
    ),
    make(
        2,
        4,
        1,
        1,
        l1=1e-3,
        given=((0.2, 0.7), (0.8, 0.3)),
        learning_rate=0.02,
        late_learning_rate=0.03,
        switch_step=6,
    ),
    make(
        3,
        4,
        4,
        5,
        weights="unequal",
        learning_rate=1e-3,
        late_learning_rate=2e-3,
        switch_step=3,
        softmax_rate=0.1,
    ),
    make(3, 5, 2, 3, given=GIVEN, learning_rate=0.05, late_learning_rate=0.05, switch_step=1),
]
TRAINED = ["proximal", "sgd", "sgd_plain", "softmax", "population", "dynamics", "transfer", "refit"]
compiled = {
    name: (jax.jit(algorithm.step), jax.jit(algorithm.params))
    for name, algorithm in THEORY.algorithms.items()
}
draw_batch, measure, analyse = (
    jax.jit(THEORY.sample),
    jax.jit(THEORY.metrics),
    jax.jit(THEORY.analyses),
)


@cache
def batch(config, t):
    return draw_batch(jax.random.fold_in(jax.random.key(7), t), problem(config), config)


@cache
def run(name, config):
    """Params at t = 0..STEPS through the contract; refit starts from where proximal ends."""
    algorithm, drawn = THEORY.algorithms[name], problem(config)
    step, params = compiled[name]
    state = (
        to_params(*run("proximal", config)[-1])
        if name == "refit"
        else algorithm.init(jax.random.key(0), drawn, config)
    )
    path = [matrices(params(state, drawn, config))]
    for t in range(STEPS):
        now = () if algorithm.sample else batch(config, t)
        state = step(jax.random.key(t), np.int32(t), state, now, drawn, config)
        path.append(matrices(params(state, drawn, config)))
    return path


def wanted(name, config):
    """The same in NumPy."""
    reference, batches = task(config), [samples(batch(config, t), config) for t in range(STEPS)]
    lam, theta0 = config.l1, config.stage_threshold
    recipe = tr.Recipe(
        config.learning_rate,
        config.late_learning_rate,
        config.switch_step,
        lam,
        theta0,
        config.prox,
    )
    plain, start = recipe._replace(lam=0.0), reference.start
    if name == "proximal":
        return tr.proximal(start, batches, reference, recipe)
    if name == "sgd":
        return tr.proximal(start, batches, reference, plain)
    if name == "sgd_plain":
        return tr.sgd_plain(start, batches, reference, recipe)
    if name == "softmax":
        return tr.softmax_training(
            (0 * start[0], start[1]), batches, reference, recipe, config.softmax_rate
        )
    if name == "population":
        return tr.population(start, STEPS, reference, plain)
    if name == "dynamics":
        etas = [recipe.eta(t) for t in range(STEPS)]
        lines = reference.Q - reference.uniform, reference.P - reference.trivial
        return [
            (start[0] + a * lines[0], start[1] + v * lines[1])
            for a, v in tr.dynamics((0.0, 0.0), etas, reference)
        ]
    if name == "transfer":
        pretrained = np.asarray(problem(config).pretrained)[: reference.N, : reference.N]
        return tr.transfer(batches, reference, recipe, pretrained, config.pretrained_weight)
    A, V = run("proximal", config)[-1]
    return tr.refit(
        (A[: reference.T, : reference.N], V[: reference.N, : reference.N]),
        batches,
        reference,
        recipe,
    )


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("config", RUNS)
def test_training(name, config):
    path = wanted(name, config)
    assert len(path) == STEPS + 1
    for got, want in zip(run(name, config), path, strict=True):
        agree_both(got, want)


@pytest.mark.parametrize("config", RUNS)
def test_without_lambda_proximal_is_sgd_and_noise_noise_sgd(config):
    config = config.replace(l1=0.0)
    for sparse, plain in (("proximal", "sgd"), ("noise", "noise_sgd")):
        for got, want in zip(run(sparse, config), run(plain, config), strict=True):
            agree_both(got, want)


@pytest.mark.parametrize(
    ("name", "config"),
    [("proximal", c) for c in RUNS] + [("sgd_plain", RUNS[5]), ("transfer", RUNS[2])],
)
def test_metrics_and_analyses_along_training(name, config):
    reference, drawn = task(config), problem(config)
    for t in (config.switch_step + 1, STEPS):
        params = run(name, config)[t]
        got = measure(to_params(*params), drawn, config)
        want = cb.metrics(params, reference, config.l1)
        assert set(got) == set(want)
        for metric, value in want.items():
            small = metric in (
                "value_residual",
                "attention_residual",
                "off_support_std",
                "value_cosine_centered",
            )
            agree(got[metric], value, TIGHT, 0.1 if small else 1e-2)
    for theta in (0.3, 0.9):
        got, want = (
            analyse(to_params(*params), drawn, config.replace(threshold=theta)),
            cb.analyses(params, reference, theta),
        )
        assert set(got) == set(want)
        for metric, value in want.items():
            agree(got[metric], value, TIGHT, 0.1)


def test_rounding_reports_empty_columns():
    config = RUNS[0]
    A, V = -np.ones((5, 3)), task(config).P
    A[0, 0] = 1.0
    got = analyse(to_params(A, V), problem(config), config)
    assert got["empty_columns"] == 2 == cb.rounded(A, config.threshold)[1] and all(
        np.isfinite(value) for value in got.values()
    )


@pytest.mark.parametrize("config", [RUNS[0], RUNS[2], RUNS[4], RUNS[6]])
def test_transfer_start_and_one_step(config):
    """H.1 by projection; the spread of one step from the variance at its start, and what it
    predicts for the support.
    """
    reference, drawn, theta = task(config), problem(config), config.pretrained_weight
    pretrained, B = np.asarray(drawn.pretrained), config.batch_size.n * config.switch_step
    start = reference.uniform, tr.pretrained_value(reference, pretrained, theta)
    alpha, square = transfer.initial_alignment(drawn, config)
    agree(alpha, cb.alphas(start, reference), TIGHT)
    agree(square, cb.norm(cb.residuals(start, reference)[1], reference.mu) ** 2, TIGHT, 0.01)
    rate = 1 / (
        theta
        * cb.inner(pretrained - reference.trivial, reference.P - reference.trivial, reference.mu)
    )
    sd = np.sqrt(tr.large_batch_noise(start, reference)[0] / B) * rate
    agree(transfer.step_spread(drawn, config), sd, TIGHT, 0)
    Q = [column[column > 0] for column in np.asarray(drawn.context).T]
    chance = [
        tr.recovered(q, s, reference.T, config.stage_threshold) for q, s in zip(Q, sd, strict=True)
    ]
    agree(transfer.step_recovery(drawn, config), chance, 1e-8, 0)


def test_transfer_spread_is_the_quoted_one_for_a_small_weight():
    """R_k ~ C: sqrt(tr(V0 C V0^T C) / (B mu_k)) eta_A up to terms of order theta."""
    config = make(3, 200, 2, 8, switch_step=5, pretrained_weight=1e-4)
    drawn, reference = problem(config), task(config)
    want = [tr.one_step(reference, np.asarray(drawn.pretrained), 1e-4, 40, k) for k in range(3)]
    agree(transfer.step_spread(drawn, config), want, 1e-3)
    want = tr.recovery(reference, np.asarray(drawn.pretrained), 1e-4, 40, config.stage_threshold)
    agree(transfer.step_recovery(drawn, config), want, 0.05)


@pytest.mark.parametrize("config", [RUNS[0], RUNS[4], RUNS[5]])
def test_curves(config):
    reference, drawn, steps = task(config), problem(config), np.array([0, 3, STEPS])
    got = THEORY.predict(drawn, config, steps)
    etas = [
        config.learning_rate if t < config.switch_step else config.late_learning_rate
        for t in range(STEPS)
    ]
    alphas = np.array(tr.dynamics((0.0, 0.0), etas, reference))
    early = np.array([tr.early(sum(etas[:t]), reference) for t in steps])
    early[early[:, 1] > 1] = np.nan
    on_line = [
        (
            reference.uniform + a * (reference.Q - reference.uniform),
            reference.trivial + v * (reference.P - reference.trivial),
        )
        for a, v in alphas[steps]
    ]
    for i, name in enumerate(("attention_alignment", "value_alignment")):
        agree(got[f"{name}:population"], alphas[steps, i], TIGHT, 0.1)
        np.testing.assert_allclose(got[f"{name}:early"], early[:, i], rtol=1e-12)
    agree(
        got["loss:population"], [cb.population_loss(params, reference) for params in on_line], TIGHT
    )
    agree(got["loss:bayes"], np.full(3, cb.bayes_loss(reference)), TIGHT)
    z = tr.sign_law(reference, config.batch_size.n, config.learning_rate)
    agree(got["right_sign:sign_law"], np.full(3, tr.Phi(z)), TIGHT)
    spread = np.asarray(transfer.step_spread(drawn, config))
    agree(got["off_support_std:one_step"], np.full(3, math.sqrt((spread**2).mean())), TIGHT)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_of_threshold_and_rounding(seed):
    """E.2 and F.1 for A near the line, kept entries exactly the support, with the
    errors measured.
    """
    rng, config = np.random.default_rng(seed), RUNS[0]
    reference, drawn = task(config), problem(config)
    alpha = rng.uniform(0.7, 1.3)
    A = tr.affine(
        reference.uniform
        + alpha * (reference.Q - reference.uniform)
        + 0.02 * rng.normal(size=reference.Q.shape)
    )
    cut, full = tr.sparsify(A, 0.5), cb.rounded(A, 0.5)[0]
    assert cb.exact_supports(full, reference.Q) == 1
    residual, change = bounds.threshold_bounds(jnp.asarray(A), drawn, config)
    V = reference.P
    assert cb.norm(cb.residuals((cut, V), reference)[0], reference.mu) <= residual * (1 + 1e-12)
    assert abs(cb.alphas((cut, V), reference)[0] - cb.alphas((A, V), reference)[0]) <= change * (
        1 + 1e-12
    )
    assert cb.norm(full - reference.Q, reference.mu) <= bounds.rounding_bound(
        jnp.asarray(A), drawn, config
    ) * (1 + 1e-12)


@pytest.mark.parametrize("point", ["start", "random", "task"])
def test_noise_has_the_stated_covariance(point):
    """Mean square of 4000 draws, entry by entry, within 5 standard errors of the
    centered formula.
    """
    config = RUNS[0]
    reference, drawn, rng = task(config), problem(config), np.random.default_rng(3)
    random = tr.affine(rng.normal(size=(5, 3))), tr.affine(rng.normal(size=(3, 3)))
    params = {"start": reference.start, "random": random, "task": (reference.Q, reference.P)}[point]
    draws = jax.jit(jax.vmap(lambda key: noise.draw(key, to_params(*params), drawn, config)))(
        jax.random.split(jax.random.key(1), 4000)
    )
    variance, full = tr.large_batch_noise(params, reference)
    center = np.kron(np.eye(3) - 1 / 3, np.eye(3))
    want = np.tile(variance, (5, 1)) * (1 - 1 / 5), np.diag(center @ full @ center.T).reshape(3, 3)
    for got, target in zip(matrices(draws), want, strict=True):
        target = np.maximum(target, 0) / 8
        assert np.all(
            np.abs((got**2).mean(axis=0) - target) <= 5 * target * math.sqrt(2 / 4000) + 1e-15
        )


@pytest.mark.slow
def test_padding_changes_nothing():
    """A run and its metrics in arrays with spare room, on their valid entries."""
    config = RUNS[0]
    wide = config.pad(num_states=4, length=7, batch_size=10, sparsity=3)
    drawn = problem(wide)
    for name in ("proximal", "softmax", "transfer", "population", "dynamics", "refit"):
        for (A, V), want in zip(run(name, wide), wanted(name, wide), strict=True):
            agree_both((A[:5, :3], V[:3, :3]), want)
            assert (
                not np.any(A[5:])
                and not np.any(A[:, 3:])
                and not np.any(V[3:])
                and not np.any(V[:, 3:])
            )
    params = run("proximal", wide)[-1]
    inside, reference = (params[0][:5, :3], params[1][:3, :3]), task(wide)
    for got, want in (
        (measure(to_params(*params), drawn, wide), cb.metrics(inside, reference, wide.l1)),
        (analyse(to_params(*params), drawn, wide), cb.analyses(inside, reference, wide.threshold)),
    ):
        for metric, value in want.items():
            agree(got[metric], value, TIGHT, 0.1)
    agree(noise.growth_noise(drawn, wide), tr.sign_law(reference, 8, wide.learning_rate), TIGHT)
    agree(
        dynamics.path(4, drawn, wide).value[3],
        tr.dynamics((0.0, 0.0), [wide.learning_rate] * 3, reference)[3][1],
        TIGHT,
    )
