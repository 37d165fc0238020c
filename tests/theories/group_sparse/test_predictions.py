"""Metrics at the start and of perfect predictors."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.draws import run_key
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
