"""Verdicts: statistic, place and bound, and how many runs are behind them."""

import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory import InputError, verdict
from jaxtheory.claims import at_least, at_most, between
from jaxtheory.reports import wording

CONDITIONS = xr.DataArray([np.linspace(1, 3, 9), np.linspace(5, 7, 9)], dims=("x", "seed"))


@pytest.mark.parametrize(
    ("options", "decision", "measured"),
    [
        ({"bound": at_least(0.5)}, "holds", 2.0),
        ({"bound": at_least(2.1)}, "undecided", 2.0),
        ({"bound": at_least(3.5)}, "fails", 2.0),
        ({"bound": at_most(7.5)}, "holds", 6.0),
        ({"bound": at_most(5.9)}, "undecided", 6.0),
        ({"bound": at_most(4.5)}, "fails", 6.0),
        ({"bound": at_most(3.5), "where": "somewhere"}, "holds", 2.0),
        ({"bound": at_most(2.1), "where": "somewhere"}, "undecided", 2.0),
        ({"bound": at_least(7.5), "where": "somewhere"}, "fails", 6.0),
        ({"bound": between(0.5, 7.5)}, "holds", 2.0),
        ({"bound": between(0.5, 4.5)}, "fails", 6.0),
        ({"bound": between(3.5, 7.5)}, "fails", 2.0),
        ({"bound": between(0.5, 6.1)}, "undecided", 6.0),
        ({"bound": between(2.9, 5.1), "where": "together"}, "holds", 4.0),
        ({"bound": between(3.9, 4.1), "where": "together"}, "undecided", 4.0),
        ({"bound": at_least(1.0), "statistic": "each"}, "holds", 1.0),
        ({"bound": at_least(1.1), "statistic": "each"}, "fails", 1.0),
        ({"bound": at_most(5.0), "statistic": "median", "where": "together"}, "holds", 4.0),
        ({"bound": at_most(4.5), "statistic": "median", "where": "together"}, "undecided", 4.0),
    ],
)
def test_statistic_place_and_bound(options, decision, measured):
    outcome = verdict(CONDITIONS, **options)
    assert (outcome.decision, outcome.n) == (decision, 9)
    assert outcome.measured == pytest.approx(measured)
    assert outcome.holds is {"holds": True, "fails": False, "undecided": None}[decision]
    low, high = outcome.interval
    assert low <= outcome.measured <= high


def test_a_share_counts_truth_and_an_infinite_run_is_the_worst():
    true = xr.DataArray([[True] * 20, [False] * 19 + [True]], dims=("x", "seed"))
    assert verdict(true, at_least(0.7), statistic="share", where="somewhere").holds
    assert verdict(true, at_least(0.7), statistic="share").holds is False
    assert (
        verdict(true, at_least(0.7)).interval
        == verdict(true, at_least(0.7), statistic="share").interval
    )
    half = verdict(true, at_least(0.4), statistic="share", where="together")
    assert half.holds is None and half.measured == pytest.approx(21 / 40) and half.n == 20
    assert not verdict(
        xr.DataArray([1.0, np.inf], dims="seed"), at_most(2.0), statistic="each"
    ).holds


def test_exceptions_are_counted_by_seed():
    """One seed that violates a bound in two conditions is one exception."""
    values = xr.DataArray(np.zeros((3, 16)), dims=("x", "seed"))
    outcome = verdict(values, at_most(0.5), statistic="each")
    assert outcome.holds and str(outcome.exceptions) == "0 of 16 runs, so at most 25 %"
    values[:2, 4], values[2, 5] = 1.0, np.nan
    outcome = verdict(values, at_most(0.5), statistic="each")
    assert outcome.holds is False and outcome.exceptions[:2] == (1, 16)
    assert verdict(values, at_most(5.0)).exceptions is None


def test_numbers_without_seeds_are_exact():
    outcome = verdict(xr.DataArray([0.1, 0.3], dims="x"), at_most(0.3))
    assert outcome.holds and outcome.interval == (0.3, 0.3) and outcome.exceptions is None


