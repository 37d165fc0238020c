"""The task of regression on a finite set of tasks."""

import jax
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


def loss_without(case, information):
    best = jax.jit(case.task.optimal_without, static_argnums=0)
    return float(best(information, case.problem, case.config))


def drawn_anew(case, seed=0):
    """A new batch, of the type and shapes of the training batch."""
    batch = jax.jit(case.task.fresh)(run_key(5, seed), case.problem, case.config)
    like = lambda x: (x.shape, x.dtype)
    assert jax.tree.map(like, batch) == jax.tree.map(like, case.batch)
    return batch


def tasks_of(batch):
    """The task of each prompt by least squares, for labels without noise."""
    x, y = map(np.asarray, batch.prompts[:2])
    return np.array([np.linalg.lstsq(*pair)[0] for pair in zip(x, y, strict=True)])


def test_new_prompts_have_the_same_tasks():
    case = Made(NAME, seed=4, rho=0.0, n=600, l=9)
    batch, second = drawn_anew(case), drawn_anew(case, seed=1)
    tasks = np.asarray(case.problem.tasks)
    for part in (case.batch, batch, second):
        distance = np.abs(tasks_of(part)[:, None] - tasks[None]).max(axis=2)
        assert distance.min(axis=1).max() < 1e-2
        share = np.mean(np.argmin(distance, axis=1))
        assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(600)
        for values in (np.asarray(part.prompts.x), np.asarray(part.prompts.query)):
            assert abs(3 * np.mean(values**2) - 1) < 4 * np.sqrt(2 / values.size)
    assert not np.any(batch.prompts.x == second.prompts.x)


def test_new_prompts_have_new_tasks_where_tasks_are_fresh():
    case = Made(NAME, seed=5, rho=0.0, n=600, l=9, tasks="fresh")
    w, second = tasks_of(drawn_anew(case)), tasks_of(drawn_anew(case, seed=1))
    np.testing.assert_allclose(np.sum(w**2, axis=1), 3, rtol=1e-2)
    assert abs(w.mean()) < 4 / np.sqrt(w.size) and np.abs(w - second).min(axis=1).max() > 0.1


def test_edges_go_from_the_query_to_the_examples():
    case = Made(NAME)
    edges = np.asarray(jax.jit(case.task.edges)(case.batch, case.problem, case.config))
    want = np.zeros((12, 7, 7), bool)
    want[:, 6, :6] = True
    np.testing.assert_array_equal(edges, want)


@pytest.mark.parametrize("settings", [{}, {"rho": 0.5}, {"d": 1, "rho": 0.0}], ids=str)
def test_nothing_is_known_of_a_fresh_task_without_examples(settings):
    """Over two labels of one query, of independent tasks: E y y' is the square of the best answer,
    and E y^2 is the loss of 0.
    """
    case = Made(NAME, seed=6, **settings)
    d, rho = int(case.config.dimension.n), float(case.config.noise_variance)
    rng, count = np.random.default_rng(0), 40000
    x = rng.normal(size=(count, d)) / np.sqrt(d)

    def label():
        w = rng.normal(size=(count, d))
        w *= np.sqrt(d) / np.linalg.norm(w, axis=1, keepdims=True)
        return np.sum(w * x, axis=1) + np.sqrt(rho) * rng.normal(size=count)

    one, second = label(), label()
    assert abs(np.mean(one * second)) < 4 * np.std(one * second) / np.sqrt(count)
    loss = np.asarray(case.problem.test.prompts.label) ** 2
    for information in ("prompt", "tokens"):
        value = loss_without(case, information)
        assert abs(np.mean(one**2) - value) < 4 * np.std(one**2) / np.sqrt(count)
        assert abs(np.mean(loss) - value) < 4 * np.std(loss) / np.sqrt(len(loss))
