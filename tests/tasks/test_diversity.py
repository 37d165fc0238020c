"""The task of regression on a finite set of tasks."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, without_maps

from jaxtheory.ops.draws import run_key
from jaxtheory.theories import task_diversity as theory

NAME = "task_diversity"


def answered(answer):
    """Outputs that are 7 before the query and answer(prompt) there."""

    def outputs(batch):
        x, y, query, _ = (np.asarray(part) for part in batch.prompts)
        f = [answer(*prompt) for prompt in zip(x, y, query, strict=True)]
        before = np.full((len(f), x.shape[1]), 7.0)
        return jnp.asarray(np.concatenate([before, np.array(f)[:, None]], axis=1)[:, :, None])

    return outputs


def test_the_network_sees_the_tokens_of_the_theory():
    case = Made(NAME)
    tokens, (x, y, query, _) = np.asarray(case.inputs()), case.batch.prompts
    assert tokens.shape == (12, 7, 4)
    np.testing.assert_array_equal(tokens[:, :6, 1:], x)
    np.testing.assert_array_equal(tokens[:, :6, 0], y)
    np.testing.assert_array_equal(tokens[:, 6, 1:], query)
    assert not np.any(tokens[:, 6, 0])


def test_prompts_are_those_of_the_theory():
    case = Made(NAME, seed=1)
    config = theory.Config(dimension=3, length=6, num_prompts=12, num_tasks=2)
    problem = theory.problem(run_key(0, 1), config)
    x, y, query, label = map(np.asarray, case.problem.train.prompts)
    np.testing.assert_allclose(np.einsum("pl,pld->pd", y, x) / 2, problem.train.beta, rtol=1e-4)
    np.testing.assert_array_equal(query, problem.train.x)
    np.testing.assert_allclose(label, problem.train.y, rtol=1e-6)


def test_own_prompts_have_the_training_tasks():
    case = Made(NAME, seed=2, rho=0.0)
    regress = lambda batch: np.array(
        [
            np.linalg.lstsq(*pair)[0]
            for pair in zip(*map(np.asarray, batch.prompts[:2]), strict=True)
        ]
    )
    known = regress(case.problem.train)
    far = lambda w: np.abs(w[:, None] - known[None]).max(axis=2).min(axis=1)
    assert far(regress(case.problem.train_tasks)).max() < 1e-2
    assert np.median(far(regress(case.problem.test))) > 0.1


def test_ridge_regression_is_the_optimum():
    rho = 0.1
    case = Made(NAME, seed=3, rho=rho)
    best = lambda x, y, q: q @ np.linalg.solve(x.T @ x + rho * np.eye(3), x.T @ y)
    metrics = case.metrics(answered(best), without_maps)
    assert metrics["ridge_distance"] == pytest.approx(0, abs=1e-9)
    assert metrics["loss"] == pytest.approx(case.optimal()["loss"], rel=1e-4)
    zero = case.metrics(answered(lambda x, y, q: 0.0), without_maps)
    assert metrics["loss"] < metrics["layer_loss"] < zero["loss"] == pytest.approx(1 + rho, rel=0.2)
