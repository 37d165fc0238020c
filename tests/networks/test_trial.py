"""A network that reads a clock or a file, calls back, or needs a traced number is refused."""

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


def made(network, example=SIZES):
    rule = lambda config: optax.sgd(0.1)
    return from_flax("mine", network, TASK, optimizer=rule, Config=Config, examples=(example,))


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
        (lambda x: x * time.time(), "mine: two traces of the module differ, but a network must be"),
        (lambda x: x * GENERATOR.normal(), "mine: two traces of the module differ, but a network"),
        (shown, r"mine: the module calls back into Python \(debug_\w+\), but a network must be"),
        (called_back, r"mine: the module calls back into Python \(pure_callback\), but a network"),
        (from_a_file, r"mine: from_a_file calls open\(\), but a network must be a function"),
        (printed, r"mine: printed calls print\(\), but a network must be a function"),
    ],
)
def test_what_is_not_a_function_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        made(module(change))


def test_the_trial_passes_a_function():
    assert made(module(lambda x: x * 2)).name == "mine"


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
        made(network)
    message = str(error.value)
    assert message.startswith(f"mine: {field} ({field}) = 2.0 is a traced field, but the module")
    assert len(message.splitlines()) == 1


def test_an_invalid_example_is_named():
    with pytest.raises(InputError, match=r"clockwise_probability \(p\) = 2.0: must be a number in"):
        made(module(jnp.sin), SIZES.replace(p=2.0))
