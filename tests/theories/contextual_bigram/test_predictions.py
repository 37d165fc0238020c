"""Metrics and analyses of given parameters."""

import jax
import numpy as np

import jaxtheory
from jaxtheory.theories.contextual_bigram import Config, data, model, predictions
from jaxtheory.theories.contextual_bigram.model import Params

KEY = jaxtheory.run_key(0, 1)


def test_a_column_without_a_positive_entry_is_flagged():
    config = Config(length=6)
    task = jax.jit(data.problem)(KEY, config)
    A = model.init(KEY, task, config).attention.at[:, 1].set(-0.1)
    analyses = predictions.analyses(Params(A, task.transition), task, config)
    assert analyses["empty_columns"] == 1 and all(np.isfinite(v) for v in analyses.values())


def test_metrics_at_the_start_and_at_the_task():
    config = Config(length=40)
    task = jax.jit(data.problem)(KEY, config)
    start, end = (
        predictions.metrics(model.init(KEY, task, config), task, config),
        predictions.metrics(Params(task.context, task.transition), task, config),
    )
    mu, P, Q = (np.asarray(x) for x in (task.stationary, task.transition, task.context))
    zero = (
        "attention_alignment",
        "value_alignment",
        "attention_residual",
        "value_residual",
        "value_cosine_centered",
        "right_sign",
    )
    assert all(abs(start[name]) < 1e-12 for name in zero)
    np.testing.assert_allclose(start["relative_excess_loss"], 1, rtol=1e-12)
    np.testing.assert_allclose(
        start["value_cosine"], np.linalg.norm(mu) / np.sqrt(np.sum(mu * P**2)), rtol=1e-12
    )
    np.testing.assert_allclose(
        start["attention_cosine"], np.sqrt(1 / 40 / np.sum(mu * Q**2)), rtol=1e-12
    )
    ones = (
        "attention_alignment",
        "value_alignment",
        "attention_cosine",
        "value_cosine",
        "value_cosine_centered",
        "support_match",
    )
    np.testing.assert_allclose([end[name] for name in ones], 1, rtol=1e-12)
    assert abs(end["excess_loss"]) < 1e-15 and end["attention_distance"] == 0
