"""Hints for unknown names."""

import pytest

import jaxtheory
from jaxtheory import InputError
from jaxtheory.core.errors import suggest
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
