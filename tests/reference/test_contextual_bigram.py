"""The contextual-bigram room against plain NumPy: data law, loss, gradients, expectations by
enumeration, proximal maps, noise.
"""

from collections import Counter
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.some import some

from jaxtheory.theories.contextual_bigram import THEORY, calculus
from jaxtheory.theories.contextual_bigram.laws import dynamics, noise, population
from jaxtheory.theories.contextual_bigram.model import Params
from tests.reference import contextual_bigram_numpy as cb
from tests.reference import contextual_bigram_training_numpy as tr
from tests.reference.agree import agree, slope

TIGHT = 1e-12


def make(N, T, Q, B, **fields):
    return THEORY.Config(num_states=N, length=T, sparsity=Q, batch_size=B, **fields)


GIVEN = ((0.1, 0.6, 0.2), (0.2, 0.3, 0.3), (0.7, 0.1, 0.5))  # by rows, columns sum to 1
# small enough to enumerate every sample: Q < T, one position, Q = T with unequal weights, a given P
SMALL = [
    make(3, 5, 2, 8),
    make(2, 4, 1, 1, concentration=0.5),
    make(3, 4, 4, 5, weights="unequal"),
    make(4, 4, 2, 7, concentration=0.5, stationary_floor=0.05),
    make(3, 5, 2, 3, given=GIVEN),
]
LARGE = [
    make(10, 8, 3, 9, stationary_floor=0.01),
    make(3, 50, 2, 6),
]  # tokens looked up in place of compared, longer contexts


@cache
def problem(config, seed=0):
    return THEORY.problem(jax.random.key(seed), config)


@cache
def task(config, seed=0):
    drawn, N, T = problem(config, seed), config.num_states.n, config.length.n
    P, mu, Q = (np.asarray(a) for a in (drawn.transition, drawn.stationary, drawn.context))
    return cb.Task(P[:N, :N], mu[:N], Q[:T, :N])


def samples(batch, config):
    """A Batch as a list of (tokens, query, label)."""
    tokens, query, label = (np.asarray(a)[: config.batch_size.n] for a in batch)
    return [
        (tuple(map(int, x[: config.length.n])), int(k), int(y))
        for x, k, y in zip(tokens, query, label, strict=True)
    ]


def draw(rng, reference, scale=1.0, sums=None):
    """Random (A, V); with sums=1 columns that sum to one, kept close to uniform and mu 1^T at a
    small scale.
    """
    A, V = scale * rng.normal(size=reference.Q.shape), scale * rng.normal(size=reference.P.shape)
    return (A, V) if sums is None else (tr.affine(A), tr.affine(V))


def to_params(A, V):
    """The parameters of NumPy matrices."""
    return Params(jnp.asarray(A), jnp.asarray(V))


def matrices(params):
    return np.asarray(params.attention), np.asarray(params.value)


def agree_both(got, want, tolerance=TIGHT, floor=0.0):
    for g, w in zip(got, want, strict=True):
        agree(g, w, tolerance, floor)


# The reference itself.


@pytest.mark.parametrize("seed", some([0, 1], 1))
def test_the_reference_gradients_are_gradients(seed):
    rng, config = np.random.default_rng(seed), SMALL[0]
    A, V = draw(rng, task(config))
    batch = samples(THEORY.sample(jax.random.key(seed), problem(config), config), config)
    agree_both(
        cb.gradient((A, V), batch),
        (slope(lambda a: cb.loss((a, V), batch), A), slope(lambda v: cb.loss((A, v), batch), V)),
        1e-8,
    )
    W = rng.normal(size=A.shape)
    by_slope = slope(lambda w: cb.loss((tr.softmax(w), V), batch), W)
    agree(tr.softmax_gradient(W, cb.gradient((tr.softmax(W), V), batch)[0]), by_slope, 1e-8)


