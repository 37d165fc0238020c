"""Runs: the routes agree, W keeps its form as prompts grow, the laws of late times, metrics at special points."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtheory
from jaxtheory.theories.nearest_neighbor import (
    THEORY,
    TIE,
    Config,
    Full,
    Reduced,
    attend,
    bound,
    early_bound,
    flow,
    gap_density,
    init,
    lift,
    metrics,
    population_gradient,
    population_loss,
    power_laws,
    predict,
    problem,
    shift_bound,
    valley,
)
from jaxtheory.theories.nearest_neighbor.model import make_prompts

SMALL = Config(dimension=3, context=4, num_prompts=2000, num_test=500, mask=3.0)
KEY = jaxtheory.run_key(0, 1)
measure, look = jax.jit(metrics), jax.jit(lambda xi1, xi2, config: population_loss(Reduced(xi1, xi2), config))


def run(algorithm, config=SMALL, **options):
    return jaxtheory.simulate(
        THEORY, config, KEY, algorithm=algorithm, **{"steps": 60, "record": [0, 1, 30, 60], "dtype": "float64", **options}
    )


def test_all_routes_learn_the_same():
    runs = {name: run(name) for name in THEORY.algorithms}
    exact = runs["population"].metrics
    for found in runs.values():
        np.testing.assert_allclose(found.metrics["xi1"], exact["xi1"], rtol=0.05)
        np.testing.assert_allclose(found.metrics["xi2"], exact["xi2"], rtol=0.02)
        assert np.all(np.diff(found.metrics["loss"]) < 0) and np.all(np.diff(found.metrics["xi2"]) >= 0)
    first = runs["literal"].metrics["xi1"][1], runs["reduced"].metrics["xi1"][1]
    np.testing.assert_allclose(*first, rtol=1e-12)  # the first step is the same on any prompts
    assert runs["literal"].metrics["off_structure"][-1] > 0 == runs["reduced"].metrics["off_structure"][-1]


def test_drawn_labels_move_what_averaged_ones_do_not():
    averaged, drawn = (
        run("literal", SMALL.replace(labels=labels), steps=20, record=[20]).params.W for labels in ("averaged", "rademacher")
    )
    assert np.all(averaged[3] == 0) and np.any(drawn[3] != 0)  # the row that meets labels
    assert np.all(averaged[:, 3] == 0) and np.all(drawn[:, 3] == 0)  # the column that meets the query's


def test_padded_columns_of_w_stay_zero():
    padded = SMALL.replace(num_prompts=50).pad(dimension=5, context=6, num_prompts=60, num_test=510)
    W = run("literal", padded, steps=5, record=[5]).params.W
    assert W.shape == (7, 7) and not np.any(W[3:5]) and not np.any(W[:, 3:5])
    plain = run("literal", SMALL.replace(num_prompts=50), steps=5, record=[5]).params.W
    keep = [0, 1, 2, 5, 6]
    np.testing.assert_allclose(W[np.ix_(keep, keep)], plain, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(("d", "N", "xi1", "xi2"), [(2, 3, 6.0, 1.0), (4, 4, 7.5, 10.3), (8, 16, 20.0, 18.0), (32, 64, 3.0, 0.0)])
def test_the_population_is_what_many_prompts_tend_to(d, N, xi1, xi2):
    config = Config(dimension=d, context=N)
    t = np.random.default_rng(0).beta((d - 1) / 2, (d - 1) / 2, size=(20000, N)) * 2 - 1
    z = np.concatenate([xi1 * t, np.full((len(t), 1), xi1 - xi2)], axis=1)
    s = np.exp(z - z.max(axis=1, keepdims=True))
    s /= s.sum(axis=1, keepdims=True)
    losses = (np.sum(s[:, :-1] ** 2, axis=1) - 2 * s[np.arange(len(t)), np.argmax(t, axis=1)] + 1) / 2
    assert abs(look(xi1, xi2, config) - losses.mean()) < 4 * losses.std() / np.sqrt(len(t))


def test_the_population_at_special_points():
    config = Config(dimension=5, context=7)
    np.testing.assert_allclose(look(0.0, 0.0, config), (7 / 64 - 2 / 8 + 1) / 2, rtol=1e-12)  # s = 1/8
    np.testing.assert_allclose(look(0.0, 60.0, config), (1 / 7 - 2 / 7 + 1) / 2, rtol=1e-12)  # s = 1/7
    np.testing.assert_allclose(look(3.0, 60.0, config.replace(context=config.context.wrap(1))), 0, atol=1e-12)
    assert np.isnan(look(41.0, 9.0, config)) and np.isfinite(look(39.0, 90.0, config))
    slope = population_gradient(Reduced(jnp.asarray(0.0), jnp.asarray(1.0)), config)
    assert all(np.isfinite(leaf) for leaf in jax.tree.leaves(slope)) and slope.xi2 < 0
    np.testing.assert_allclose(flow(Reduced(jnp.asarray(0.0), jnp.asarray(1.0)), config).xi1, -slope.xi1 / 5)


def test_the_laws_of_late_times():
    config = Config(dimension=3, context=5, learning_rate=2.0)
    assert np.isclose(gap_density(config), 2.5) and np.isclose(TIE, np.log(2) - 0.5)
    xi1, loss = power_laws(jnp.array([0, 1000]), config)
    np.testing.assert_allclose(xi1, [0, (3 * TIE * 2.5 * 2 * 1000 / 3) ** (1 / 3)])
    assert np.isnan(loss[0]) and np.isclose(loss[1], TIE * 2.5 / xi1[1])
    deep = valley(jnp.array([0.0, 1e3, 1e6, 1e12]), config)
    ratio = np.asarray(deep[1] / deep[0])
    assert np.isnan(ratio[0]) and np.all(np.diff(ratio[1:]) > 0) and 1.8 < ratio[-1] < 2
    for nothing in (config.replace(dimension=config.dimension.wrap(2)), config.replace(context=config.context.wrap(1))):
        assert all(np.all(np.isnan(curve)) for curve in predict(None, nothing, np.array([1, 100])).values())


def test_what_a_run_without_steps_measures():
    config = SMALL.replace(mask=0.0, separation=0.5)
    data = problem(KEY, config)
    found = measure(init(KEY, data, config), data, config)
    np.testing.assert_allclose(found["loss"], (4 / 25 - 2 / 5 + 1) / 2, rtol=1e-12)
    np.testing.assert_allclose([found["nearest_attention"], found["query_attention"], found["shift_error"]], [0.2, 0.2, 4 / 25 - 2 / 5 + 1])
    perfect = measure(Reduced(jnp.asarray(1e4), jnp.asarray(3e4)), data, config)
    assert perfect["agreement"] > 0.99 and perfect["loss"] < 1e-3 and perfect["early_bound_ratio"] <= 1e12
    assert all(np.isfinite(value) for name, value in perfect.items() if name != "population_loss")
    assert np.isnan(perfect["population_loss"])  # not resolved


def test_a_full_matrix_measures_as_its_parameters():
    data, params = problem(KEY, SMALL), Reduced(jnp.asarray(2.0), jnp.asarray(1.5))
    one, other = measure(params, data, SMALL), measure(lift(params, SMALL), data, SMALL)
    for name in one:
        np.testing.assert_allclose(one[name], other[name], rtol=1e-9, atol=1e-12, err_msg=name)
    tilted = lift(params, SMALL).W.at[0, 1].set(0.5).at[0, 0].add(0.3)
    found = measure(Full(tilted), data, SMALL)
    np.testing.assert_allclose([found["off_diagonal"], found["diagonal_spread"]], [0.5, 0.3])
    np.testing.assert_allclose(found["off_structure"], np.sqrt(0.25 + 0.2**2 + 2 * 0.1**2))


def test_the_printed_bound_fails_where_the_query_is_far_from_every_example():
    config = Config(dimension=2, context=2)
    x = jnp.array([[[-1.0, 0.0], [-0.8, -0.6]]])
    prompts = make_prompts(x, jnp.array([[0.0, 1.0]]), jnp.array([[1.0, -1.0]]), 1, config)
    params, delta = Reduced(jnp.asarray(9.0), jnp.asarray(9.0)), 1.2  # |x - q|^2 = 2 and 3.2; the query's logit equals the nearest's
    s = attend(params, prompts, config)
    error = abs(float(s[0, 0] - s[0, 1]) - 1)
    assert 0.4 < error <= float(bound(params, prompts, delta, config)[0])
    assert error > 10 * float(early_bound(params, prompts, delta, config)[0])
    assert np.isclose(float(shift_bound(params, delta, config)), 2 * (np.exp(-5.4) + np.exp(-9)) ** 2)
