"""The largest learning rate of SGD near the task, from the equation that it solves, and the time of
stage one from a pre-trained V.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from jaxtheory.ops import draws
from jaxtheory.theories import contextual_bigram as theory
from jaxtheory.theories.contextual_bigram.laws import dynamics, noise, population
from jaxtheory.theories.contextual_bigram.model import Params

CASES = [(3, 64, 2, 16), (3, 64, 2, 4096), (5, 20, 3, 8), (2, 300, 1, 64)]


def problem(N, T, Q, B):
    config = theory.Config(
        num_states=N, length=T, sparsity=Q, batch_size=B, stationary_floor=0.2 / N
    )
    return theory.problem(draws.run_key(0, 1), config), config


def sampled_variance(task, config, count):
    """The mean over positions of the variance of column k of the gradient of A at the task, per
    sample of which B make a batch.
    """
    batch = theory.sample(jax.random.key(5), task, config.replace(batch_size=count))
    p = np.zeros((count, config.num_states.n))
    for b, (tokens, k) in enumerate(zip(batch.tokens, batch.query, strict=True)):
        p[b] = np.bincount(tokens, np.asarray(task.context)[:, k], len(p[b]))
    V, mu = np.asarray(task.transition), np.asarray(task.stationary)
    r = p @ V.T - np.eye(len(mu))[np.asarray(batch.label)]
    rows = np.take_along_axis(r @ V, np.asarray(batch.tokens, int), axis=1)  # (V^T r)_{x_t}
    rows = rows - rows.mean(axis=1, keepdims=True)
    unattended = np.asarray(task.context).T[np.asarray(batch.query)] == 0
    squares = np.where(unattended, rows**2, np.nan)
    return np.array(
        [np.nanmean(squares[np.asarray(batch.query) == k]) / mu[k] for k in range(len(mu))]
    )


@pytest.mark.parametrize("case", CASES)
def test_it_is_where_the_largest_eigenvalue_is_two(case):
    """The noise is iterated to its stationary size, in NumPy."""
    task, config = problem(*case)
    eta = float(laws_of(task, config))
    at_task = Params(task.context, task.transition)
    variance = np.asarray(noise.attention_variance(at_task, task, config))
    K_P, K_Q = map(float, population.signals(task, config))
    size = 0.0
    for _ in range(20000):
        summed = np.sum(np.asarray(task.stationary) * variance)
        step = eta**2 * (config.length.n - 1) * summed / K_P**2
        size = (1 - eta) ** 2 * size + step
    slope = jax.jacobian(
        lambda a: jnp.stack([*dynamics.boosted(population.Alignment(*a), 1.0, task, config)])
    )(jnp.ones(2)) - jnp.eye(2)
    curvature = -np.asarray(slope) + np.diag([0.0, size / K_Q])
    assert eta * np.linalg.eigvals(curvature).real.max() == pytest.approx(2, rel=1e-9)


def laws_of(task, config):
    return noise.predict_boundary(task, config)


def test_without_noise_it_is_the_limit_of_equation_8():
    task, config = problem(3, 64, 2, 10**12)
    want = -2 / dynamics.eigenvalues(task, config)[0]
    np.testing.assert_allclose(laws_of(task, config), want, rtol=1e-9)
    assert 0.9 < want < 1


def test_with_much_noise_it_is_proportional_to_the_root_of_the_batch():
    for case in ((3, 64, 2), (4, 400, 2)):
        small, large = (float(laws_of(*problem(*case, B))) for B in (1, 4))
        assert large / small == pytest.approx(2, rel=0.1)
        task, config = problem(*case, 1)
        s = float(noise.noise_strength(task, config))
        assert small == pytest.approx(2 / s**0.5, rel=0.2) and s > 10


def test_the_strength_of_the_noise_is_that_of_samples():
    task, config = problem(3, 64, 2, 16)
    K_P, K_Q = map(float, population.signals(task, config))
    variance = sampled_variance(task, config, 40000) / 16
    want = 64 * np.sum(np.asarray(task.stationary) * variance) / (K_P**2 * K_Q)
    np.testing.assert_allclose(noise.noise_strength(task, config), want, rtol=0.05)


@pytest.mark.parametrize("start", [0.0, 0.003, 0.05])
def test_boosting_time_solves_the_linear_system(start):
    task, config = problem(*CASES[0])
    d = float(dynamics.drift(task, config))
    s = float(dynamics.boosting_time(0.2, start, task, config))
    # (alpha_A, alpha_V, 1)' = M (alpha_A, alpha_V, 1)
    M = np.array([[0, 1, 0], [1, 0, d], [0, 0, 0]])
    assert (expm(s * M) @ [0, start, 1])[0] == pytest.approx(0.2, rel=1e-9)
