"""Passes through a network: layers are counted, edits come in order and end with the pass."""

import jax.numpy as jnp
import pytest

from jaxtheory import InputError
from jaxtheory.ops.passes import Edit, changed, edited, is_changed

ONE = jnp.ones((1, 1, 1, 1))


def layers(count):
    return [float(edited(ONE, ONE, ONE)[0, 0, 0, 0]) for _ in range(count)]


def plus(number, layer=None):
    return Edit(layer, lambda at, maps, values, heads: heads + number + 10 * at)


def test_layers_are_counted_from_each_pass_on():
    for _ in range(2):
        with changed([plus(1.0)]) as heads:
            assert is_changed() and layers(2) == [2, 12]
        assert [float(x[0, 0, 0, 0]) for x in heads] == [2, 12]
    assert not is_changed() and layers(2) == [1, 1]


def test_edits_come_in_order_and_for_their_layer():
    double = Edit(1, lambda at, maps, values, heads: 2 * heads)
    with changed([plus(1.0), double]):
        assert layers(2) == [2, 24]
    with changed([double, plus(1.0)]):
        assert layers(2) == [2, 13]


def test_a_pass_in_a_pass_has_edits_of_its_own():
    with changed([plus(1.0)]):
        with changed(()):
            assert layers(1) == [1]
        assert layers(1) == [2]


def test_an_edit_of_no_layer_is_refused_and_an_error_passes_on():
    words = "layer = 2: the network has the layers 0 to 1"
    with pytest.raises(InputError, match=words), changed([plus(1.0, 2)]):
        layers(2)
    with pytest.raises(InputError, match="does not read by"), changed([plus(1.0)]):
        pass
    with pytest.raises(KeyError), changed([plus(1.0, 2)]):
        raise KeyError
    assert not is_changed()