def test_a_single_run_of_several_conditions_decides_no_mean():
    outcome = verdict(CONDITIONS.isel(seed=[0]), at_most(100.0))
    assert outcome.holds is None and outcome.interval == (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bound": 1.0}, r"bound must be at_least\(x\), .* of jaxtheory.claims, got 1.0"),
        ({"bound": (1.0, 2.0)}, r"bound must be .*, got \(1.0, 2.0\)"),
        ({"bound": None}, "bound must be .*, got None"),
        ({"bound": at_least(1.0), "statistic": "mode"}, "statistic = 'mode'"),
        ({"bound": at_least(1.0), "where": "here"}, "where = 'here'"),
    ],
)
def test_a_verdict_needs_a_bound_and_known_words(options, message):
    with pytest.raises(InputError, match=message):
        verdict(CONDITIONS, **options)


def test_a_verdict_says_how_many_runs_are_behind_its_conditions():
    """One of four runs is left at the second condition, none at the third; infinite is no value."""
    nan, inf = np.nan, np.inf
    values = xr.DataArray(
        [[1.0, 1, 1, 1], [0.9, nan, inf, nan], [nan] * 4], dims=["p", "seed"]
    ).transpose("seed", "p")
    for where, holds in (("everywhere", None), ("somewhere", True), ("together", True)):
        outcome = verdict(values, at_least(0.5), where=where)
        assert (outcome.holds, outcome.n, outcome.least, outcome.seeds) == (holds, 4, 1, 4), where
    empty = verdict(values.isel(p=2), at_least(0.5))
    assert (empty.decision, empty.n, empty.least, empty.seeds) == ("undecided", 0, 0, 4)
    assert np.isnan(empty.measured) and empty.at == ""
    lost = verdict(values.isel(p=[1]), at_least(0.5))
    assert (lost.n, lost.least) == (1, 1)
    assert verdict(values.isel(p=[0]) > 0, at_least(0.5), statistic="share").least == 4


@pytest.mark.parametrize(
    ("options", "at"),
    [
        ({"bound": at_least(2.5)}, "p = 0.3, K = 6"),
        ({"bound": at_least(2.5), "where": "somewhere"}, "p = 0.7, K = 5"),
        ({"bound": at_least(0.0), "statistic": "each"}, "p = 0.3, K = 6, seed = 4"),
        ({"bound": at_least(2.5), "where": "together"}, ""),
    ],
)
def test_a_verdict_says_at_which_values_it_was_decided(options, at):
    values = xr.DataArray(
        [[[3.0, 3.0], [2.0, 1.0]], [[8.0, 8.0], [np.nan, np.nan]]],
        coords={"p": [0.3, 0.7], "K": [5, 6], "seed": [2, 4]},
        dims=("p", "K", "seed"),
    )
    assert jaxtheory.verdict(values, **options).at == at
    assert jaxtheory.verdict(values.isel(p=0, K=0), at_least(1.0)).at == ""


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ({"interval": [1.234567, 1.9]}, "1.5 [1.23, 1.9]"),
        ({"interval": [None, 1.9], "at": "p = 0.3"}, "1.5 [-inf, 1.9] at p = 0.3"),
        ({"interval": [None, None]}, "1.5 (no interval)"),
        ({"interval": [1.5, 1.5]}, "1.5"),
        ({"interval": None}, "1.5"),
        ({"exceptions": "0 of 8 runs, so at most 44 %"}, "1.5 (0 of 8 runs, so at most 44 %)"),
        ({"measured": None}, "no number"),
        ({"measured": None, "n": None}, ""),
    ],
)
def test_the_measured_number_in_words(claim, text):
    defaults = {"measured": 1.5, "interval": [1.5, 1.5], "n": 2, "at": "", "exceptions": ""}
    assert wording.measured(defaults | claim) == text


def test_equal_runs_decide_too_readily() -> None:
    """The example of `wording.CAUTION`: eight runs without what one run in twenty has."""
    assert round(100 * 0.95**8) == 66
    runs = xr.DataArray(np.zeros(8), dims="seed")
    assert verdict(runs, at_most(0.04)).holds is True
    assert verdict(runs, at_most(0.04), statistic="share").holds is None
