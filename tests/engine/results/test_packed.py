"""A part as bytes reads back in its own place only, and not where a bit is flipped."""

import numpy as np
import pytest

from jaxtheory.engine.records import Part
from jaxtheory.engine.results import packed

PART = Part(
    np.array([0, 2]),
    np.array([1, 0]),
    {"diverged_at": np.array([-1, 3], np.int32), "metric/loss": np.array([[0.5], [np.nan]])},
)
BYTES = packed.encode_part(PART, "mark", "0-0-1.part")


def test_a_part_reads_back_as_it_was():
    found = packed.decode_part(BYTES, "mark", "0-0-1.part")
    np.testing.assert_array_equal(found.point, PART.point)
    np.testing.assert_array_equal(found.place, PART.place)
    assert found.values.keys() == PART.values.keys()
    for name, array in PART.values.items():
        np.testing.assert_array_equal(found.values[name], array)
        assert found.values[name].dtype == array.dtype


@pytest.mark.parametrize("place", [("other", "0-0-1.part"), ("mark", "0-1-2.part")])
def test_another_store_or_name_does_not_read_it(place):
    assert packed.whole(BYTES, "mark", "0-0-1.part") and not packed.whole(BYTES, *place)
    assert packed.decode_part(BYTES, *place) is None


@pytest.mark.parametrize("at", [0, 31, 32, 200, -1])
def test_a_flipped_bit_and_a_cut_are_seen(at):
    damaged = bytearray(BYTES)
    damaged[at] ^= 1
    for data in (bytes(damaged), BYTES[:at], b""):
        assert packed.decode_part(data, "mark", "0-0-1.part") is None
