"""Arrays of any kind become arrays of NumPy, typed random keys their words."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.code.keys import host, is_key, raw

KEYS = jax.random.split(jax.random.key(3), 2)


def test_a_typed_key_is_its_words() -> None:
    assert is_key(KEYS) and not is_key(jax.random.key_data(KEYS)) and not is_key(3)
    assert host(KEYS) is KEYS
    np.testing.assert_array_equal(raw(KEYS), jax.random.key_data(KEYS))


def test_another_array_is_one_of_numpy() -> None:
    for function in (host, raw):
        array = function(jnp.arange(3))
        assert isinstance(array, np.ndarray) and array.tolist() == [0, 1, 2]
