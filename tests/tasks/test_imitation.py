"""The task of imitating an attention layer."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, without_maps

from jaxtheory.core.config import Size
from jaxtheory.ops.draws import run_key
from jaxtheory.tasks import imitation


def literal(x, W):
    """The causal attention softmax(x W x^T), row by row."""
    rows = []
    for i in range(len(x)):
        z = x[: i + 1] @ W.T @ x[i]
        e = np.exp(z - z.max())
        rows.append(np.append(e / e.sum(), np.zeros(len(x) - i - 1)))
    return np.array(rows)


def test_the_teacher_is_the_causal_attention_of_the_weights():
    case = Made("attention_pruning")
    x, W = np.asarray(case.problem.heldout), np.asarray(case.problem.weights)
    got = imitation.teacher(case.problem.heldout, case.problem)
    np.testing.assert_allclose(got, [literal(one, W) for one in x], rtol=1e-9, atol=1e-12)


def test_the_loss_is_the_squared_distance_from_what_the_teacher_carries():
    case = Made("attention_pruning", seed=1)
    x, W = np.asarray(case.batch.inputs), np.asarray(case.problem.weights)
    want = np.array([literal(one, W) @ one for one in x])
    gap = np.sum((np.asarray(case.outputs()) - want) ** 2, axis=2)
    np.testing.assert_allclose(case.loss(), np.mean(gap) / 2, rtol=1e-9)


def test_the_teacher_is_its_own_best_imitation():
    case = Made("attention_pruning", seed=2)
    teacher = lambda batch: imitation.teacher(batch.inputs, case.problem)
    metrics = case.metrics(
        lambda batch: teacher(batch) @ batch.inputs, lambda batch: teacher(batch)[None, :, None]
    )
    assert metrics["loss"] == pytest.approx(0, abs=1e-20) and case.optimal() == {"loss": 0.0}
    assert metrics["attention_overlap"] == pytest.approx(1)
    nothing = case.metrics(lambda batch: jnp.zeros_like(batch.inputs), without_maps)
    assert nothing["relative_error"] == pytest.approx(1)
    assert np.isnan(nothing["attention_overlap"])
    assert 0 < case.metrics()["attention_overlap"] < 1


def test_padded_tokens_and_sequences_count_for_nothing():
    plain = Made("attention_pruning")
    padded = Made("attention_pruning", L=Size(9, 7), S=Size(3, 2))
    outputs = lambda x, more: jnp.pad(x, ((0, more), (0, 2), (0, 0)), constant_values=3.0)
    np.testing.assert_allclose(padded.loss(outputs(plain.outputs(), 1)), plain.loss(), rtol=1e-9)
    heldout = imitation.Batch(plain.problem.heldout)
    metrics = padded.metrics(
        lambda batch: outputs(plain.outputs(heldout), 0),
        lambda batch: jnp.pad(plain.maps(heldout), ((0, 0), (0, 0), (0, 0), (0, 2), (0, 2))),
    )
    for name, value in plain.metrics().items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-9, err_msg=name)
    at = padded.task.edges(padded.batch, padded.problem, padded.config)
    want = plain.task.edges(plain.batch, plain.problem, plain.config)
    np.testing.assert_array_equal(at[:2, :7, :7], want)
    assert not np.any(at[:, 7:]) and not np.any(at[:, :, 7:])
    padded = Made("attention_pruning", L=Size(9, 7), S=Size(3, 2), d=Size(8, 6))
    for information in ("prompt", "tokens"):
        loss_without = [
            c.task.optimal_without(information, c.problem, c.config) for c in (padded, plain)
        ]
        np.testing.assert_allclose(*loss_without, rtol=1e-9)


SETTINGS = [{}, {"tau": 3.0, "Mc": "full"}, {"tau": 20.0, "Mc": "block", "d": 2, "r": 1}]


def rows(x, problem):
    """f* of one sequence under the attention mask of the problem, row by row."""
    W, mask = np.asarray(problem.weights), np.asarray(problem.attention_mask)
    out = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        z = x @ W.T @ x[i]
        e = np.where(mask[i], np.exp(z - z[mask[i]].max()), 0)
        out[i] = e / e.sum()
    return out


@pytest.mark.parametrize("settings", [*SETTINGS, {"L": 1}], ids=str)
def test_edges_lead_to_the_largest_attention(settings):
    case = Made("attention_pruning", seed=3, **settings)
    x = np.asarray(case.batch.inputs)
    want = np.zeros((2, *case.problem.attention_mask.shape), bool)
    for s, one in enumerate(x):
        for i, row in enumerate(rows(one, case.problem)):
            want[s, i, row.argmax()] = row.argmax() != i
    got = case.task.edges(case.batch, case.problem, case.config)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_loss_without_the_prompt_is_that_of_a_constant_answer(settings):
    case = Made("attention_pruning", seed=4, S=3000, **settings)
    carried = lambda x: np.array([rows(one, case.problem) @ one for one in np.asarray(x)])
    got = case.task.optimal_without("prompt", case.problem, case.config)
    want = np.mean(np.sum(carried(case.problem.heldout) ** 2, axis=2)) / 2
    np.testing.assert_allclose(got, want, rtol=1e-9)
    y = carried(case.batch.inputs)
    assert np.all(abs(y.mean(axis=0)) < 4 * y.std(axis=0) / np.sqrt(len(y)))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_loss_without_the_largest_key_is_that_of_tokens_drawn_anew(settings):
    """The variance of f* X where x_m is drawn anew, given the logit of the query."""
    case, draws = Made("attention_pruning", seed=5, **settings), 3000
    random = np.random.default_rng(0)
    x, W = np.asarray(case.problem.heldout), np.asarray(case.problem.weights)
    mask, total, error = np.asarray(case.problem.attention_mask), 0.0, 0.0
    for one in x:
        for i, row in enumerate(rows(one, case.problem)):
            m = row.argmax()
            if m == i:
                continue
            w = W.T @ one[i] / np.linalg.norm(W.T @ one[i])
            new = random.normal(size=(draws, x.shape[2]))
            new += np.outer(w @ one[m] - new @ w, w)
            many = np.repeat(one[None], draws, axis=0)
            many[:, m] = new
            z = np.where(mask[i][None], many @ (W.T @ one[i]), -np.inf)
            e = np.exp(z - z.max(axis=1, keepdims=True))
            y = np.einsum("nj,njd->nd", e / e.sum(axis=1, keepdims=True), many)
            half = np.sum((y - y.mean(axis=0)) ** 2, axis=1) / 2 * draws / (draws - 1)
            total, error = total + half.mean(), error + half.var() / draws
    places = x.shape[0] * x.shape[1]
    got = case.task.optimal_without("tokens", case.problem, case.config)
    assert abs(got - total / places) < 4 * np.sqrt(error) / places


@pytest.mark.parametrize("settings", [{"L": 1}, {"d": 1, "r": 1}], ids=str)
def test_nothing_is_lost_without_another_token_or_another_direction(settings):
    case = Made("attention_pruning", **settings)
    assert case.task.optimal_without("tokens", case.problem, case.config) == 0


@pytest.mark.parametrize("settings", [{}, {"d": 1, "r": 1, "L": 1}], ids=str)
def test_fresh_sequences_have_the_law_of_the_training_sequences(settings):
    case = Made("attention_pruning", S=1000, seed=6, **settings)
    one, second = (case.task.fresh(run_key(7, s), case.problem, case.config).inputs for s in (0, 1))
    trained = case.batch.inputs
    assert one.shape == trained.shape and one.dtype == trained.dtype
    assert not np.any(np.isin(one, second)) and not np.any(np.isin(one, trained))
    for x in (one, trained):
        assert abs(x.mean()) < 4 / np.sqrt(x.size)
        assert abs(x.var() - 1) < 4 * np.sqrt(2 / x.size)
