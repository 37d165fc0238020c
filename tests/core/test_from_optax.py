"""Algorithms made of a theory's gradient and an optax optimizer, also with schedules and numbers
that a sweep traces.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from helpers.some import some
from helpers.worked_example import THEORY, Config, compilations, training_loops

import jaxtheory
from jaxtheory import InputError, from_optax
from jaxtheory.core.config import traced
from jaxtheory.core.from_optax import (
    _PAIRS,
    _SCALED,
    InitAndGradient,
    _require_like,
    first_memory,
)

KEY = jaxtheory.run_key(0, 0)


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
    with compilations() as programs:
        data = jaxtheory.sweep(
            theory,
            Config(dimension=3),
            vary={"algorithm": ["sgd", "optax"], "learning_rate": [0.05, 0.1, 0.2]},
            steps=8,
            dtype="float64",
        )
    assert training_loops(programs) == 2
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
    "has no attribute 'rate' .*test_from_optax.py, line": lambda config: optax.sgd(config.rate),
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


class Rates(jaxtheory.Config):
    """What a schedule may read."""

    rate: float = traced(0.1, "eta", "learning rate", "(0, inf)")
    decay: int = traced(3, "tau", "steps", "[1, inf)")


SLOPE = InitAndGradient(
    lambda key, problem, config: jnp.array([1.0, -2.0, 0.5]),
    lambda params, batch, problem, config: 2 * params,
)

CONFIG = Rates()


def trained(make, config):
    """Parameters after five steps."""
    rule = from_optax(SLOPE, make)
    state = rule.init(None, None, config)
    for t in range(5):
        state = rule.step(None, t, state, None, None, config)
    return rule.params(state, None, config)


def train_pair(make):
    """Parameters with the numbers of the config traced, and with the numbers themselves."""
    with jax.enable_x64(True):
        config = jax.tree.map(jnp.asarray, CONFIG)
        return (
            jax.jit(lambda config: trained(make, config))(config),
            jax.jit(lambda: trained(lambda _: make(CONFIG), CONFIG))(),
        )


unit = optax.warmup_cosine_decay_schedule(0.0, 1.0, 2, 5)
short = optax.cosine_decay_schedule(1.0, 1)

SAME = {
    "warmup_exponential": lambda c: optax.sgd(
        optax.warmup_exponential_decay_schedule(0.0, c.rate, 2, 2, 0.9)
    ),
    "warmup_constant": lambda c: optax.sgd(optax.warmup_constant_schedule(0.0, c.rate, 2)),
    "cosine": lambda c: optax.sgd(optax.cosine_decay_schedule(c.rate, 4)),
    "exponential": lambda c: optax.sgd(optax.exponential_decay(c.rate, 2, 0.9)),
    "linear": lambda c: optax.sgd(optax.linear_schedule(c.rate, 0.0, 4)),
    "polynomial": lambda c: optax.sgd(optax.polynomial_schedule(c.rate, 0.0, 2, 4)),
    "piecewise": lambda c: optax.sgd(optax.piecewise_constant_schedule(c.rate, {2: 0.5})),
    "onecycle": lambda c: optax.sgd(optax.linear_onecycle_schedule(5, c.rate)),
    "cosine_onecycle": lambda c: optax.sgd(optax.cosine_onecycle_schedule(5, c.rate)),
    "joined": lambda c: optax.sgd(
        optax.join_schedules([optax.constant_schedule(c.rate), lambda t: c.rate / 2], [2])
    ),
    "scaled": lambda c: optax.adam(lambda t: c.rate * unit(t)),
    "stretched": lambda c: optax.sgd(lambda t: c.rate * short(t / c.decay)),
    "adam": lambda c: optax.adam(c.rate, b1=c.rate, b2=1 - c.rate),
    "adamw": lambda c: optax.adamw(c.rate, weight_decay=c.rate),
    "lion": lambda c: optax.lion(c.rate, weight_decay=c.rate),
    "rmsprop": lambda c: optax.rmsprop(c.rate, decay=1 - c.rate, momentum=0.5),
    "nesterov": lambda c: optax.sgd(c.rate, momentum=c.rate, nesterov=True),
    "adagrad": lambda c: optax.adagrad(c.rate),
    "clip": lambda c: optax.chain(optax.clip(c.rate), optax.sgd(0.1)),
    "clip_norm": lambda c: optax.chain(optax.clip_by_global_norm(c.rate), optax.sgd(0.1)),
    "weight_decay": lambda c: optax.chain(optax.add_decayed_weights(c.rate), optax.sgd(0.1)),
}

TOLD = {
    "warmup_cosine": lambda c: optax.adam(optax.warmup_cosine_decay_schedule(0.0, c.rate, 2, 5)),
    "restarts": lambda c: optax.sgd(
        optax.sgdr_schedule(
            [{"init_value": 0.0, "peak_value": c.rate, "warmup_steps": 2, "decay_steps": 5}]
        )
    ),
    "decay_rate": lambda c: optax.sgd(optax.exponential_decay(0.1, 2, 1 - c.rate)),
    "cosine_steps": lambda c: optax.sgd(optax.cosine_decay_schedule(0.1, c.decay)),
    "exponential_steps": lambda c: optax.sgd(optax.exponential_decay(0.1, c.decay, 0.9)),
    "linear_steps": lambda c: optax.sgd(optax.linear_schedule(0.1, 0.0, c.decay)),
    "warmup_steps": lambda c: optax.sgd(optax.warmup_cosine_decay_schedule(0.0, 0.1, c.decay, 9)),
}


@pytest.mark.parametrize("name", SAME)
def test_a_traced_number_trains_as_the_number_itself(name):
    got, want = train_pair(SAME[name])
    assert not np.allclose(want, [1.0, -2.0, 0.5])
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("name", TOLD)
def test_where_optax_tests_the_number_the_message_shows_the_working_form(name):
    with pytest.raises(InputError, match=re.escape(_SCALED)) as error:
        train_pair(TOLD[name])
    assert "test_from_optax.py, line" in str(error.value) and "\n" not in str(error.value)


def test_a_test_of_the_users_own_is_not_called_optaxs():
    with pytest.raises(InputError, match=r"jnp.where \(test_from_optax.py, line") as error:
        train_pair(lambda c: optax.sgd(0.1 if c.rate > 1 else 0.2))
    assert _SCALED not in str(error.value)


def test_a_sweep_tells_it_too_and_the_form_it_shows_is_swept():
    theory = THEORY._replace(
        algorithms={
            "asked": from_optax(
                THEORY,
                lambda c: optax.adam(
                    optax.warmup_cosine_decay_schedule(0.0, c.learning_rate, 2, 5)
                ),
            ),
            "shown": from_optax(THEORY, lambda c: optax.adam(lambda t: c.learning_rate * unit(t))),
        }
    )
    options = {"vary": {"eta": [0.01, 0.1]}, "steps": 5}
    with pytest.raises(InputError, match=re.escape(_SCALED)):
        jaxtheory.sweep(theory, Config(), algorithm="asked", **options)
    data = jaxtheory.sweep(theory, Config(), algorithm="shown", **options)
    low, high = data.loss.isel(step=-1, seed=0).values
    assert low != high


NOISE = {
    "noisy_sgd": lambda c: optax.noisy_sgd(c.learning_rate, 0.3, 0.55, 0),
    "add_noise": lambda c: optax.chain(optax.add_noise(0.3, 0.0, 0), optax.sgd(c.learning_rate)),
    "in steps": lambda c: optax.MultiSteps(optax.noisy_sgd(c.learning_rate, 0.3, 0.55, 0), 1),
}


@pytest.mark.parametrize("name", some(NOISE, "add_noise"))
def test_noise_of_an_optimizer_is_that_of_the_run(name):
    theory = with_algorithm("noisy", NOISE[name])._replace(metrics=weights)
    config, key = Config(dimension=3, batch_size=2, noise=0.0), jaxtheory.run_key(0, 1)
    options = {"algorithm": "noisy", "steps": 2, "record": 1}
    data = jaxtheory.sweep(theory, config, vary={"noise": [0.0, 1e-9]}, seeds=2, **options)
    first = data.weights.isel(noise=0).values
    assert np.abs(first[0] - first[1])[1:].min() > 1e-6  # seeds differ, at each step
    np.testing.assert_allclose(data.weights.isel(noise=1), first, atol=1e-6)  # points share
    single_run = jaxtheory.simulate(theory, config, key, **options)
    np.testing.assert_allclose(single_run.metrics["weights"], first[1], rtol=1e-5)
    again = jaxtheory.simulate(theory, config, key, **options | {"steps": 4}, resume=single_run)
    full_run = jaxtheory.simulate(theory, config, key, **options | {"steps": 4})
    np.testing.assert_array_equal(again.metrics["weights"], full_run.metrics["weights"])


def weights(params, problem, config):
    """The weights, as a metric."""
    return {"weights": params.weights, **THEORY.metrics(params, problem, config)}


def test_each_key_of_an_optimizer_is_another_one_and_its_seed_counts():
    add_noise = lambda *seeds: lambda c: optax.chain(*(optax.add_noise(0.3, 0.0, s) for s in seeds))
    key, params = jaxtheory.run_key(0, 0), jnp.ones(3)
    states = [*first_memory(key, add_noise(0, 0, 1), params, None)]
    states += [*first_memory(key, add_noise(1), params, None)]
    states += [*first_memory(jaxtheory.run_key(0, 1), add_noise(0), params, None)]
    words = np.array([jax.random.key_data(state.rng_key) for state in states])
    assert len(np.unique(words, axis=0)) == 5


def drawing(key, in_init=False):
    """An optimizer that draws from key(state), at the beginning or in each step."""

    def init(params):
        noise = jax.random.normal(key(0), (3,)) if in_init else jnp.zeros(3)
        return jnp.int32(0), jax.random.PRNGKey(0), noise

    def update(slope, state, params=None):
        count, raw, noise = state
        if not in_init:
            noise = jax.random.normal(key(state), (3,))
        added = jax.tree.map(lambda g: g + noise.astype(g.dtype), slope)
        return added, (count + 1, raw, noise)

    return lambda config: optax.GradientTransformation(init, update)


OWN_KEYS = {
    "update of a constant": drawing(lambda state: jax.random.key(0)),
    "update of the count": drawing(lambda state: jax.random.fold_in(jax.random.key(0), state[0])),
    "update of a raw key": drawing(lambda state: jax.random.fold_in(state[1], state[0])),
    "init of a constant": drawing(lambda state: jax.random.key(0), in_init=True),
}


@pytest.mark.parametrize("name", OWN_KEYS)
def test_an_optimizer_that_draws_from_a_key_of_its_own_is_refused(name):
    part = name.partition(" ")[0]
    match = rf"the optimizer's {part} draws random numbers from a key .*_optax.py, line \d+\)"
    with pytest.raises(InputError, match=match):
        jaxtheory.simulate(
            with_algorithm("own", OWN_KEYS[name]),
            Config(dimension=3),
            jaxtheory.run_key(0, 0),
            steps=1,
            algorithm="own",
        )


def test_numbers_that_are_meant_to_be_equal_may_be_declared():
    theory = with_algorithm("own", drawing(lambda state: jaxtheory.draws.fixed_key(0)))
    options = {"steps": 1, "algorithm": "own"}
    assert jaxtheory.simulate(theory, Config(dimension=3), jaxtheory.run_key(0, 0), **options)


def test_multisteps_is_an_optimizer():
    rules = {
        "steps": lambda c: optax.MultiSteps(optax.sgd(c.learning_rate), 2),
        "plain": lambda c: optax.sgd(c.learning_rate),
    }
    theory = THEORY._replace(algorithms={n: from_optax(THEORY, r) for n, r in rules.items()})
    run = lambda n, steps: (
        jaxtheory.simulate(
            theory._replace(sample=same_batch), Config(dimension=3), KEY, steps=steps, algorithm=n
        ).params.weights
    )
    np.testing.assert_allclose(run("steps", 4), run("plain", 2), rtol=1e-5)
    np.testing.assert_array_equal(run("steps", 4), run("steps", 5))


def same_batch(key, problem, config):
    """The same batch in each step."""
    return THEORY.sample(jax.random.key(0), problem, config)


def test_lookahead_is_refused_with_what_to_write():
    theory = with_algorithm("own", lambda c: optax.lookahead(optax.sgd(0.1), 3, 0.5))
    with pytest.raises(InputError, match=re.escape(_PAIRS) + r".*no attribute 'fast' \(test_from"):
        jaxtheory.simulate(theory, Config(dimension=3), KEY, steps=1, algorithm="own")


def test_a_traced_number_in_place_of_a_schedule_is_told():
    theory = with_algorithm("own", lambda c: optax.MultiSteps(optax.sgd(0.1), c.learning_rate))
    with pytest.raises(InputError, match=r"write lambda step: config.NAME.*test_from_optax.py"):
        jaxtheory.simulate(theory, Config(dimension=3), KEY, steps=1, algorithm="own")


def test_integers_among_the_parameters_are_told():
    like = {"n": jnp.arange(3)}
    update = {"n": jnp.ones(3)}
    with pytest.raises(InputError, match="n holds float64, expected int64; integers are not train"):
        _require_like("updates", update, like)
