"""The number of seeds that would decide a verdict, against the intervals of so many runs."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from jaxtheory import verdict
from jaxtheory.claims import at_least, at_most, between, interval
from jaxtheory.claims.needed import seeds_needed


def normal(n, mean=0.0, spread=1.0):
    """Runs whose mean and standard deviation are exactly these."""
    quantiles = stats.norm.ppf((np.arange(n) + 0.5) / n)
    return mean + spread * (quantiles - quantiles.mean()) / quantiles.std(ddof=1)


@pytest.mark.parametrize("gap", [0.2, 0.5, 0.8])
def test_about_so_many_normal_runs_of_the_same_mean_and_spread_are_decided(gap):
    """The intervals of the bootstrap differ by a tenth between samples of one shape."""
    runs = lambda n: xr.DataArray(normal(round(n)), dims="seed")
    pilot = verdict(runs(8), at_most(gap))
    n = pilot.seeds_needed
    assert pilot.holds is None
    assert verdict(runs(1.3 * n), at_most(gap)).holds
    assert verdict(runs(0.7 * n), at_most(gap)).holds is None
    by_quantile = (stats.norm.ppf(1 - interval.ERROR / 2) / gap) ** 2
    assert by_quantile < n < 1.5 * by_quantile + 8


def test_shares_and_medians_take_their_own_intervals():
    truth = np.array([True] * 12 + [False] * 4)
    n = verdict(xr.DataArray(truth, dims="seed"), at_least(0.5)).seeds_needed
    more = [
        verdict(xr.DataArray(np.tile(truth, k), dims="seed"), at_least(0.5))
        for k in (n // 16, n // 16 + 1)
    ]
    assert [outcome.holds for outcome in more] == [None, True]
    values = xr.DataArray(normal(9, 1.0), dims="seed")
    n = verdict(values, at_most(2.0), statistic="median").seeds_needed
    assert verdict(
        xr.DataArray(normal(2 * n, 1.0), dims="seed"), at_most(2.0), statistic="median"
    ).holds
    assert n > 9


@pytest.mark.parametrize(
    ("where", "bound", "row"),
    [
        ("everywhere", at_most(0.4), "near"),  # both inside: the last one decides
        ("somewhere", at_most(0.4), "far"),  # the first one suffices
        ("everywhere", at_most(-0.4), "far"),  # both outside: the first one refutes
        ("somewhere", at_most(-0.4), "near"),
    ],
)
def test_of_several_conditions_one_decides(where, bound, row):
    side = 1 if bound.high > 0 else -1
    rows = {"near": side * np.array(normal(8, 0.1)), "far": side * np.array(normal(8, -0.1))}
    counts = {
        name: seeds_needed(one[None], "mean", where, bound, 0.005) for name, one in rows.items()
    }
    assert counts["near"] > 1.5 * counts["far"]
    assert seeds_needed(np.stack([*rows.values()]), "mean", where, bound, 0.005) == counts[row]


def test_a_number_on_the_bound_or_of_one_run_is_never_decided():
    values = np.stack([normal(8, 1.0)])
    assert seeds_needed(values, "mean", "everywhere", at_most(values.mean()), 0.01) is None
    assert seeds_needed(values[:, :1], "mean", "everywhere", at_most(5.0), 0.01) is None
    assert seeds_needed(np.full((1, 4), np.nan), "mean", "everywhere", at_most(5.0), 0.01) is None


def test_runs_without_a_value_need_more_seeds():
    row = normal(8)
    count = seeds_needed(row[None], "mean", "everywhere", between(-0.3, 0.3), 0.01)
    half = np.concatenate([row, np.full(8, np.nan)])[None]
    assert seeds_needed(half, "mean", "everywhere", between(-0.3, 0.3), 0.01) == 2 * count


def test_a_verdict_that_is_decided_needs_none():
    assert verdict(xr.DataArray(normal(8), dims="seed"), at_most(9.0)).seeds_needed is None
