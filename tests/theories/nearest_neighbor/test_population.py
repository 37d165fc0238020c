"""The population: many prompts, special points, the laws of late times."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.theories.nearest_neighbor import Config, predictions
from jaxtheory.theories.nearest_neighbor.laws import population
from jaxtheory.theories.nearest_neighbor.model import Problem, Reduced

look = jax.jit(lambda xi1, xi2, config: population.loss(Reduced(xi1, xi2), config))


@pytest.mark.parametrize(
    ("d", "N", "xi1", "xi2"),
    [(2, 3, 6.0, 1.0), (4, 4, 7.5, 10.3), (8, 16, 20.0, 18.0), (32, 64, 3.0, 0.0)],
)
def test_the_population_is_what_many_prompts_tend_to(d, N, xi1, xi2):
    config = Config(dimension=d, context=N)
    t = np.random.default_rng(0).beta((d - 1) / 2, (d - 1) / 2, size=(20000, N)) * 2 - 1
    z = np.concatenate([xi1 * t, np.full((len(t), 1), xi1 - xi2)], axis=1)
    s = np.exp(z - z.max(axis=1, keepdims=True))
    s /= s.sum(axis=1, keepdims=True)
    losses = (
        np.sum(s[:, :-1] ** 2, axis=1) - 2 * s[np.arange(len(t)), np.argmax(t, axis=1)] + 1
    ) / 2
    assert abs(look(xi1, xi2, config) - losses.mean()) < 4 * losses.std() / np.sqrt(len(t))


def test_the_population_at_special_points():
    config = Config(dimension=5, context=7)
    np.testing.assert_allclose(
        look(0.0, 0.0, config), (7 / 64 - 2 / 8 + 1) / 2, rtol=1e-12
    )  # s = 1/8
    np.testing.assert_allclose(
        look(0.0, 60.0, config), (1 / 7 - 2 / 7 + 1) / 2, rtol=1e-12
    )  # s = 1/7
    np.testing.assert_allclose(
        look(3.0, 60.0, config.replace(context=config.context.wrap(1))), 0, atol=1e-12
    )
    assert np.isnan(look(41.0, 9.0, config)) and np.isfinite(look(39.0, 90.0, config))
    slope = population.gradient(Reduced(jnp.asarray(0.0), jnp.asarray(1.0)), config)
    assert all(np.isfinite(leaf) for leaf in jax.tree.leaves(slope)) and slope.xi2 < 0
    np.testing.assert_allclose(
        population.flow(Reduced(jnp.asarray(0.0), jnp.asarray(1.0)), config).xi1, -slope.xi1 / 5
    )


def test_the_laws_of_late_times():
    config = Config(dimension=3, context=5, learning_rate=2.0)
    assert np.isclose(population.gap_density(config), 2.5) and np.isclose(
        population.TIE, np.log(2) - 0.5
    )
    xi1, loss = population.power_laws(jnp.array([0, 1000]), config)
    np.testing.assert_allclose(xi1, [0, (3 * population.TIE * 2.5 * 2 * 1000 / 3) ** (1 / 3)])
    assert np.isnan(loss[0]) and np.isclose(loss[1], population.TIE * 2.5 / xi1[1])
    deep = population.valley(jnp.array([0.0, 1e3, 1e6, 1e12]), config)
    ratio = np.asarray(deep[1] / deep[0])
    assert np.isnan(ratio[0]) and np.all(np.diff(ratio[1:]) > 0) and 1.8 < ratio[-1] < 2
    unread = Problem._make([None] * 3)
    for nothing in (
        config.replace(dimension=config.dimension.wrap(2)),
        config.replace(context=config.context.wrap(1)),
    ):
        assert all(
            np.all(np.isnan(curve))
            for curve in predictions.predict(unread, nothing, np.array([1, 100])).values()
        )
