"""Positions and their sine encodings: orthogonal, zero beyond the sizes, exact for long ones."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.core.config import Size
from jaxtheory.ops import positions


def test_indices_count_from_zero():
    assert positions.indices(3).tolist() == [0, 1, 2] and positions.indices(3).dtype == jnp.int32
    assert positions.indices(0).shape == (0,)


@pytest.mark.parametrize(("length", "dim"), [(1, 1), (3, 3), (4, 9)])
def test_encodings_are_sines_and_orthogonal(length, dim):
    encodings = np.asarray(positions.sines(Size(length), Size(dim)))
    i, k = np.arange(1, length + 1)[:, None], np.arange(1, dim + 1)[None, :]
    np.testing.assert_allclose(encodings, np.sin(i * k * np.pi / (dim + 1)), atol=1e-14)
    np.testing.assert_allclose(encodings @ encodings.T, (dim + 1) / 2 * np.eye(length), atol=1e-13)


def test_padding_is_zero_and_changes_nothing():
    plain = positions.sines(Size(3), Size(5))
    padded = np.asarray(positions.sines(Size(6, 3), Size(8, 5)))
    np.testing.assert_array_equal(padded[:3, :5], plain)
    assert not padded[3:].any() and not padded[:, 5:].any()


def test_a_long_position_loses_no_digits():
    """Position 1 + 2 (M + 1) n has the encoding of position 1."""
    encodings = positions.sines(Size(1 + 2 * 8 * 1000), Size(7))
    np.testing.assert_allclose(encodings[-1], encodings[0], atol=1e-15)
