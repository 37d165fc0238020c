"""Errors of the minimum where a matrix is singular, at the peak, and without tasks."""

import jax
import numpy as np
import pytest

from jaxtheory.theories.task_diversity import THEORY, Config, laws


def of_run(**fields):
    config = Config(dimension=4, length=4, num_prompts=60, **fields)
    return laws.equivalent(THEORY.problem(jax.random.key(0), config).tasks, config)


def test_one_task_without_noise():
    """There q = <w, beta> / d, and E h h^T is singular: no penalty is the limit of a small one."""
    exact = of_run(num_tasks=1, noise_variance=0.0)
    near = of_run(num_tasks=1, noise_variance=0.0, ridge=1e-6)
    assert 0 < float(exact.idg) < 1
    np.testing.assert_allclose(exact, near, rtol=1e-4)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_as_many_prompts_as_weights(ridge):
    config = Config(dimension=4, length=4, num_prompts=20, num_tasks=6, ridge=ridge)
    errors = laws.equivalent(THEORY.problem(jax.random.key(0), config).tasks, config)
    assert np.isinf(errors).all() == (ridge == 0)


def test_without_tasks_what_is_made_of_them_is_unknown():
    x = np.random.default_rng(0).normal(size=(6, 3, 2))
    problem, _, config = THEORY.given(x, x.sum(2), x[:, 0], x[:, 0].sum(1))
    curves = THEORY.predict(problem, config, np.array([1]))
    assert np.isnan(curves["icl_error:equivalent"]).all()
    assert np.isnan(curves["idg_error:equivalent"]).all()
    assert np.isfinite(curves["icl_error:best"]).all()
