"""Figures are run and their claims judged."""

import pytest
from helpers.worked_example import THEORY, Config

from jaxtheory import Figure
from jaxtheory.claims import at_most, derived, last, run_figure

from .test_claim import make


def figure(expect, threshold, minimum=3):
    claim = make(
        "loss",
        origin=derived("test"),
        measure=lambda data: last(data.loss),
        bound=at_most(threshold),
        expect=expect,
        minimum=minimum,
    )
    return Figure(
        "falls",
        "test",
        THEORY,
        Config(),
        {"steps": 40, "seeds": 4},
        {"seeds": 2},
        (claim,),
        lambda data: None,
    )


@pytest.mark.parametrize(
    ("expect", "threshold", "as_expected"),
    [
        ("holds", 0.3, True),
        ("holds", 0.0, False),
        ("fails", 0.0, True),
        ("fails", 0.3, False),
        (None, 0.0, True),
    ],
)
def test_verdict_against_expectation(expect, threshold, as_expected):
    result = run_figure(figure(expect, threshold))
    assert result.verdicts[0].as_expected is as_expected and result.verdicts[0].verdict.n == 4


def test_too_few_seeds_are_no_verdict():
    judged = run_figure(figure("holds", 0.0), quick=True).verdicts[0]
    assert judged.verdict is None and judged.reason == "not tested (n=2 < 3)" and judged.as_expected


def test_verdicts_do_not_depend_on_the_key():
    assert all(
        run_figure(figure("holds", 0.3), key=key).verdicts[0].verdict.holds for key in (1, 2)
    )
