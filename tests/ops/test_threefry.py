"""The cipher is JAX's, and `draws.words` are its words."""

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.ops import draws, threefry


@pytest.mark.parametrize("seed", [0, 7, 2**31 + 5])
def test_the_cipher_is_that_of_jax(seed):
    rng = np.random.default_rng(seed)
    key, words = (rng.integers(0, 2**32, (2, n), dtype=np.uint32) for n in (1, 9))
    want = jax.extend.random.threefry_2x32(jnp.asarray(key[:, 0]), jnp.asarray(words.reshape(-1)))
    got = jax.jit(threefry.cipher)(*key, *words)
    np.testing.assert_array_equal(np.concatenate(got), want)


def test_words_are_those_of_the_cipher():
    key = draws.run_key(1, 2)
    rows, blocks = np.indices((3, 4)).astype(np.uint32)
    pair = jax.random.bits(key, (2,), jnp.uint32)
    words = jax.extend.random.threefry_2x32(pair, np.stack([blocks, rows]).reshape(-1))
    want = np.moveaxis(np.asarray(words).reshape(2, 3, 4), 0, 2).reshape(3, 8)[:, :7]
    np.testing.assert_array_equal(draws.words(key, 3, 7), want)
