"""The task of nearest neighbors."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, one_hot_maps, without_maps

from jaxtheory.core.config import Size


def test_the_network_sees_the_tokens_of_the_theory():
    case = Made("nearest_neighbor")
    x, prompts = np.asarray(case.inputs()), case.batch
    assert x.shape == (12, 5, 6)
    np.testing.assert_array_equal(x[:, :4, :4], prompts.x)
    np.testing.assert_array_equal(x[:, :4, 4], prompts.y)
    np.testing.assert_array_equal(x[:, 4, :4], prompts.q)
    assert not np.any(x[:, :4, 5]) and not np.any(x[:, 4, 4]) and np.all(x[:, 4, 5] == 1)


def test_averaged_labels_are_drawn_as_gaussian_ones():
    averaged, drawn = Made("nearest_neighbor"), Made("nearest_neighbor", labels="gaussian")
    np.testing.assert_array_equal(averaged.batch.y, drawn.batch.y)
    assert set(np.unique(Made("nearest_neighbor", labels="rademacher").batch.y)) == {-1.0, 1.0}


def neighbor(batch):
    """The answer of one-nearest-neighbor prediction, from distances alone."""
    near = np.argmin(np.linalg.norm(batch.x - batch.q[:, None], axis=2), axis=1)
    f = np.asarray(batch.y)[np.arange(len(near)), near]
    return jnp.broadcast_to(jnp.asarray(f)[:, None, None], (len(f), batch.x.shape[1] + 1, 1))


def test_the_loss_is_half_the_squared_distance_from_the_nearest_label():
    case = Made("nearest_neighbor", seed=1)
    f, want = np.asarray(case.outputs())[:, -1, 0], np.asarray(neighbor(case.batch))[:, 0, 0]
    np.testing.assert_allclose(case.loss(), np.mean((f - want) ** 2) / 2, rtol=1e-12)


def test_the_nearest_neighbor_is_the_best_answer_under_shift_too():
    case = Made("nearest_neighbor", seed=2, delta=0.7)
    metrics = case.metrics(neighbor)
    for name in ("loss", "shift_error", "separated_error"):
        assert metrics[name] == pytest.approx(0, abs=1e-20)
    for name in ("accuracy", "shift_agreement", "separated_agreement"):
        assert metrics[name] == pytest.approx(1)
    assert case.optimal() == {"loss": 0.0, "accuracy": 1.0}
    assert case.metrics()["loss"] > 0.1


def test_attention_to_the_nearest_example_is_seen():
    case = Made("nearest_neighbor", seed=3)
    right = lambda batch: one_hot_maps(batch.nearest, (len(batch.y), 5), heads=2)
    assert case.metrics(maps=right)["nearest_attention"] == pytest.approx(1)
    wrong = lambda batch: one_hot_maps((batch.nearest + 1) % 4, (len(batch.y), 5))
    assert case.metrics(maps=wrong)["nearest_attention"] == pytest.approx(0)
    assert np.isnan(case.metrics(maps=without_maps)["nearest_attention"])


def test_padded_examples_and_prompts_count_for_nothing():
    plain = Made("nearest_neighbor")
    padded = Made("nearest_neighbor", N=Size(7, 4), B=Size(15, 12), M=Size(13, 10))
    x = np.asarray(padded.inputs())
    assert x.shape == (15, 8, 6) and not np.any(x[:, 5:])
    np.testing.assert_allclose(x[:12, :5], plain.inputs(), atol=1e-12)
    fill = lambda batch: jnp.pad(
        plain.outputs(plain.problem.test), ((0, 3), (0, 3), (0, 0)), constant_values=2.0
    )
    big = lambda batch: jnp.pad(
        plain.maps(plain.problem.test), ((0, 0), (0, 3), (0, 0), (0, 3), (0, 3))
    )
    metrics = padded.metrics(fill, big)
    for name, value in plain.metrics().items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-9, err_msg=name)
