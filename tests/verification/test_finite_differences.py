"""Finite differences of a loss see what its own derivative rules hide."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.verification.finite_differences import odd_entry, slopes


@jax.custom_jvp
def wrong_at_two(x):
    return jnp.sum(x**3)


wrong_at_two.defjvp(
    lambda xs, ts: (wrong_at_two(*xs), jnp.vdot(3 * xs[0].ravel() ** 2, ts[0].at[2].multiply(2)))
)
POINT = jnp.array([0.5, -1.0, 2.0, 1.5])


def test_the_error_is_zero_within_rounding_for_a_right_slope():
    value, slope, error = slopes(lambda x: jnp.sum(x**3), POINT)
    np.testing.assert_allclose((value, *slope), (10.5, *(3 * POINT**2)))
    assert error == 0


def test_one_wrong_entry_is_an_error_and_is_found():
    _, slope, error = slopes(wrong_at_two, POINT)
    assert error > 0.01
    assert odd_entry(wrong_at_two, POINT, 0, np.asarray(slope)) == 2
    assert odd_entry(wrong_at_two, POINT, 0, np.asarray(3 * POINT**2)) is None


def test_a_second_point_where_the_loss_is_not_finite_does_not_count():
    _, _, error = slopes(lambda x: jnp.sum(jnp.sqrt(x)), jnp.full(4, 1e-2))
    assert error == 0
