"""Runs: literal and reduced, symmetric ones that learn nothing, and what the theory predicts of
them.
"""

from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.core.config import Size, canonical
from jaxtheory.ops.draws import run_key
from jaxtheory.theories.random_walk import (
    THEORY,
    Config,
    calculus,
    data,
    model,
    predictions,
    training,
)
from jaxtheory.theories.random_walk.model import Literal, Problem, Reduced

SMALL = Config(num_states=5, length=9, num_sequences=20, encoding_dim=12, clockwise_probability=0.7)
UNREAD = Problem(None, None)  # where the problem is not looked at
draw, start, white_start, transform = map(
    jax.jit, (data.problem, model.init, training.init_literal, calculus.reduce)
)


def train(seed, config, steps, algorithm="reduced"):
    return _train(run_key(0, seed), canonical(config, np.float64), steps, algorithm)


@partial(jax.jit, static_argnums=(2, 3))
def _train(key, config, steps, algorithm):
    """The final params and the metrics at steps 0..steps."""
    problem, algorithm = data.problem(key, config), THEORY.algorithms[algorithm]

    def one(state, t):
        metrics = predictions.metrics(algorithm.params(state, problem, config), problem, config)
        return algorithm.step(key, t, state, problem.train, problem, config), metrics

    state, measured = jax.lax.scan(one, algorithm.init(key, problem, config), jnp.arange(steps + 1))
    return state, measured


@pytest.mark.parametrize(("tokens", "value"), [("raw", "mlp"), ("unit", "linear")])
def test_one_key_gives_the_literal_and_the_reduced_run(tokens, value):
    config = SMALL.replace(
        init_scale=0.1,
        tokens=tokens,
        value=value,
        hidden_width=4,
        learning_rate=0.1,
        loss_function="square",
    )
    _, reduced = train(3, config, 10)
    _, literal = train(3, config, 10, "literal")
    chex.assert_trees_all_close(literal, reduced, rtol=1e-9)
    assert not np.allclose(reduced["loss"][0], reduced["loss"][-1], rtol=1e-3)


def test_the_literal_start_is_white():
    config = Config(num_states=5, length=6, encoding_dim=40, num_sequences=3, init_scale=0.5)
    W = np.asarray(white_start(run_key(0, 1), UNREAD, config).W)
    assert abs(W.std() - 0.5) < 5 * 0.5 / np.sqrt(2 * W.size) and abs(W.mean()) < 5 * 0.5 / np.sqrt(
        W.size
    )
    scores = transform(white_start(run_key(0, 1), UNREAD, config), config)
    chex.assert_trees_all_close(scores, start(run_key(0, 1), UNREAD, config), rtol=1e-10)


def test_deterministic_walks_stay_exactly_symmetric():
    """N = 97 and K = 6, 8, 12 at p = 0 and 1, padded to K = 20 and N = 101, as lanes of one vmap:
    the spread is 0, not merely small.
    """
    lanes = [(K, p) for K in (6, 8, 12) for p in (0.0, 1.0)]
    configs = [
        canonical(
            Config(num_states=K, clockwise_probability=p).pad(num_states=20, length=101), np.float64
        )
        for K, p in lanes
    ]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *configs)
    _, measured = jax.vmap(lambda config: _train(run_key(0, 0), config, 15, "reduced"))(stacked)
    assert np.max(measured["attention_spread"]) == 0
    np.testing.assert_allclose(measured["parent_attention"][:, -1], 1 / 96, rtol=1e-12)
    _, single = train(0, Config(num_states=6, clockwise_probability=1.0), 15)
    chex.assert_trees_all_close(jax.tree.map(lambda x: x[1], measured), single, rtol=1e-10)
    assert np.max(single["attention_spread"]) == 0


@pytest.mark.parametrize("loss_function", ["log", "square", "hinge"])
@pytest.mark.parametrize("eta", [0.1, 1.0])
def test_the_population_guesses_where_n_is_one_mod_k(loss_function, eta):
    config = Config(
        clockwise_probability=1.0, learning_rate=eta, loss_function=loss_function, population=True
    )
    _, fails = train(0, config.replace(length=Size(98, 97)), 60)
    _, learns = train(0, config.replace(length=Size(98, 98)), 60)
    np.testing.assert_array_equal(fails["accuracy"], 1 / 6)
    assert np.max(fails["attention_spread"]) == 0
    np.testing.assert_allclose(learns["accuracy"][-1], 1, rtol=1e-12)


def test_a_disturbance_grows_as_predicted():
    config = Config(clockwise_probability=1.0, population=True, perturbation=1e-10)
    spreads = np.stack([train(seed, config, 8)[1]["attention_spread"] for seed in range(4)])
    predicted = np.asarray(
        predictions.predict(UNREAD, config, np.arange(9))["attention_spread:linear"]
    )
    measured, steps = np.mean(spreads, axis=0), slice(4, 8)
    assert np.all(np.abs(np.log(measured[steps] / predicted[steps])) < np.log(1.5))


@pytest.mark.parametrize("p", [0.5, 0.7])
def test_a_large_batch_follows_the_predicted_run(p):
    config = Config(
        num_states=6, length=31, encoding_dim=300, num_sequences=8000, clockwise_probability=p
    )
    _, measured = train(0, config, 30)
    predicted = predictions.predict(UNREAD, config, np.arange(31))
    assert measured["parent_attention"][-1] > 0.99
    for name, tolerance in (("value_direction_error", 0.03), ("kl", 0.01), ("loss", 0.01)):
        np.testing.assert_allclose(
            measured[name][5:], predicted[f"{name}:population"][5:], atol=tolerance
        )


def test_a_run_outside_the_domain_of_the_log_is_not_finite():
    problem = draw(run_key(0, 0), SMALL)
    for params in (
        Reduced(-jnp.ones((5, 5)), jnp.zeros(5), jnp.zeros(9)),
        Literal(-jnp.ones((5, 5)), jnp.zeros((17, 17))),
    ):
        after = jax.jit(THEORY.algorithms["reduced"].step)(
            run_key(0, 0), 0, params, problem.train, problem, SMALL
        )
        assert not np.any(np.isfinite(after.V))
