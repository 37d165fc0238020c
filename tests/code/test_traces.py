"""Traces are kept under the code: one that is bound anew is traced anew, the same code is not."""

import jax
import pytest

from jaxtheory import InputError
from jaxtheory.code import traces
from jaxtheory.code.code_hash import code_hash

LAM = 1.0


def body(_i, x):
    return LAM * x


@jax.jit
def helper(x):
    return LAM * x


def looped(x):
    return jax.lax.fori_loop(0, 1, body, x)


@pytest.mark.parametrize("function", [looped, helper])
def test_a_global_that_is_bound_anew_is_read_under_its_hash(function, monkeypatch):
    assert function(1.0) == 1  # without a hash, as a user would
    for value in (2.0, 3.0, 2.0):
        monkeypatch.setattr(f"{__name__}.LAM", value)
        with traces.under(code_hash(function)):
            assert function(1.0) == value
    assert function(1.0) == 1  # which JAX does outside


def test_hashes_of_parts_are_those_of_the_code_and_computed_once(monkeypatch):
    assert traces.present() == ""
    assert traces.digest((looped,)) == code_hash((looped,))
    with traces.under("one"):
        first = traces.digest((looped,))
        monkeypatch.setattr(f"{__name__}.LAM", 2.0)
        assert traces.present() == "one" and traces.digest((looped,)) == first
        with traces.under("another"):
            assert traces.digest((looped,)) == code_hash((looped,)) != first
        assert traces.present() == "one"


def test_functions_without_a_hash_have_a_new_text_at_each_call(monkeypatch):
    assert traces.code_of(looped) == code_hash(looped)

    def refuse(_):
        raise InputError("no hash")

    monkeypatch.setattr(traces, "code_hash", refuse)
    assert traces.code_of(looped) != traces.code_of(looped)


def test_the_hash_is_no_part_of_a_program():
    texts = set()
    for code in ("", "one", "another"):
        with traces.under(code):
            texts.add(jax.jit(looped).lower(1.0).as_text())
    assert len(texts) == 1
