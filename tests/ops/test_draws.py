"""Draws do not depend on capacities and follow their laws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory import (
    Size,
    draws,
)

DRAWS = {
    "normal": draws.normal,
    "uniform": draws.uniform,
    "bernoulli": lambda key, *axes: draws.bernoulli(key, 0.3, *axes),
    "integers": lambda key, *axes: draws.integers(key, 7, *axes),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_draws_do_not_depend_on_capacities(draw):
    key = draws.run_key(3, 1)
    plain = draw(key, Size(2), Size(3), 4)
    for caps in ((5, 3), (2, 9), (7, 8)):
        padded = np.asarray(draw(key, Size(caps[0], 2), Size(caps[1], 3), 4))
        np.testing.assert_array_equal(padded[:2, :3], plain)
        assert not padded[2:].any() and not padded[:, 3:].any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_scaled_draws_do_not_depend_on_capacities(dtype, level):
    """XLA merges a factor with the sqrt 2 of a normal draw where no mask stands between them."""
    options = {"xla_backend_optimization_level": level}
    scaled = lambda key, s, n: s * draws.normal(key, n, Size(3))
    compiled = jax.jit(scaled, compiler_options=options)
    with jax.enable_x64(dtype == "float64"):
        for scale in (0.72916667, 1.1458333, 0.00073, 3.0):
            args = draws.run_key(5, 1), jnp.asarray(scale, dtype)
            want = np.asarray(compiled(*args, Size(7)))
            assert want.dtype == dtype
            np.testing.assert_array_equal(np.asarray(compiled(*args, Size(11, 7)))[:7], want)


def test_draws_have_their_laws():
    key = draws.run_key(0, 0)
    assert not draws.bernoulli(key, 0.0, 1000).any() and draws.bernoulli(key, 1.0, 1000).all()
    share = float(draws.bernoulli(key, 0.3, 40000).mean())
    assert abs(share - 0.3) < 5 * (0.21 / 40000) ** 0.5
    counts = np.bincount(draws.integers(key, jnp.int32(5), 50000), minlength=5) / 50000
    assert np.abs(counts - 0.2).max() < 5 * (0.16 / 50000) ** 0.5
    chosen = draws.distinct(key, Size(9, 6), 4)
    assert len(set(chosen.tolist())) == 4 and chosen.max() < 6
    np.testing.assert_array_equal(chosen, draws.distinct(key, 6, 4))


def test_run_key_is_the_key_scheme():
    assert draws.run_key(2, 5) == jax.random.fold_in(jax.random.key(2, impl="threefry2x32"), 5)
