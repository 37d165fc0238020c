"""Configs: sizes, values by name or symbol, and leaves that share one trace."""

import chex
import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.example_config import Example

from jaxtheory import Config, InputError, Size, traced
from jaxtheory.cli.templates.template import Settings
from jaxtheory.core.config import canonical
from jaxtheory.theories import get

WALK = get("random_walk")


def test_sizes_wrap_fold_and_pad():
    config = Example(width=5)
    assert config.width == Size(5) and config.width.n == 5 and len(jax.tree.leaves(config)) == 3
    padded = config.pad(d=8)
    assert (
        padded.width.cap == 8
        and padded.width.n == 5
        and padded.width.mask().tolist() == [True] * 5 + [False] * 3
    )
    assert padded.pad(width=8) == padded and len(jax.tree.leaves(padded)) == 4
    jax.jit(lambda c: c.width.n + 1)(padded)  # tracers pass through __post_init__
    with pytest.raises(InputError, match="must be at least the present"):
        padded.pad(width=6)
    with pytest.raises(InputError, match="only sizes"):
        config.pad(rate=2)


def test_a_class_that_cloudpickle_has_loaded_here_can_be_derived_from():
    class Mine(Config):
        steps: int = traced(3, "s", "steps", "[1, inf)")
        rate: float = traced(0.5, "r", "rate", "(0, inf)")

    cloudpickle.loads(cloudpickle.dumps(Mine))

    class More(Mine):
        offset: float = traced(2.0, "o", "another", "[0, inf)")

    assert (More().steps, More().rate, More().offset) == (3, 0.5, 2.0)


def test_canonical_leaves_share_one_trace():
    f = jax.jit(chex.assert_max_traces(lambda c: c.rate * 2, n=1))
    for rate in (1, 1.0, np.float32(1), jnp.float64(1)):
        f(canonical(Example(rate=rate), np.float64))


def test_values_given_by_symbol_arrive():
    config = WALK.Config(K=7, p=0.25)
    assert (config.num_states.n, config.clockwise_probability) == (7, 0.25)
    assert config.replace(K=8, eta=2.0).num_states.n == 8
    assert WALK.Config(7, 33, p=0.25) == config.replace(length=33)
    assert config.pad(K=9).num_states.cap == 9
    assert jax.tree.unflatten(jax.tree.structure(config), jax.tree.leaves(config)) == config


def test_a_length_is_an_integer() -> None:
    with pytest.raises(InputError, match=r"dimension .* = 5.0: must be an integer"):
        Settings(dimension=5.0)
