"""Verdicts: statistic, place and bound, and how many runs are behind them."""

import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory import InputError, verdict
from jaxtheory.reports import page

CONDITIONS = xr.DataArray([[1.0, 3.0], [5.0, 7.0]], dims=("x", "seed"))


@pytest.mark.parametrize(
    ("options", "holds", "measured"),
    [
        ({"at_least": 2.0}, True, 2.0),
        ({"at_least": 2.1}, False, 2.0),
        ({"at_most": 6.0}, True, 6.0),
        ({"at_most": 5.9}, False, 6.0),
        ({"at_most": 2.0, "where": "somewhere"}, True, 2.0),
        ({"at_least": 6.1, "where": "somewhere"}, False, 6.0),
        ({"between": (2.0, 6.0)}, True, 2.0),
        ({"between": (2.0, 5.0)}, False, 6.0),
        ({"between": (3.0, 6.0)}, False, 2.0),
        ({"between": (3.9, 4.1), "where": "together"}, True, 4.0),
        ({"at_least": 1.0, "statistic": "each"}, True, 1.0),
        ({"at_least": 1.1, "statistic": "each"}, False, 1.0),
        ({"at_most": 4.0, "statistic": "median", "where": "together"}, True, 4.0),
    ],
)
def test_statistic_place_and_bound(options, holds, measured):
    found = verdict(CONDITIONS, **options)
    assert (found.holds, found.n) == (holds, 2) and found.measured == pytest.approx(measured)


def test_a_share_counts_truth_and_an_infinite_run_is_the_worst():
    assert verdict(CONDITIONS > 2, statistic="share", where="together", at_least=0.75).holds
    assert not verdict(CONDITIONS > 2, statistic="share", at_least=0.75).holds
    assert not verdict(
        xr.DataArray([1.0, np.inf], dims="seed"), statistic="each", at_most=2.0
    ).holds


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"at_least": 1.0, "at_most": 2.0},
        {"statistic": "mode", "at_least": 1.0},
        {"where": "here", "at_least": 1.0},
    ],
)
def test_a_verdict_needs_one_bound_and_known_words(options):
    with pytest.raises(InputError):
        verdict(CONDITIONS, **options)


def test_a_verdict_says_how_many_runs_are_behind_its_conditions():
    """One of four runs is left at the second condition, none at the third; infinite is no value."""
    nan, inf = np.nan, np.inf
    values = xr.DataArray(
        [[1.0, 1, 1, 1], [0.9, nan, inf, nan], [nan] * 4], dims=["p", "seed"]
    ).transpose("seed", "p")
    for where in ("everywhere", "somewhere", "together"):
        found = verdict(values, where=where, at_least=0.5)
        assert (found.holds, found.n, found.least, found.seeds) == (True, 4, 1, 4), where
    assert verdict(values.isel(p=2), at_least=0.5)[3:] == (0, None, "", 0, 4)
    lost = verdict(values.isel(p=[1]), at_least=0.5)
    assert (lost.n, lost.least) == (1, 1)
    assert verdict(values.isel(p=[0]) > 0, statistic="share", at_least=0.5).least == 4


@pytest.mark.parametrize(
    ("options", "at"),
    [
        ({"at_least": 2.5}, "p = 0.3, K = 6"),
        ({"at_least": 2.5, "where": "somewhere"}, "p = 0.7, K = 5"),
        ({"at_least": 0.0, "statistic": "each"}, "p = 0.3, K = 6, seed = 4"),
        ({"at_least": 2.5, "where": "together"}, ""),
    ],
)
def test_a_verdict_says_at_which_values_it_was_decided(options, at):
    values = xr.DataArray(
        [[[3.0, 4.0], [2.0, 1.0]], [[8.0, 9.0], [np.nan, np.nan]]],
        coords={"p": [0.3, 0.7], "K": [5, 6], "seed": [2, 4]},
        dims=("p", "K", "seed"),
    )
    assert jaxtheory.verdict(values, **options).at == at
    assert jaxtheory.verdict(values.isel(p=0, K=0), at_least=1.0).at == ""
    number = page.format_measured({"measured": 1.5, "error": None, "n": 2, "at": at})
    assert number == ("1.5 at " + at if at else "1.5")
