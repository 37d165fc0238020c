"""Claims and figures: verdicts against expectations, and too few runs for a verdict."""

import numpy as np
import pytest
import xarray as xr
from helpers.worked_example import THEORY, Config

from jaxtheory import Figure, InputError, holds, refuted, undecided
from jaxtheory.claims.claim import judge, run_figure

MAKERS = {"holds": holds, "refuted": refuted, "open": undecided}
SEEDS = xr.Dataset(coords={"seed": range(4)})


def figure(expected, threshold, minimum=3):
    last = lambda data: data.loss.isel(step=-1)
    claim = MAKERS[expected](
        "loss", "derived", "test", "the loss falls", last, at_most=threshold, minimum=minimum
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


def made(expected, *values, minimum=3):
    """A claim whose four runs measure these values, to be at least 1."""
    measured = xr.DataArray(list(values), dims="seed")
    return MAKERS[expected](
        "x", "printed", "s", "s", lambda data: measured, at_least=1.0, minimum=minimum
    )


@pytest.mark.parametrize(
    ("expected", "threshold", "as_expected"),
    [
        ("holds", 0.3, True),
        ("holds", 0.0, False),
        ("refuted", 0.0, True),
        ("refuted", 0.3, False),
        ("open", 0.0, True),
    ],
)
def test_verdict_against_expectation(expected, threshold, as_expected):
    result = run_figure(figure(expected, threshold))
    assert result.verdicts[0].as_expected is as_expected and result.verdicts[0].verdict.n == 4


def test_too_few_seeds_are_no_verdict():
    judged = run_figure(figure("holds", 0.0), quick=True).verdicts[0]
    assert judged.verdict is None and judged.reason == "not tested (n=2 < 3)" and judged.as_expected


def test_too_few_runs_left_for_a_verdict_are_none():
    (judged,) = judge((made("refuted", 1.0, 2.0, np.nan, np.nan),), SEEDS)
    assert judged.verdict is None and judged.reason == "not tested (n=2 < 3)" and judged.as_expected


@pytest.mark.parametrize(
    ("expected", "as_expected"), [("holds", False), ("refuted", False), ("open", True)]
)
def test_nan_confirms_nothing(expected, as_expected):
    claim = made(expected, *[np.nan] * 4, minimum=0)
    assert judge((claim,), SEEDS)[0].as_expected is as_expected


def test_verdicts_do_not_depend_on_the_key():
    assert all(
        run_figure(figure("holds", 0.3), key=key).verdicts[0].verdict.holds for key in (1, 2)
    )


def test_an_unknown_origin_is_refused():
    with pytest.raises(InputError, match="origin is 'hearsay'"):
        holds("x", "hearsay", "s", "s", lambda data: data, at_least=1.0)


def test_a_verdict_on_a_mean_over_seeds_counts_the_runs_that_diverged():
    data = xr.Dataset(
        {
            "loss": (("p", "seed"), [[1.0, 1, 1, 1], [1, np.nan, np.nan, np.nan]]),
            "diverged_at": (("p", "seed"), [[-1, -1, -1, -1], [-1, 2, 2, 2]]),
        }
    )
    mean = holds("m", "derived", "s", "s", lambda d: d.loss.mean("seed"), at_least=1, minimum=2)
    (found,) = judge((mean,), data)
    assert found.verdict and (found.verdict.least, found.verdict.seeds) == (1, 4)
