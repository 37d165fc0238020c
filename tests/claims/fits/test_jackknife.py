"""Pseudo-values, intervals of numbers of means, and what counts as noise."""

import numpy as np
import pytest
from scipy import stats

from jaxtheory.claims.fits import interval
from jaxtheory.claims.fits.jackknife import ends, is_noise, logarithms, pseudo_values


def test_pseudo_values_of_a_mean_are_the_runs():
    runs = np.random.default_rng(0).normal(size=9)
    estimate, pseudo = pseudo_values(lambda seeds: runs[seeds].mean(), 9)
    np.testing.assert_allclose(pseudo, runs, atol=1e-12)
    assert estimate == pytest.approx(runs.mean())


def test_logarithms_of_means_over_the_runs_that_are_finite():
    runs = np.array([[1.0, 2.0, -1.0, np.nan], [3.0, np.nan, 0.5, np.inf], [5.0, 4.0, 0.5, np.nan]])
    estimate, pseudo = logarithms(runs)
    np.testing.assert_allclose(estimate, [np.log(3), np.log(3), np.nan, np.nan])
    # without each run: (3 + 5) / 2, (1 + 5) / 2, (1 + 3) / 2
    without = np.log([4.0, 3.0, 2.0])
    np.testing.assert_allclose(pseudo[:, 0], np.log(3) + 2 * (without.mean() - without))


def test_ends_are_infinite_for_one_run_and_nan_without_a_number():
    runs = np.random.default_rng(0).normal(size=(6, 2))
    low, high = ends(runs)
    assert (low[1], high[1]) == pytest.approx(interval.of_mean(runs[:, 1]))
    runs[2, 0] = np.nan
    assert np.isnan(ends(runs)[0]).tolist() == [True, False]
    low, high = ends(np.array([[1.0, np.nan]]))
    np.testing.assert_array_equal([low, high], [[-np.inf, np.nan], [np.inf, np.nan]])


def test_noise_of_one_place_is_the_test_of_student():
    rng = np.random.default_rng(0)
    for shift in np.linspace(0, 3, 13):
        runs = rng.normal(shift, 1.0, (6, 1))
        assert is_noise(runs) == (stats.ttest_1samp(runs[:, 0], 0).pvalue > 0.01)


@pytest.mark.parametrize("correlated", [0.0, 0.5, 1.0])
def test_noise_is_rarely_taken_for_something_and_something_is_seen(correlated):
    rng, false_alarms, detections = np.random.default_rng(1), 0, 0
    for _ in range(400):
        runs = np.sqrt(1 - correlated) * rng.normal(size=(8, 20))
        runs += np.sqrt(correlated) * rng.normal(size=(8, 1))
        false_alarms += not is_noise(runs)
        detections += not is_noise(runs + 3 * (-1.0) ** np.arange(20))
    assert false_alarms / 400 <= 0.03 and detections == 400  # four standard deviations above 0.01


def test_noise_of_no_run_of_equal_runs_and_what_is_allowed_beside_it():
    runs = np.full((5, 4), 0.1)
    assert is_noise(runs[:1]) is None and is_noise(np.where(runs > 0, np.nan, 0)) is None
    assert is_noise(runs) is False and is_noise(runs, allowed=0.2) is True  # |mean| = 0.2
    assert is_noise(runs * 1e-7) is True  # rounding
