"""Our keys draw what JAX's keys draw, bit for bit."""

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.ops import draws, threefry

DRAWS = {
    "normal": lambda key: jax.random.normal(key, (33,)),
    "uniform": lambda key: jax.random.uniform(key, (5, 7)),
    "single": lambda key: jax.random.uniform(key, (6,), jnp.float32),
    "bytes": lambda key: jax.random.bits(key, (5,), jnp.uint8),
    "halves": lambda key: jax.random.bits(key, (), jnp.uint16),
    "words": lambda key: jax.random.bits(key, (3, 0, 2), jnp.uint32),
    "doubles": lambda key: jax.random.bits(key, (9,), jnp.uint64),
    "integers": lambda key: jax.random.randint(key, (9,), 0, 100),
    "permutation": lambda key: jax.random.permutation(key, 20),
    "choice": lambda key: jax.random.choice(key, 20, (4,), replace=False),
    "gamma": lambda key: jax.random.gamma(key, 2.0, (4,)),
    "split": lambda key: jax.random.key_data(jax.random.split(key, (3, 4))),
    "fold_in": lambda key: jax.random.key_data(jax.random.fold_in(key, 2**32 - 1)),
    "by axes": lambda key: draws.normal(key, 3, 4, 5),
    "both words": lambda key: draws.words(key, 3, 7),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("seed", [0, 7, 2**31 + 5])
def test_draws_are_those_of_jax(draw, seed):
    key = jax.random.key(seed, impl="threefry2x32")
    keys = jax.random.split(key, 2)
    for how, given in ((jax.jit(draw), key), (jax.jit(jax.vmap(draw)), keys)):
        got, want = how(threefry.by_eight(given)), how(given)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_words_are_those_of_the_cipher():
    key = draws.run_key(1, 2)
    rows, blocks = np.indices((3, 4)).astype(np.uint32)
    pair = jax.random.bits(key, (2,), jnp.uint32)
    both = jax.extend.random.threefry_2x32(pair, np.stack([blocks, rows]).reshape(-1))
    want = np.moveaxis(np.asarray(both).reshape(2, 3, 4), 0, 2).reshape(3, 8)[:, :7]
    np.testing.assert_array_equal(draws.words(key, 3, 7), want)


def test_a_key_of_another_kind_stays():
    key = jax.random.key(3, impl="rbg")
    assert threefry.by_eight(key) is key
    ours = threefry.by_eight(draws.run_key(0, 0))
    assert threefry.by_eight(ours) is ours
    assert jax.random.key(5, impl=threefry._IMPL).dtype == ours.dtype


def test_more_words_than_one_word_counts(monkeypatch):
    key = jnp.array([3, 4], jnp.uint32)
    want = threefry._counted(key, (2, 5))
    monkeypatch.setattr(threefry, "_PLACES", 10)
    np.testing.assert_array_equal(threefry._counted(key, (2, 5)), want)
    assert not np.array_equal(*want)
