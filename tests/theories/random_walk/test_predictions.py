"""Metrics of given parameters."""

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.ops.draws import run_key
from jaxtheory.theories.random_walk import Config, data, model, predictions
from jaxtheory.theories.random_walk.model import Reduced

SMALL = Config(num_states=5, length=9, num_sequences=20, encoding_dim=12, clockwise_probability=0.7)
draw, start, measure = map(jax.jit, (data.problem, model.init, predictions.metrics))


def test_metrics_at_zero_and_ties():
    config = SMALL
    problem = draw(run_key(0, 0), config)
    metrics = measure(start(run_key(0, 0), problem, config), problem, config)
    chex.assert_tree_all_finite(metrics)
    entropy = -(0.7 * np.log(0.7) + 0.3 * np.log(0.3))
    np.testing.assert_allclose(metrics["kl"], np.log(5) - entropy)
    assert (
        metrics["value_direction_error"] == 1
        and metrics["value_ratio"] == 1
        and metrics["value_spread"] == 0
        and metrics["selected_lag"] == 8
    )
    tied = Reduced(
        (1 + 1e-10 * jnp.arange(5.0))[:, None] * jnp.ones((1, 5)), jnp.zeros(5), jnp.zeros(9)
    )
    distinct = tied._replace(V=(1 + 1e-8 * jnp.arange(5.0))[:, None] * jnp.ones((1, 5)))
    share = lambda state: np.mean(np.asarray(data.label_law(problem.test, config))[:, state])
    np.testing.assert_allclose(measure(tied, problem, config)["accuracy"], share(0), rtol=1e-12)
    np.testing.assert_allclose(measure(distinct, problem, config)["accuracy"], share(4), rtol=1e-12)


def test_the_selected_lag_counts_from_the_label():
    problem = draw(run_key(0, 0), SMALL)
    for lag in (1, 3, 8):
        scores = jnp.zeros(9).at[8 - lag].set(50.0)
        metrics = measure(Reduced(jnp.eye(5), jnp.zeros(5), scores), problem, SMALL)
        assert metrics["selected_lag"] == lag
        np.testing.assert_allclose(
            metrics["parent_attention"] + metrics["stray_attention"], 1, rtol=1e-12
        )
        assert (metrics["parent_attention"] > 0.99) == (lag == 1)
