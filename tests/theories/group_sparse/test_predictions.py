"""Metrics at the start and of perfect predictors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.ops.draws import run_key
from jaxtheory.theories.group_sparse import Config, data, model, predictions
from jaxtheory.theories.group_sparse.model import Linear

KEY = run_key(0, 0)
SMALL = Config(group_dim=2, num_groups=3, num_samples=60, downstream_samples=20)
draw, measure = jax.jit(data.problem), jax.jit(predictions.metrics)


def test_metrics_at_the_zero_start():
    problem = draw(KEY, SMALL)
    for params in (model.init(KEY, problem, SMALL), Linear(jnp.zeros((2, 3)))):
        metrics = measure(params, problem, SMALL)
        assert all(np.isfinite(v) for v in metrics.values())
        assert (
            metrics["value_cosine"] == metrics["value_norm_ratio"] == metrics["off_structure"] == 0
        )
        np.testing.assert_allclose(
            [metrics["loss"], metrics["relevant_attention"], metrics["relevant_attention_worst"]],
            [np.log(2), 1 / 3, 1 / 3],
        )


def test_a_perfect_layer_and_a_perfect_linear_predictor():
    problem = draw(KEY, SMALL)
    beta = 50.0 * problem.downstream_truth[:, None] * jnp.asarray([[0.0, 1.0, 0.0]])
    metrics = measure(Linear(beta), problem, SMALL)
    np.testing.assert_allclose(
        [
            metrics[n]
            for n in ("accuracy", "relevant_attention_worst", "value_cosine", "value_norm_ratio")
        ],
        1,
        rtol=1e-12,
    )
    start = model.init(KEY, problem, SMALL)
    scores = jnp.zeros((3, 3)).at[1].set(40.0)  # all queries on group 2
    P = jnp.sin(jnp.pi / 4 * jnp.outer(jnp.arange(1.0, 4), jnp.arange(1.0, 4)))
    metrics = measure(
        start._replace(v1=50.0 * problem.truth, W22=P @ scores @ P / 4), problem, SMALL
    )
    np.testing.assert_allclose(
        [metrics[n] for n in ("accuracy", "relevant_attention_worst", "value_cosine")],
        1,
        rtol=1e-12,
    )


@pytest.mark.parametrize(
    ("column", "every", "share"),
    [([1, 1, 1], True, 1), ([1, 1, 1], False, 1), ([0, 1, 1], False, 2 / 3)],
)
def test_the_share_off_the_form_is_that_of_the_nearest_layer(column, every, share):
    """D = 3, j* = 1, A = P^T W22 P with columns that do not sum to 0: one, or every one."""
    A = np.array(column)[:, None] * np.array([1, every, every])
    config = SMALL.replace(relevant_group=1)
    problem = draw(KEY, config)
    P = np.sin(np.pi / 4 * np.outer(np.arange(1, 4), np.arange(1, 4)))
    W22 = jnp.asarray(P @ A @ P / 4)
    metrics = measure(model.init(KEY, problem, config)._replace(W22=W22), problem, config)
    np.testing.assert_allclose(metrics["off_structure"], share, rtol=1e-12)
