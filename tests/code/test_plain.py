"""Values as plain data: equal for equal values, without addresses, and accepted by JSON."""

import json

import jax.numpy as jnp
import numpy as np

from jaxtheory.code.plain import as_json


class Thing:
    pass


def test_values_become_what_json_can_write():
    value = {1: (np.float64(0.1), jnp.arange(2), [None, True]), "b": {"c": "text"}}
    plain = {"1": [0.1, [0, 1], [None, True]], "b": {"c": "text"}}
    assert as_json(value) == json.loads(json.dumps(as_json(value))) == plain


def test_objects_have_no_address_and_functions_their_code():
    assert as_json(Thing()) == as_json(Thing())
    one, same, variant = (lambda x: x + 1), (lambda x: x + 1), (lambda x: x + 2)
    assert as_json(one).rpartition(" ")[2] == as_json(same).rpartition(" ")[2]
    assert as_json(one) != as_json(variant)
