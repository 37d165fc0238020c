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
    made = draw(KEY, SMALL)
    for params in (model.init(KEY, made, SMALL), Linear(jnp.zeros((2, 3)))):
        found = measure(params, made, SMALL)
        assert all(np.isfinite(v) for v in found.values())
        assert found["value_cosine"] == found["value_norm_ratio"] == found["off_structure"] == 0
        np.testing.assert_allclose(
            [found["loss"], found["relevant_attention"], found["relevant_attention_worst"]],
            [np.log(2), 1 / 3, 1 / 3],
        )


def test_a_perfect_layer_and_a_perfect_linear_predictor():
    made = draw(KEY, SMALL)
    beta = 50.0 * made.downstream_truth[:, None] * jnp.asarray([[0.0, 1.0, 0.0]])
    found = measure(Linear(beta), made, SMALL)
    np.testing.assert_allclose(
        [
            found[n]
            for n in ("accuracy", "relevant_attention_worst", "value_cosine", "value_norm_ratio")
        ],
        1,
        rtol=1e-12,
    )
    start = model.init(KEY, made, SMALL)
    scores = jnp.zeros((3, 3)).at[1].set(40.0)  # all queries on group 2
    P = jnp.sin(jnp.pi / 4 * jnp.outer(jnp.arange(1.0, 4), jnp.arange(1.0, 4)))
    found = measure(start._replace(v1=50.0 * made.truth, W22=P @ scores @ P / 4), made, SMALL)
    np.testing.assert_allclose(
        [found[n] for n in ("accuracy", "relevant_attention_worst", "value_cosine")], 1, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("column", "every", "share"),
    [([1, 1, 1], True, 1), ([1, 1, 1], False, 1), ([0, 1, 1], False, 2 / 3)],
)
def test_the_share_off_the_form_is_that_of_the_nearest_layer(column, every, share):
    """D = 3, j* = 1, A = P^T W22 P with columns that do not sum to 0: one, or every one."""
    A = np.array(column)[:, None] * np.array([1, every, every])
    config = SMALL.replace(relevant_group=1)
    made = draw(KEY, config)
    P = np.sin(np.pi / 4 * np.outer(np.arange(1, 4), np.arange(1, 4)))
    W22 = jnp.asarray(P @ A @ P / 4)
    found = measure(model.init(KEY, made, config)._replace(W22=W22), made, config)
    np.testing.assert_allclose(found["off_structure"], share, rtol=1e-12)
