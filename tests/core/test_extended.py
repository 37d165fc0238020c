"""Slots with further entries: names, dimensions, and what is passed to them."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from jaxtheory import InputError
from jaxtheory.core.extended import (
    Extended,
    evaluate,
    named_weights,
    weight_dims,
    without_additions,
)
from jaxtheory.theories.random_walk import THEORY


class Inner(NamedTuple):
    query: Float[Array, "d d"]
    value: Float[Array, "3 n"]


class Params(NamedTuple):
    W: Float[Array, "d D"]
    inner: Inner
    plain: Array
    none: Float[Array, " d"] | None = None


PARAMS = Params(jnp.ones((2, 3)), Inner(jnp.ones((2, 2)), jnp.ones((3, 4))), jnp.ones((5,)))


def test_names_and_dimensions_of_weights():
    assert list(named_weights(PARAMS)) == [
        "params_W",
        "params_inner_query",
        "params_inner_value",
        "params_plain",
    ]
    assert weight_dims(PARAMS) == {
        "params_W": ("d", "D"),
        "params_inner_query": ("d", "d_2"),
        "params_inner_value": ("params_inner_value_0", "n"),
        "params_plain": ("params_plain_0",),
    }


@pytest.mark.parametrize("tree", [jnp.ones(3), {"a": jnp.ones(3)}, (jnp.ones(3),)])
def test_parameters_without_annotations(tree):
    (name,) = named_weights(tree)
    assert weight_dims(tree) == {name: (f"{name}_0",)}


def slot(params, problem, config):
    return {"loss": params}


def twice(params, problem, config):
    return 2 * params


def keyed(params, problem, config, key):
    return jax.random.key_data(key).sum().astype(float) + params


keyed.keyed = True


def test_entries_follow_those_of_the_slot_and_get_the_key():
    extended = Extended(slot, (("twice", twice), ("keyed", keyed)), weights=True)
    entries = extended(jnp.ones(()), None, None, jax.random.key(7))
    assert list(entries) == ["loss", "twice", "keyed", "params_value"]
    assert entries["twice"] == 2 and entries["keyed"] == 8
    assert extended == Extended(slot, (("twice", twice), ("keyed", keyed)), weights=True)
    assert hash(extended) != hash(Extended(slot))
    assert extended.__wrapped__ is slot and extended.functions == (slot, twice, keyed)
    assert np.asarray(evaluate(keyed, 1.0, None, None)) == 1.0


def test_additions_are_removed_again():
    more = THEORY._replace(
        metrics=Extended(THEORY.metrics, (("twice", twice),)),
        analyses=Extended(THEORY.analyses, weights=True),
        dims={**THEORY.dims, "twice": ("a",), "params_V": ("b", "c")},
    )
    plain = without_additions(more)
    assert (plain.metrics, plain.analyses) == (THEORY.metrics, THEORY.analyses)
    assert dict(plain.dims) == dict(THEORY.dims)
    assert without_additions(THEORY) is THEORY


def test_a_slash_in_the_name_of_an_array_becomes_an_underscore():
    assert list(named_weights({"Dense_0/kernel/sigma": jnp.ones(2)})) == [
        "params_Dense_0_kernel_sigma"
    ]
    with pytest.raises(InputError, match=r"\Asave_params: two arrays .* are named 'params_a_b'"):
        named_weights({"a": {"b": jnp.ones(2)}, "a/b": jnp.ones(3)})
