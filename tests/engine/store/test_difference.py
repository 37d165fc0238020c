"""A difference between a store and a request is one line with one thing in it."""

import pytest

from jaxtheory import InputError, sweep
from tests.helpers.quadratic import THEORY, Config

STORED = {"vary": {"eta": [0.3, 0.5]}, "steps": 3}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("difference") / "store"
    sweep(THEORY, Config(), **STORED, store=folder)
    return folder


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"key": 1}, "key: stored 0; requested 1"),
        ({"vary": None}, "eta: stored 0.3, 0.5; requested 0.1"),
        ({"vary": {"eta": [0.3], "s": [2.0]}}, "scale: stored 1.0; requested 2.0"),
        ({"vary": {"eta": [0.3], "s": [1.0]}}, "scale, which is on an axis of one of them only"),
        ({"vary": {"s": range(1, 21)}}, "eta: stored 0.3, 0.5; requested 0.1"),
        ({"stop": lambda metrics: metrics["distance"] < 0}, "stop: stored none; requested another"),
        ({"dtype": "float32"}, "dtype: stored float64; requested float32"),
    ],
)
def test_one_thing_is_named(store, changes, text):
    options = {**STORED, **changes}
    with pytest.raises(InputError) as error:
        sweep(THEORY, Config(), **options, store=store)
    start, _, message = str(error.value).partition(" holds other runs, ")
    assert start == str(store) and message.startswith(text)
    assert message.endswith("; choose another directory for store=")
    assert "\n" not in message and not {*"{}[]"} & {*message}


def test_edited_code_is_named(store):
    edited = THEORY._replace(metrics=lambda params, problem, config: {"distance": 0.0 * params})
    with pytest.raises(InputError, match=r"code of .* has changed since \(metrics\); choose"):
        sweep(edited, Config(), **STORED, store=store)
