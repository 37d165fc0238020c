"""A sweep in words."""

import functools
from pathlib import Path

import pytest
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory import Figure
from jaxtheory.reports.wording import _records, _value, measured, sweep_in_words


def test_a_sweep_in_words() -> None:
    figure = Figure(
        name="mine",
        source="note",
        theory=THEORY,
        config=Config(noise=0.5),
        sweep={
            "vary": {"dimension": list(range(1, 11))},
            "zip": [{"learning_rate": [0.1, 0.25], "threshold": [0.0, 0.1]}],
            "seeds": [3, 4],
            "steps": 20,
            "record": [0, 20],
        },
        quick={"seeds": 1, "record": 5},
        claims=(),
        draw=lambda data: None,
    )
    assert sweep_in_words(figure, False) == (
        "linear_regression with noise = 0.5; together learning_rate = 0.1, 0.25 with threshold = "
        "0, 0.1; every dimension = 1, 2, 3, .., 10 (10 values); 2 seeds; 20 steps; recorded at 0, "
        "20"
    )
    assert sweep_in_words(figure, True).endswith("1 seed; 20 steps; recorded every 5 steps")
    assert _records({"loss": 1}) == "loss every step"


class Thing:
    """An object of a user, whose `repr` is the default."""

    def when(self, data):
        return data


def helper(x):
    return x


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (lambda x: x, "<lambda>"),
        (helper, "helper"),
        (functools.partial(helper, 3), "helper(…)"),
        (functools.partial(functools.partial(lambda x: x, 1)), "<lambda>(…)"),
        ([helper, 2.5, lambda x: x], "[helper, 2.5, <lambda>]"),
        ({"when": helper, "law": functools.partial(helper)}, "{when: helper, law: helper(…)}"),
        (((helper,), [Thing.__init__]), "[[helper], [__init__]]"),
        (Thing(), f"<{__name__}.Thing object>"),
        ([Thing()], f"[<{__name__}.Thing object>]"),
    ],
)
def test_a_value_has_no_address(value, text) -> None:
    """Also inside of containers, partial functions and the arguments of an experiment."""
    assert _value(value) == text and "0x" not in text
    figure = Figure("mine", "note", None, None, {"fit": value}, {}, (), lambda data: None, helper)
    figure = figure._replace(experiment=lambda folder, key, progress, fit: None)
    assert sweep_in_words(figure, False) == f"an experiment; 1 seed; fit {text}"


def reached(data):
    """The loss ends
    below one.

    More of it.
    """
    return data.loss.isel(step=-1) < 1


def test_a_search_in_words() -> None:
    figure = Figure(
        "mine",
        "note",
        THEORY,
        Config(),
        {
            "along": "learning_rate",
            "between": (0.1, 3.0),
            "when": reached,
            "over": {"noise": [0.0, 0.5]},
            "law": lambda problem, config: 1.0,
            "steps": 20,
            "several": "first",
        },
        {"law": {"edge": reached, "bound": reached}},
        (),
        lambda data: None,
        verb=jaxtheory.boundary,
    )
    assert sweep_in_words(figure, False) == (
        "linear_regression at its defaults; the learning_rate between 0.1 and 3 where this "
        "changes: The loss ends below one, compared with a law; every noise = 0, 0.5; 8 seeds; 20 "
        "steps; several first"
    )
    assert "compared with edge and bound" in sweep_in_words(figure, True)
    plain = figure._replace(sweep=figure.sweep | {"when": jaxtheory.below("loss", 0.5)})
    assert "where this changes: loss < 0.5, compared" in sweep_in_words(plain, False)
    for when, phrase in (
        (functools.partial(helper), "helper(…)"),
        (lambda data: data, "<lambda>"),
        (Thing().when, f"<bound method Thing.when of <{__name__}.Thing object>>"),
    ):
        plain = figure._replace(sweep=figure.sweep | {"when": when})
        assert f"where this changes: {phrase}, compared" in sweep_in_words(plain, False)


def test_an_interval_holds_its_number() -> None:
    claim = {"measured": 0.99962, "n": 8}
    assert measured(claim | {"interval": [0.99958, 0.99966]}) == "0.9996 [0.9996, 0.9997]"
    assert measured(claim | {"interval": [0.9, None]}) == "0.9996 [0.9, open]"
    # an interval is never printed as if it had no width
    assert measured(claim | {"interval": [0.999601, 0.999602]}) == "0.9996 [0.999601, 0.999602]"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_observed_quantities_are_named_without_their_functions() -> None:
    figure = Figure(
        name="mine",
        source="note",
        theory=THEORY,
        config=Config(),
        sweep={"seeds": 2, "steps": 1, "observe": {"size": abs}, "dims": {"size": ("x",)}},
        quick={},
        claims=(),
        draw=lambda data: None,
    )
    assert sweep_in_words(figure, False).endswith("; 2 seeds; 1 steps; with size observed")
