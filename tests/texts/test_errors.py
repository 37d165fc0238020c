"""Hints for unknown names, and errors of memory in a line."""

import dataclasses
import pickle
from typing import NamedTuple

import numpy as np
import pytest

import jaxtheory
from jaxtheory import InputError
from jaxtheory.texts.errors import (
    checks_slots,
    line,
    notice,
    out_of_memory,
    require_arguments,
    suggest,
)
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
    ("name", "meant"),
    [
        ("k", "K"),
        ("NUM_STATES", "num_states"),
        ("Adam", "adam"),
        ("ETA", "eta"),
        ("Num-States", "num_states"),
    ],
)
def test_a_name_of_which_only_the_case_is_wrong_is_found(name, meant):
    known = ["key", "K", "num_states", "N", "adam", "sgd", "eta", "beta", "kappa"]
    assert suggest(name, known) == f"did you mean {meant!r}?"


def test_a_field_of_another_case_is_found_in_each_way_to_name_it():
    walk = get("random_walk")
    for call in (
        lambda: walk.Config(k=5),
        lambda: jaxtheory.sweep(walk, walk.Config(), vary={"k": [5, 6]}, steps=1),
    ):
        with pytest.raises(InputError, match="unknown field 'k'; did you mean 'K'"):
            call()


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


@checks_slots
class Pair(NamedTuple):
    """A record of two numbers."""

    first: int
    second: int = 2


@checks_slots
@dataclasses.dataclass(frozen=True)
class Point:
    """A dataclass."""

    first: int


def test_an_unknown_or_missing_slot_of_a_record_is_one_line():
    assert Pair(1) == Pair(first=1)._replace(second=2) == pickle.loads(pickle.dumps(Pair(1)))
    assert dataclasses.replace(Point(1), first=2) == Point(2)
    for wrong in (lambda: Pair(1, secnd=3), lambda: Pair(1)._replace(secnd=3)):
        with pytest.raises(InputError, match=r"^Pair has no 'secnd'; did you mean 'second'"):
            wrong()
    with pytest.raises(InputError, match=r"^Pair: missing a required argument: 'first'"):
        Pair()
    with pytest.raises(InputError, match=r"^Point has no 'frst'; did you mean 'first'"):
        Point(frst=1)


def test_a_function_with_other_arguments_is_one_line():
    require_arguments("f", lambda key, *more: None, "key, config")
    require_arguments("f", max, "event")  # built in
    with pytest.raises(InputError, match=r"^f takes \(a\), but is called with \(key, config\); x"):
        require_arguments("f", lambda a: None, "key, config", "; x")
