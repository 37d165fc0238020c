"""Arrays as bytes read back in their own place only, and not where a bit is flipped."""

import numpy as np
import pytest

from jaxtheory.engine.store import packed

ARRAYS = {
    "diverged_at": np.array([-1, 3], np.int32),
    "metric/loss": np.array([[0.5], [np.nan]]),
}
NOTE = {"jax": "1", "python": "3.11"}
BYTES = packed.encode(ARRAYS, "mark", "0-0-1 part", NOTE)


def test_arrays_read_back_as_they_were():
    arrays, note = packed.decode(BYTES, "mark", "0-0-1 part")
    assert arrays.keys() == ARRAYS.keys() and note == NOTE == packed.note_of(BYTES)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


@pytest.mark.parametrize("place", [("other", "0-0-1 part"), ("mark", "0-1-2 part")])
def test_another_rectangle_or_name_does_not_read_them(place):
    assert packed.is_intact(BYTES, "mark", "0-0-1 part") and not packed.is_intact(BYTES, *place)
    assert packed.decode(BYTES, *place) is None


@pytest.mark.parametrize("at", [0, 31, 32, 40, 200, -1])
def test_a_flipped_bit_and_a_cut_are_seen(at):
    damaged = bytearray(BYTES)
    damaged[at] ^= 1
    for data in (bytes(damaged), BYTES[:at], b""):
        assert packed.decode(data, "mark", "0-0-1 part") is None
        assert isinstance(packed.note_of(data), dict)
