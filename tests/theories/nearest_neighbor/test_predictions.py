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
    made = data.problem(KEY, config)
    found = measure(model.init(KEY, made, config), made, config)
    np.testing.assert_allclose(found["loss"], (4 / 25 - 2 / 5 + 1) / 2, rtol=1e-12)
    np.testing.assert_allclose(
        [found["nearest_attention"], found["query_attention"], found["shift_error"]],
        [0.2, 0.2, 4 / 25 - 2 / 5 + 1],
    )
    perfect = measure(Reduced(jnp.asarray(1e4), jnp.asarray(3e4)), made, config)
    assert perfect["agreement"] > 0.99 and perfect["loss"] < 1e-3
    assert all(np.isfinite(value) for name, value in perfect.items() if name != "population_loss")
    assert np.isnan(perfect["population_loss"])  # not resolved


def test_a_full_matrix_measures_as_its_parameters():
    made, params = data.problem(KEY, SMALL), Reduced(jnp.asarray(2.0), jnp.asarray(1.5))
    one, other = measure(params, made, SMALL), measure(calculus.lift(params, SMALL), made, SMALL)
    for name in one:
        np.testing.assert_allclose(one[name], other[name], rtol=1e-9, atol=1e-12, err_msg=name)
    tilted = calculus.lift(params, SMALL).W.at[0, 1].set(0.5).at[0, 0].add(0.3)
    found = measure(Full(tilted), made, SMALL)
    np.testing.assert_allclose([found["off_diagonal"], found["diagonal_spread"]], [0.5, 0.3])
    np.testing.assert_allclose(found["off_structure"], np.sqrt(0.25 + 0.2**2 + 2 * 0.1**2))
