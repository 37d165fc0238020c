"""Algorithms made of a theory's gradient and an optax optimizer."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from helpers.worked_example import THEORY, Config, compilations, training_loops

import jaxtheory
from jaxtheory import InputError, from_optax


def adam_by_hand(slopes, rate, b1=0.9, b2=0.999, eps=1e-8):
    """w of Adam after each slope(w), from zero."""
    w = m = v = 0.0
    for t, slope in enumerate(slopes, start=1):
        g = slope(w)
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        w = w - rate * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
    return w


def with_algorithm(name, optimizer):
    return THEORY._replace(algorithms={**THEORY.algorithms, name: from_optax(THEORY, optimizer)})


def test_adam_is_the_published_one():
    config = Config(dimension=3, batch_size=4, learning_rate=0.05)
    theory = with_algorithm("adam", lambda config: optax.adam(config.learning_rate))
    key = jaxtheory.run_key(0, 1)
    run = jaxtheory.simulate(theory, config, key, steps=5, algorithm="adam", dtype="float64")
    with jax.enable_x64(True):
        steps = jax.random.fold_in(key, jaxtheory.draws.STEPS)
        batches = [
            THEORY.sample(jax.random.fold_in(jax.random.fold_in(steps, t), 0), run.problem, config)
            for t in range(5)
        ]
    slopes = [
        lambda w, b=b: (np.asarray(b.inputs @ (w + np.zeros(3))) - b.labels) @ b.inputs / 4
        for b in batches
    ]
    np.testing.assert_allclose(run.params.weights, adam_by_hand(slopes, 0.05), rtol=1e-9)


def test_sgd_is_the_theorys_own_and_its_rate_is_swept_in_one_compilation():
    theory = with_algorithm("optax", lambda config: optax.sgd(config.learning_rate))
    with compilations() as seen:
        data = jaxtheory.sweep(
            theory,
            Config(dimension=3),
            vary={"algorithm": ["sgd", "optax"], "learning_rate": [0.05, 0.1, 0.2]},
            steps=8,
            dtype="float64",
        )
    assert training_loops(seen) == 2
    np.testing.assert_allclose(
        data.loss.sel(algorithm="optax"), data.loss.sel(algorithm="sgd"), rtol=1e-12
    )


def test_start_keeps_the_parameters_and_rests_the_optimizer():
    theory = with_algorithm("adam", lambda config: optax.adam(config.learning_rate))
    config, key = Config(dimension=3), jaxtheory.run_key(0, 0)
    first = jaxtheory.simulate(theory, config, key, steps=3, algorithm="adam")
    on = jaxtheory.simulate(theory, config, key, steps=0, algorithm="adam", start=first.params)
    np.testing.assert_array_equal(on.params.weights, first.params.weights)
    assert on.state.memory[0].count == 0 and first.state.memory[0].count == 3


def other_structure(config):
    """An optimizer whose updates are a tuple."""
    return optax.GradientTransformation(lambda p: (), lambda g, s, p=None: (tuple(g), s))


def changed(update):
    """An optimizer with this update(slope, state)."""
    rule = optax.GradientTransformation(lambda p: jnp.zeros(2), lambda g, s, p=None: update(g, s))
    return lambda config: rule


BAD = {
    "expected a function of the config": optax.adam(0.1),
    "is a .*, expected a function": lambda config: config.learning_rate,
    "updates: structure": other_structure,
    "missing 1 required": lambda config, more: optax.sgd(config.learning_rate),
    "has no attribute 'rate' .*test_descent.py, line": lambda config: optax.sgd(config.rate),
    r"updates: weights has shape \(\), expected \(3,\)": changed(
        lambda g, s: (jax.tree.map(jnp.sum, g), s)
    ),
    "updates: weights holds int": changed(lambda g, s: (jax.tree.map(jnp.int32, g), s)),
    "update is a NoneType, expected a pair": changed(lambda g, s: None),
    "state: structure": changed(lambda g, s: (g, (s, s))),
    "state: the array has shape": changed(lambda g, s: (g, jnp.zeros(4))),
    "state: the array holds": changed(lambda g, s: (g, s > 0)),
    "update: TypeError: .* missing 3 required": lambda config: optax.lbfgs(config.learning_rate),
}


@pytest.mark.parametrize("words", BAD)
def test_what_is_no_optimizer_is_refused(words):
    key = jaxtheory.run_key(0, 0)
    with pytest.raises(InputError, match=words) as error:
        theory = with_algorithm("own", BAD[words])
        jaxtheory.simulate(theory, Config(dimension=3), key, steps=1, algorithm="own")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("theory", [None, "low_rank", THEORY.loss])
def test_what_is_no_theory_is_refused(theory):
    with pytest.raises(InputError, match="expected a jaxtheory"):
        from_optax(theory, lambda config: optax.sgd(0.1))
