"""The task of imitating an attention layer."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, without_maps

from jaxtheory.core.config import Size
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
