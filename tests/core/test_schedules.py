"""Optax's schedules and optimizers with numbers of the config, which a sweep traces: each trains as
with the number itself, or says how to write it.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from helpers.worked_example import THEORY
from helpers.worked_example import Config as Worked

import jaxtheory
from jaxtheory import InputError, from_optax
from jaxtheory.core.config import Config, traced
from jaxtheory.core.from_optax import _SCALED, Slope


class Rates(Config):
    """What a schedule may read."""

    rate: float = traced(0.1, "eta", "learning rate", "(0, inf)")
    decay: int = traced(3, "tau", "steps", "[1, inf)")


SLOPE = Slope(
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


def both(make):
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
    got, want = both(SAME[name])
    assert not np.allclose(want, [1.0, -2.0, 0.5])
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("name", TOLD)
def test_where_optax_tests_the_number_the_message_shows_the_working_form(name):
    with pytest.raises(InputError, match=re.escape(_SCALED)) as told:
        both(TOLD[name])
    assert "test_schedules.py, line" in str(told.value) and "\n" not in str(told.value)


def test_a_test_of_the_users_own_is_not_called_optaxs():
    with pytest.raises(InputError, match=r"jnp.where \(test_schedules.py, line") as told:
        both(lambda c: optax.sgd(0.1 if c.rate > 1 else 0.2))
    assert _SCALED not in str(told.value)


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
    asked = {"vary": {"eta": [0.01, 0.1]}, "steps": 5}
    with pytest.raises(InputError, match=re.escape(_SCALED)):
        jaxtheory.sweep(theory, Worked(), algorithm="asked", **asked)
    data = jaxtheory.sweep(theory, Worked(), algorithm="shown", **asked)
    low, high = data.loss.isel(step=-1, seed=0).values
    assert low != high
