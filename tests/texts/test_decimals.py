"""Numbers of low precision as decimals."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.texts.decimals import python_value, shortest

DECIMALS = [0.1, 0.7, 1.0, 0.003]
KINDS = ("float16", "float32", "float64", "bfloat16")


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_of_low_precision_is_the_shortest_decimal_that_rounds_to_it(kind):
    array = np.asarray(jnp.asarray(DECIMALS, kind)) if kind != "float64" else np.array(DECIMALS)
    assert shortest(array).tolist() == DECIMALS
    assert [python_value(entry) for entry in array] == DECIMALS
    drawn = np.random.default_rng(0).normal(size=300) * 10.0 ** np.arange(-150, 150)
    with np.errstate(all="ignore"):
        cast = drawn.astype(array.dtype)
        assert np.array_equal(shortest(cast).astype(cast.dtype), cast)
