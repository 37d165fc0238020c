"""Hints for unknown names, and errors of memory in a line."""

import numpy as np
import pytest

import jaxtheory
from jaxtheory import InputError
from jaxtheory.core.errors import line, notice, out_of_memory, suggest
from jaxtheory.theories import get


def test_equally_close_names_are_all_told():
    with pytest.raises(InputError, match=r"did you mean 'eta1' or 'eta2'\?"):
        jaxtheory.plan(
            get("contextual_bigram"),
            get("contextual_bigram").Config(),
            steps=1,
            vary={"eta": [1.0]},
        )
    assert suggest("ab", ["xb", "abc", "xb"]) == "did you mean 'abc'?"
    assert suggest("q", ["a", "b", "a"]) == "known: a, b"


@pytest.mark.parametrize(
    ("error", "size"),
    [
        (
            RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 512 bytes.\nmore"),
            "512 bytes",
        ),
        (RuntimeError("RESOURCE_EXHAUSTED: trying to allocate 17.25GiB."), "17.25GiB"),
        (MemoryError("Unable to allocate 8.00 TiB for an array with shape (9,)"), "8.00 TiB"),
        (MemoryError(), "an array cannot"),
    ],
)
def test_memory_that_is_used_up_is_a_line_with_the_bytes_and_what_helps(error, size):
    text = line(error)
    assert size in text and "\n" not in text and "reduce the sizes" in text


def test_the_error_of_numpy_is_one_of_memory():
    with pytest.raises(MemoryError) as caught:
        np.ones(2**45)
    assert "an array of 256. TiB cannot" in str(out_of_memory(caught.value))


def test_other_errors_are_not_of_memory():
    assert out_of_memory(RuntimeError("INTERNAL: 12 bytes")) is None
    assert out_of_memory(ValueError("RESOURCE_EXHAUSTED")) is None


def test_a_notice_does_not_steer_a_terminal():
    with pytest.warns(UserWarning, match=r"^a\\x1b\[2Jb$"):
        notice("a\x1b[2Jb")
