"""A network that reads a clock or a file, calls back, or needs a traced number is refused."""

import re
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from helpers.walk_task import SMALL, TASK

import jaxtheory
from jaxtheory import InputError
from jaxtheory.networks import trial
from jaxtheory.networks.from_flax import from_flax
from jaxtheory.theories import random_walk


class Config(random_walk.Config):
    share: float = jaxtheory.traced(0.5, "share", "share of dropped units", "[0, 1)")
    ratio: float = jaxtheory.traced(2.0, "ratio", "hidden units per state", "(0, inf)")


SIZES = Config(**SMALL)
GENERATOR = np.random.default_rng(0)


def module(change):
    """A network whose outputs are changed by a function."""

    class Changed(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            return change(nn.Embed(6, 6)(tokens))

    return lambda config: Changed()


def build(network, example=SIZES, rule=lambda config: optax.sgd(0.1), task=TASK):
    return from_flax("mine", network, task, optimizer=rule, Config=Config, examples=(example,))


def shown(x):
    jax.debug.print("{}", x[0, 0, 0])
    return x


def called_back(x):
    x = jax.lax.stop_gradient(x)
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def from_a_file(x):
    with open("scale.txt") as file:
        return x * float(file.read())


def printed(x):
    print(x.shape)
    return x


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x * time.time(), "mine: two traces of the module differ, but it must be a func"),
        (lambda x: x * GENERATOR.normal(), "mine: two traces of the module differ, but it must be"),
        (
            shown,
            r"mine: the module calls back into Python \(debug_\w+\), but it must be a function",
        ),
        (called_back, r"mine: the module calls back into Python \(pure_callback\), but it must be"),
        (from_a_file, r"mine: from_a_file calls open\(\), but a network must be a function"),
        (printed, r"mine: printed calls print\(\), but a network must be a function"),
    ],
)
def test_what_is_not_a_function_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        build(module(change))


def test_the_trial_passes_a_function():
    assert build(module(lambda x: x * 2)).name == "mine"


def dropped(config):
    class Dropped(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            return nn.Dropout(config.share, deterministic=False)(nn.Embed(6, 6)(tokens))

    return Dropped()


def widened(config):
    return nn.Sequential([nn.Embed(6, config.ratio * 6), nn.Dense(6)])


def widened_nnx(config, rngs):
    return nnx.Embed(6, int(config.ratio * 3), rngs=rngs)


@pytest.mark.parametrize(
    ("network", "field"),
    [(widened, "ratio"), (widened_nnx, "ratio")],
)
def test_a_traced_field_as_a_shape_is_named(network, field):
    with pytest.raises(InputError) as error:
        build(network)
    message = str(error.value)
    assert message.startswith(f"mine: {field} ({field}) = 2.0 is a traced field, but the module")
    assert "Error: " in message and "concrete value" in message  # the cause
    assert len(message.splitlines()) == 1


def test_an_invalid_example_is_named():
    with pytest.raises(InputError, match=r"clockwise_probability \(p\) = 2.0: must be a number in"):
        build(module(jnp.sin), SIZES.replace(p=2.0))


UNIT = jaxtheory.draws.base_key(1)


class Drawing(nn.Module):
    """A module that changes its outputs by draw(module, x, train)."""

    draw: object

    @nn.compact
    def __call__(self, x, train):
        return self.draw(self, nn.Embed(6, 6)(x), train)


class Again(nnx.Module):
    def __init__(self, draw, rngs):
        self.draw, self.rngs, self.embed = draw, rngs, nnx.Embed(6, 6, rngs=rngs)
        self.own = nnx.Rngs(0)

    def __call__(self, x, train):
        return self.draw(self, self.embed(x), train)


def added(key, x):
    return x + jax.random.normal(key, x.shape)


OWN_KEYS = {
    "training": lambda self, x, train: added(jax.random.key(0), x) if train else x,
    "training from a global key": lambda self, x, train: added(UNIT, x) if train else x,
    "evaluation": lambda self, x, train: x if train else added(UNIT, x),
    "init": lambda self, x, train: (
        x + self.param("w", lambda key, n: jax.random.normal(UNIT, (n,)), 6)
    ),
}
NNX_KEYS = {
    "training": lambda self, x, train: added(self.own(), x) if train else x,
    "evaluation": lambda self, x, train: added(self.rngs.noise(), x),
}


@pytest.mark.parametrize("case", OWN_KEYS)
def test_a_module_that_draws_from_a_key_of_its_own_is_refused(case):
    words = trial._DRAWS[case.partition(" ")[0]]
    with pytest.raises(InputError, match=re.escape(f"mine: the module {words}")) as error:
        build(lambda config: Drawing(OWN_KEYS[case]))
    assert "(test_trial.py, line" in str(error.value)


@pytest.mark.parametrize("case", NNX_KEYS)
def test_an_nnx_module_that_does_is_refused(case):
    with pytest.raises(InputError, match=re.escape(f"mine: the module {trial._DRAWS[case]}")):
        build(lambda config, rngs: Again(NNX_KEYS[case], rngs))


def test_fixed_features_may_be_declared():
    fixed = lambda self, x, train: added(jaxtheory.draws.fixed_key(0), x)
    assert build(lambda config: Drawing(fixed)).name == "mine"


def warm(config):
    return optax.adamw(optax.warmup_cosine_decay_schedule(0.0, config.share, 2, 9))


BLAMED = {
    "optimizer": ({"rule": warm}, r"optimizer\(config\): optax tests a number .*line \d+\)"),
    "an optimizer of several": (
        {"rule": {"a": lambda config: optax.sgd(0.1), "b": lambda config: optax.sgd(config.gone)}},
        r"optimizer\(config\): AttributeError: .* has no attribute 'gone' \(test_trial.py, line",
    ),
    "clock of the optimizer": (
        {"rule": lambda config: optax.sgd(time.time())},
        "mine: two traces of the optimizer differ, but it must be a function of its arguments",
    ),
    "the loss": (
        {"task": TASK._replace(loss=lambda outputs, batch, problem, config: outputs.gone)},
        r"mine.task: AttributeError: .* has no attribute .?gone.? \(test_trial.py, line \d+\)",
    ),
    "clock of the inputs": (
        {"task": TASK._replace(loss=lambda outputs, batch, problem, config: time.time())},
        "mine: two traces of the task differ, but it must be a function of its arguments",
    ),
}


@pytest.mark.parametrize("case", BLAMED)
def test_what_is_not_the_modules_fault_is_not_called_its(case):
    changes, match = BLAMED[case]
    with pytest.raises(InputError, match=match) as error:
        build(module(jnp.sin), **changes)
    assert "module" not in str(error.value)
