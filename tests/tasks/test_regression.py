"""The task of regression in context."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, without_maps

from jaxtheory.core.config import Size
from jaxtheory.ops.draws import run_key
from jaxtheory.theories import in_context_regression as theory

NAME = "in_context_regression"


def answered(task, answer):
    """Outputs that are 7 before the query and answer(prompt) there."""

    def outputs(batch):
        x, y, query, _, _ = (np.asarray(part) for part in batch.prompts)
        f = [answer(*prompt) for prompt in zip(x, y, query, strict=True)]
        before = np.full((len(f), x.shape[1]), 7.0)
        return jnp.asarray(np.concatenate([before, np.array(f)[:, None]], axis=1)[:, :, None])

    return outputs


def shortest(x, y, query):
    return query @ np.linalg.pinv(x) @ y


def test_the_network_sees_the_tokens_of_the_theory():
    case = Made(NAME)
    tokens, (x, y, query, _, _) = np.asarray(case.inputs()), case.batch.prompts
    assert tokens.shape == (12, 7, 4)
    np.testing.assert_array_equal(tokens[:, :6, 1:], x)
    np.testing.assert_array_equal(tokens[:, :6, 0], y)
    np.testing.assert_array_equal(tokens[:, 6, 1:], query)
    assert not np.any(tokens[:, 6, 0])


@pytest.mark.parametrize("c", [0.0, 0.4])
def test_prompts_are_those_of_the_theory(c):
    case = Made(NAME, seed=1, c=c)
    problem = theory.problem(run_key(0, 1), theory.Config(D=3, N=6, P=12, c=c))
    for part in ("train", "test"):
        tokens = np.asarray(case.inputs(getattr(case.problem, part)), float)
        S = np.einsum("pni,pnj->pij", tokens, tokens) / 6
        want = getattr(problem, part)
        np.testing.assert_allclose(S, want.S, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(getattr(case.problem, part).prompts.label, want.y)
        np.testing.assert_allclose(getattr(case.problem, part).weight, want.weight)
    np.testing.assert_array_equal(case.problem.task, problem.task)


def test_labels_are_linear_and_a_share_has_the_fixed_task():
    case = Made(NAME, seed=2, c=0.3)
    x, y, query, label, fixed = map(np.asarray, case.problem.test.prompts)
    w = np.array([np.linalg.lstsq(*pair)[0] for pair in zip(x, y, strict=True)])
    np.testing.assert_allclose((w * query).sum(axis=1), label, rtol=1e-3, atol=1e-3)
    same = np.abs(w - np.asarray(case.problem.task)).max(axis=1) < 1e-2
    np.testing.assert_array_equal(same, fixed)
    assert abs(fixed.mean() - 0.3) < 5 * np.sqrt(0.21 / 2000)


def test_the_loss_is_the_squared_error_at_the_query():
    case = Made(NAME, seed=3)
    f, label = np.asarray(case.outputs())[:, -1, 0], np.asarray(case.batch.prompts.label)
    np.testing.assert_allclose(case.loss(), np.mean((label - f) ** 2), rtol=1e-5)


def test_least_squares_is_the_best_answer_with_enough_examples():
    case = Made(NAME, seed=4)
    metrics = case.metrics(answered(case, shortest), without_maps)
    for name in ("loss", "relative_error", "least_squares_distance"):
        assert metrics[name] == pytest.approx(0, abs=1e-6)
    assert metrics["layer_distance"] == pytest.approx(metrics["layer_error"], rel=1e-4)
    assert 0.1 < metrics["layer_error"] < 1
    assert case.optimal() == {"loss": 0.0, "relative_error": 0.0}


def test_the_answer_of_the_best_layer_is_known():
    case = Made(NAME, seed=5, spectrum=0.0)
    # (Lambda (1 + 1/N) + tr Lambda / N)^-1 with Lambda = I / 3, N = 6
    step = 1 / (1 / 3 * (1 + 1 / 6) + 1 / 6)
    metrics = case.metrics(answered(case, lambda x, y, query: step * (y @ x) @ query / 6))
    assert metrics["layer_distance"] == pytest.approx(0, abs=1e-10)
    assert metrics["relative_error"] == pytest.approx(metrics["layer_error"], rel=1e-5)
    label = np.asarray(case.problem.test.prompts.label)
    assert metrics["loss"] == pytest.approx(metrics["layer_error"] * np.mean(label**2), rel=1e-5)
    # the theory's law, 1 - lambda a with a = step, within the errors of 2000 prompts
    assert metrics["layer_error"] == pytest.approx(1 - step / 3, abs=0.08)


def test_the_answer_zero_has_relative_error_one():
    case = Made(NAME, seed=6)
    metrics = case.metrics(answered(case, lambda *_: 0.0))
    assert metrics["relative_error"] == pytest.approx(1)
    assert metrics["least_squares_distance"] == pytest.approx(1, rel=1e-4)


def outside(x, query):
    """The square of what is left of the query outside the span of the examples."""
    return ((query - np.linalg.pinv(x) @ x @ query) ** 2).sum()


def test_too_few_examples_leave_a_part_unknown():
    case = Made(NAME, seed=7, D=4, N=2, c=0.25)
    x, y, query, label, fixed = map(np.asarray, case.problem.test.prompts)
    residuals = np.array([outside(*prompt) for prompt in zip(x, query, strict=True)])
    best = case.optimal()
    assert best["loss"] == pytest.approx(np.mean(np.where(fixed, 0, residuals)), rel=1e-4)
    assert best["relative_error"] == pytest.approx(best["loss"] / np.mean(label**2), rel=1e-5)
    task = np.asarray(case.problem.task)

    def bayes(x, y, query):
        known = np.allclose(x @ task, y, atol=1e-4)
        return task @ query if known else shortest(x, y, query)

    metrics = case.metrics(answered(case, bayes))
    error = (label - [bayes(*prompt) for prompt in zip(x, y, query, strict=True)]) ** 2
    assert abs(metrics["loss"] - best["loss"]) < 5 * np.std(error) / np.sqrt(2000)
    plain = case.metrics(answered(case, shortest))
    assert plain["least_squares_distance"] == pytest.approx(0, abs=1e-6)
    assert plain["loss"] > metrics["loss"]


@pytest.mark.parametrize("N", [2, 6])
def test_padded_sizes_count_for_nothing(N):
    plain = Made(NAME, N=N)
    padded = Made(NAME, D=Size(5, 3), N=Size(N + 3, N), P=Size(15, 12))
    tokens = np.asarray(padded.inputs())
    assert tokens.shape == (15, N + 4, 6)
    assert not np.any(tokens[12:]) and not np.any(tokens[:, :, 4:])
    assert not np.any(tokens[:, N + 1 :])
    np.testing.assert_allclose(tokens[:12, : N + 1, :4], plain.inputs(), atol=1e-12)
    fill = lambda like: jnp.pad(plain.outputs(like), ((0, 0), (0, 3), (0, 0)), constant_values=2.0)
    metrics = padded.metrics(lambda batch: fill(plain.problem.test))
    for name, value in plain.metrics().items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-4, err_msg=name)
    for name, value in plain.optimal().items():
        np.testing.assert_allclose(padded.optimal()[name], value, rtol=1e-4, err_msg=name)
    outputs = jnp.pad(fill(plain.batch), ((0, 3), (0, 0), (0, 0)), constant_values=2.0)
    np.testing.assert_allclose(padded.loss(outputs), plain.loss(), rtol=1e-5)
