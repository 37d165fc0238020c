"""Metrics at special points, of two parameters and of a matrix."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxtheory
from jaxtheory.theories.nearest_neighbor import Config, calculus, data, model, predictions
from jaxtheory.theories.nearest_neighbor.model import Full, Reduced

SMALL = Config(dimension=3, context=4, num_prompts=2000, num_test=500, mask=3.0)
KEY = jaxtheory.run_key(0, 1)
measure = jax.jit(predictions.metrics)


def test_what_a_run_without_steps_measures():
    config = SMALL.replace(mask=0.0, separation=0.5)
    problem = data.problem(KEY, config)
    metrics = measure(model.init(KEY, problem, config), problem, config)
    np.testing.assert_allclose(metrics["loss"], (4 / 25 - 2 / 5 + 1) / 2, rtol=1e-12)
    np.testing.assert_allclose(
        [metrics["nearest_attention"], metrics["query_attention"], metrics["shift_error"]],
        [0.2, 0.2, 4 / 25 - 2 / 5 + 1],
    )
    perfect = measure(Reduced(jnp.asarray(1e4), jnp.asarray(3e4)), problem, config)
    assert perfect["agreement"] > 0.99 and perfect["loss"] < 1e-3
    assert all(np.isfinite(value) for name, value in perfect.items() if name != "population_loss")
    assert np.isnan(perfect["population_loss"])  # not resolved


def test_a_full_matrix_measures_as_its_parameters():
    problem, params = data.problem(KEY, SMALL), Reduced(jnp.asarray(2.0), jnp.asarray(1.5))
    reduced, full = (
        measure(params, problem, SMALL),
        measure(calculus.lift(params, SMALL), problem, SMALL),
    )
    for name in reduced:
        np.testing.assert_allclose(reduced[name], full[name], rtol=1e-9, atol=1e-12, err_msg=name)
    tilted = calculus.lift(params, SMALL).W.at[0, 1].set(0.5).at[0, 0].add(0.3)
    metrics = measure(Full(tilted), problem, SMALL)
    np.testing.assert_allclose([metrics["off_diagonal"], metrics["diagonal_spread"]], [0.5, 0.3])
    np.testing.assert_allclose(metrics["off_structure"], np.sqrt(0.25 + 0.2**2 + 2 * 0.1**2))
