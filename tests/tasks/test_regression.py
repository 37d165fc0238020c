"""The task of regression in context."""

import itertools

import jax
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


def loss_without(case, information):
    best = jax.jit(case.task.optimal_without, static_argnums=0)
    return float(best(information, case.problem, case.config))


def drawn_anew(case, seed=0):
    """A new batch, of the type and shapes of the training batch."""
    batch = jax.jit(case.task.fresh)(run_key(5, seed), case.problem, case.config)
    like = lambda x: (x.shape, x.dtype)
    assert jax.tree.map(like, batch) == jax.tree.map(like, case.batch)
    return batch


@pytest.mark.parametrize("c", [0.0, 0.3, 1.0])
def test_new_prompts_have_the_law_of_the_old_ones(c):
    case = Made(NAME, seed=8, c=c, P=3000)
    batch, second = drawn_anew(case), drawn_anew(case, seed=1)
    variance = np.array([3, 2, 1]) / 6
    for part in (case.batch, batch, second):
        x, y, query, label, fixed = map(np.asarray, part.prompts)
        assert abs(fixed.mean() - c) <= 4 * np.sqrt(c * (1 - c) / 3000)
        for values in (x.reshape(-1, 3), query):
            error = np.sqrt(2 / len(values))
            np.testing.assert_allclose(np.mean(values**2, axis=0) / variance, 1, atol=4 * error)
            assert np.all(abs(values.mean(axis=0)) < 4 * np.sqrt(variance / len(values)))
        task = np.asarray(case.problem.task)
        np.testing.assert_allclose(y[fixed], x[fixed] @ task, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(label[fixed], query[fixed] @ task, rtol=1e-4, atol=1e-4)
        new = np.array([np.linalg.lstsq(x[i], y[i])[0] for i in np.flatnonzero(~fixed)])
        if len(new):
            assert abs(np.mean(new**2) - 1) < 4 * np.sqrt(2 / new.size)
    assert not np.any(batch.prompts.x == second.prompts.x)
    np.testing.assert_array_equal(batch.weight, case.batch.weight)


@pytest.mark.parametrize("N", [6, Size(9, 6), 1])
def test_edges_go_from_the_query_to_the_examples(N):
    case = Made(NAME, N=N)
    edges = np.asarray(jax.jit(case.task.edges)(case.batch, case.problem, case.config))
    n, cap = Size.wrap(N).n, Size.wrap(N).cap
    want = np.zeros((12, cap + 1, cap + 1), bool)
    for key in range(n):
        want[:, n, key] = True
    np.testing.assert_array_equal(edges, want)


@pytest.mark.parametrize("settings", [{"c": 0.0}, {"c": 0.3, "a": -0.5}, {"c": 1.0}], ids=str)
def test_the_optimum_without_examples_is_the_variance_of_the_label(settings):
    """Queries +-sqrt(lambda) have the second moments of Gaussian ones, and all are enumerated. The
    label of a query q is N(0, |q|^2), or <w, q> of the fixed w, and its variance is the loss.
    """
    case = Made(NAME, seed=9, D=Size(6, 4), trL=2.5, **settings)
    c, w = settings["c"], np.asarray(case.problem.task)[:4]
    variance = np.arange(4, 0, -1.0) ** settings.get("a", 1.0)
    variance *= 2.5 / variance.sum()
    squares, known = [], []
    for signs in itertools.product((-1, 1), repeat=4):
        q = np.array(signs) * np.sqrt(variance)
        square, mean = (1 - c) * q @ q + c * (w @ q) ** 2, c * w @ q
        squares.append(square)
        known.append(square - mean**2)
    np.testing.assert_allclose(loss_without(case, "prompt"), np.mean(squares), rtol=1e-5)
    np.testing.assert_allclose(loss_without(case, "tokens"), np.mean(known), rtol=1e-5, atol=1e-12)


def test_answers_without_examples_have_these_losses():
    case = Made(NAME, seed=10, c=0.4, Pt=20000)
    _, _, query, label, _ = map(np.asarray, case.problem.test.prompts)
    for information, answer in (("prompt", 0.0), ("tokens", 0.4)):
        error = (label - answer * (query @ np.asarray(case.problem.task))) ** 2
        standard = np.std(error) / np.sqrt(len(error))
        assert abs(np.mean(error) - loss_without(case, information)) < 4 * standard
    shares = jnp.array([0.0, 0.4])
    vary = lambda c: case.task.optimal_without("tokens", case.problem, case.config.replace(c=c))
    assert float(jax.vmap(vary)(shares)[1]) == pytest.approx(loss_without(case, "tokens"))