def test_the_reference_projections_are_nearest_points():
    """No nearby feasible point is nearer, and no nearby point has a smaller proximal objective."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(6, 1))
    near = a + 1e-3 * rng.normal(size=(1000, 6, 1))
    away = lambda x: ((x - a) ** 2).sum()
    assert all(away(tr.affine(a)) <= away(tr.affine(tr.affine(a) + x - a)) for x in near)
    simplex = tr.simplex(a)
    assert abs(simplex.sum() - 1) < 1e-12 and simplex.min() >= 0
    points = rng.dirichlet(np.ones(6), size=1000)[:, :, None]
    assert all(away(simplex) <= away(0.99 * simplex + 0.01 * x) for x in points)
    soft = tr.textbook(a, 0.3)
    objective = lambda x: away(x) / 2 + 0.3 * np.abs(x).sum()
    assert all(objective(soft) <= objective(soft + x - a) for x in near)
    agree(tr.two_case(a, 0.3), np.maximum(soft, 0), 0)


@pytest.mark.parametrize("config", SMALL[:3])
def test_the_reference_population_stays_on_the_line(config):
    """Gradient descent on the enumerated loss is eq. (8)."""
    reference = task(config)
    eta = 0.2 * min(
        1.0, config.length.n * cb.scales(reference)[1]
    )  # nearly uniform Q pull V at rate 1 / (T K_Q)
    recipe = tr.Recipe(eta, eta / 2, 3)
    path = tr.population(reference.start, 5, reference, recipe)
    wanted = tr.dynamics((0.0, 0.0), [recipe.eta(t) for t in range(5)], reference)
    for params, want in zip(path, wanted, strict=True):
        agree(cb.alphas(params, reference), want, 1e-12)
        assert max(np.abs(r).max() for r in cb.residuals(params, reference)) < 1e-13


def test_the_reference_noise_is_exact_where_nobody_attends():
    """h_A at two positions with a = q = 0: variance of the formula; other entries only to leading
    order.
    """
    config = SMALL[0]
    reference = task(config)
    A, V = reference.Q.copy(), tr.affine(np.random.default_rng(2).normal(size=(3, 3)))
    A[A > 0] = [0.7 if i % 2 else 0.3 for i in range(np.count_nonzero(A))]
    A = A / A.sum(axis=0)
    g = cb.covariances((A, V), reference)[0].reshape(5, 3, 5, 3)
    variance, _ = tr.large_batch_noise((A, V), reference)
    for k in range(3):
        s, t = np.flatnonzero(reference.Q[:, k] == 0)[:2]
        agree(g[s, k, s, k] + g[t, k, t, k] - 2 * g[s, k, t, k], 2 * variance[k], 1e-12)


def test_the_reference_sign_law_holds_for_long_contexts():
    """The enumerated z tends to the formula like 1/T."""
    errors = []
    for T in (4, 8):
        P = np.array([[0.3, 0.8], [0.7, 0.2]])
        Q = np.zeros((T, 2))
        Q[[0, 1], [0, 1]] = 1.0
        reference = cb.Task(P, cb.stationary(P), Q)
        errors.append(
            tr.sign_law_by_enumeration(reference, 16, 0.02) / tr.sign_law(reference, 16, 0.02) - 1
        )
    assert abs(errors[1]) < 0.6 * abs(errors[0]) < 0.06


# Data.


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("config", [*SMALL, *LARGE])
def test_the_task_is_as_stated(config, seed):
    reference, drawn = task(config, seed), problem(config, seed)
    P, mu, Q = reference
    agree(P.sum(axis=0), np.ones(len(P)), 1e-14)
    agree(mu, cb.stationary(P), TIGHT)
    assert np.all((Q > 0).sum(axis=0) == config.sparsity.n) and P.min() >= 0
    agree(Q.sum(axis=0), np.ones(len(P)), 1e-14)
    if config.weights == "uniform":
        agree(Q[Q > 0], np.full(len(P) * config.sparsity.n, 1 / config.sparsity.n), 1e-15)
    if config.given:
        agree(P, config.given, 0)
    for rho in (1.0, 0.4) if len(P) > 2 else (1.0,):
        pretrained = np.asarray(
            THEORY.problem(jax.random.key(seed), config.replace(correlation=rho)).pretrained
        )
        agree(pretrained @ mu, mu, 1e-13)
        agree(pretrained.sum(axis=0), np.ones(len(P)), 1e-13)
        agree(cb.cosine(pretrained - reference.trivial, P - reference.trivial, mu), rho, 1e-12)
        assert pretrained.min() >= 0
    agree(drawn.pretrained, P, 1e-13)


@pytest.mark.parametrize(
    "config", [make(2, 3, 1, 40000), make(2, 3, 2, 40000, weights="unequal"), make(3, 2, 1, 40000)]
)
def test_samples_follow_the_enumerated_law(config):
    """Every sample within 5 standard errors of its probability."""
    expected = Counter()
    for weight, sample, _ in cb.law(task(config)):
        expected[sample] += weight
    assert abs(sum(expected.values()) - 1) < 1e-12
    counts = Counter(samples(THEORY.sample(jax.random.key(3), problem(config), config), config))
    assert set(counts) <= set(expected)
    for sample, weight in expected.items():
        assert abs(counts[sample] / 40000 - weight) <= 5 * np.sqrt(weight * (1 - weight) / 40000)


# One batch.


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("config", [*SMALL, *LARGE])
def test_loss_and_gradient(config, scale, seed):
    reference, drawn = task(config, seed), problem(config, seed)
    params = draw(np.random.default_rng(seed), reference, scale)
    batch = THEORY.sample(jax.random.key(seed), drawn, config)
    agree(
        THEORY.loss(to_params(*params), batch, drawn, config),
        cb.loss(params, samples(batch, config)),
        TIGHT,
        0,
    )
    got, want = (
        THEORY.gradient(to_params(*params), batch, drawn, config),
        cb.gradient(params, samples(batch, config)),
    )
    agree_both(got, want)
    size = max(np.abs(g).max() for g in want)  # what is centered may vanish
    agree_both(
        calculus.preconditioned(got, drawn, config),
        cb.precondition(want, reference.mu),
        TIGHT,
        size,
    )


# Expectations.


@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("config", SMALL)
def test_population_loss_and_gradient(config, scale, seed):
    reference, drawn = task(config, seed), problem(config, seed)
    for params in (
        draw(np.random.default_rng(seed), reference, scale),
        draw(np.random.default_rng(seed), reference, scale, 1),
    ):
        agree(
            population.population_loss(to_params(*params), drawn, config),
            cb.population_loss(params, reference),
            TIGHT,
            0,
        )
        agree_both(
            population.expected_gradient(to_params(*params), drawn, config),
            cb.population_gradient(params, reference),
            TIGHT,
            scale,
        )
    agree_both(
        population.expected_preconditioned(to_params(*params), drawn, config),
        cb.preconditioned(params, reference),
        TIGHT,
        scale,
    )


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("config", SMALL)
def test_bayes_loss_optimal_value_and_excess(config, seed):
    reference, drawn = task(config, seed), problem(config, seed)
    best = cb.bayes_loss(reference)
    agree(population.bayes_loss(drawn, config), best, TIGHT, 0)
    A, V = draw(np.random.default_rng(seed), reference, 1.0, 1)
    agree(
        population.optimal_value(jnp.asarray(A), drawn, config),
        cb.optimal_value(A, reference),
        1e-11,
    )  # through an ill-conditioned regression there
    agree(
        population.excess_loss(to_params(A, V), drawn, config),
        cb.population_loss((A, V), reference) - best,
        TIGHT,
        0,
    )
    agree(
        population.excess_loss(to_params(2 * A, V), drawn, config),
        cb.population_loss((2 * A, V), reference) - best,
        TIGHT,
        0,
    )
    assert population.excess_loss(to_params(reference.Q, reference.P), drawn, config) < 1e-15


@pytest.mark.parametrize("config", SMALL[:3])
def test_joint_laws(config):
    reference, drawn = task(config), problem(config)
    N, T = reference.N, reference.T
    for k in range(N):
        for s, t in ((0, 1), (2, 0), (T - 1, 1)):
            for (y, i), want in np.ndenumerate(cb.joint(reference, k, s)):
                agree(population.attended_law(i, y, s, k, drawn), want, TIGHT)
            if config == SMALL[1]:
                for (y, i, j), want in np.ndenumerate(cb.joint_of_two(reference, k, s, t)):
                    agree(population.pair_law(i, j, y, s, t, k, drawn), want, TIGHT)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("config", [*SMALL, *LARGE])
def test_alignments_and_residuals(config, scale):
    reference, drawn = task(config), problem(config)
    for seed in (0, 1):
        params = draw(np.random.default_rng(seed), reference, scale, 1)
        agree(
            population.alignment(to_params(*params), drawn, config),
            cb.alphas(params, reference),
            TIGHT,
            0,
        )
        agree_both(
            population.residual(to_params(*params), drawn, config), cb.residuals(params, reference)
        )
    K_P, K_Q = cb.scales(reference)
    agree(population.signals(drawn, config), (K_P, K_Q), TIGHT, 0)


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("config", SMALL)
def test_one_mini_batch_step_of_alphas_and_residuals(config, seed):
    """C.5, C.6 against a step that is made and measured."""
    reference, drawn = task(config, seed), problem(config, seed)
    params = draw(np.random.default_rng(seed), reference, 1.0, 1)
    batch = THEORY.sample(jax.random.key(seed), drawn, config)
    g = cb.precondition(cb.gradient(params, samples(batch, config)), reference.mu)
    h = tuple(
        one - expected
        for one, expected in zip(g, cb.preconditioned(params, reference), strict=True)
    )
    rates = (0.3, 0.2)
    after = tuple(x - eta * slope for x, eta, slope in zip(params, rates, g, strict=True))
    arguments = (*(to_params(*pair) for pair in (params, h, rates)), drawn, config)
    agree(population.projected_step(*arguments), cb.alphas(after, reference), TIGHT, 0)
    got = population.residual_step(*arguments)
    agree_both(got, cb.residuals(after, reference))


# Proximal maps and rounding.


@pytest.mark.parametrize("prox", ["two_case", "textbook", "simplex"])
@pytest.mark.parametrize("lam", [1e-5, 0.1, 2.0])
@pytest.mark.parametrize("config", [SMALL[0], SMALL[1], *LARGE])
def test_proximal_maps(config, lam, prox):
    config, rng = config.replace(prox=prox), np.random.default_rng(0)
    for scale in (1e-3, 1.0, 30.0):
        A = scale * rng.normal(size=task(config).Q.shape)
        A.flat[0] = lam
        agree(
            calculus.proximal(jnp.asarray(A), lam, config),
            tr.affine(tr.PROX[prox](A, lam)),
            TIGHT,
            0,
        )


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
@pytest.mark.parametrize("config", [SMALL[0], SMALL[1], *LARGE])
def test_thresholds_and_rounding(config, share):
    rng = np.random.default_rng(1)
    for shift in (-10.0, 0.0, 1.0):  # no positive entry, some, all
        A = rng.normal(size=task(config).Q.shape) + shift
        want, empty = cb.rounded(A, share)
        agree(calculus.rounded(jnp.asarray(A), share, config), want, TIGHT, 0)
        assert int(np.sum(calculus.empty_columns(jnp.asarray(A), config))) == empty
        A = tr.affine(A)
        agree(calculus.thresholded(jnp.asarray(A), share, config), tr.sparsify(A, share), TIGHT, 0)


@pytest.mark.parametrize("config", [SMALL[0], LARGE[0]])
def test_softmax_gradient(config):
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 30.0):
        W, g = scale * rng.normal(size=(2, *task(config).Q.shape))
        agree(
            calculus.softmax_gradient(jnp.asarray(tr.softmax(W)), jnp.asarray(g)),
            tr.softmax_gradient(W, g),
            TIGHT,
            0,
        )


# Two numbers, and noise.


@pytest.mark.parametrize("config", SMALL)
def test_two_dimensional_dynamics(config):
    drawn, reference = problem(config), task(config)
    eta = 0.2 * min(1.0, config.length.n * cb.scales(reference)[1])
    config, etas = (
        config.replace(learning_rate=eta, late_learning_rate=eta / 2, switch_step=20),
        [eta] * 20 + [eta / 2] * 19,
    )
    agree(
        np.stack(dynamics.path(40, drawn, config), axis=1),
        tr.dynamics((0.0, 0.0), etas, reference),
        TIGHT,
        0,
    )
    for s in (0.0, 0.3, 5.0):
        agree(dynamics.early(jnp.asarray(s), drawn, config), tr.early(s, reference), TIGHT, 0)
    want = np.sort(np.linalg.eigvals(tr.jacobian_at_the_fixed_point(reference, 1.0)))
    agree(dynamics.eigenvalues(drawn, config), want, 1e-8)
    steps = float(dynamics.boosting_steps(0.4, drawn, config))
    agree(tr.early(eta * steps, reference)[1], 0.4, TIGHT)


@pytest.mark.parametrize("lam", [1e-3, 0.02, 0.1])
@pytest.mark.parametrize("config", [SMALL[0], SMALL[1], SMALL[4]])
def test_lambda_distortion(config, lam):
    """The two-number path with prox against Algorithm 1 on the enumerated gradient, threshold
    included.
    """
    config = config.replace(
        learning_rate=0.5, late_learning_rate=0.3, switch_step=8, l1=lam, stage_threshold=0.5
    )
    reference, recipe = task(config), tr.Recipe(0.5, 0.3, 8, lam, 0.5)
    want = [
        cb.alphas(params, reference)
        for params in tr.population(reference.start, 12, reference, recipe)
    ]
    agree(np.stack(dynamics.path(13, problem(config), config, prox=True), axis=1), want, TIGHT, 0)


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("config", SMALL)
def test_noise_moments(config, seed):
    """E p p^T, E r r^T: enumerated; the variances: the formula that the reference tests where it is
    exact.
    """
    reference, drawn = task(config, seed), problem(config, seed)
    A, V = draw(np.random.default_rng(seed), reference, 1.0, 1)
    pp, rr = np.zeros((2, reference.N, reference.N))
    for weight, (tokens, k, y), _ in cb.law(reference):
        p = cb.one_hot(tokens, reference.N) @ A[:, k]
        r = V @ p - np.eye(reference.N)[y]
        pp += weight * np.outer(p, p)
        rr += weight * np.outer(r, r)
    agree(noise.occupancy_moment(to_params(A, V), drawn, config), pp, TIGHT, 0)
    agree(noise.residual_moment(to_params(A, V), drawn, config), rr, TIGHT, 0)
    variance, _ = tr.large_batch_noise((A, V), reference)
    agree(
        noise.attention_variance(to_params(A, V), drawn, config),
        variance / config.batch_size.n,
        TIGHT,
        0,
    )
    agree(
        noise.growth_noise(drawn, config),
        tr.sign_law(reference, config.batch_size.n, config.learning_rate),
        TIGHT,
        0,
    )
