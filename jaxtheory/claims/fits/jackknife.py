"""Numbers measured on the mean over seeds: their 99 % intervals, and whether they are noise.

The number is computed again without each seed, and the pseudo-values n whole - (n - 1) (without
seed i) are treated as runs (Efron and Tibshirani 1993, chapter 11).
"""

from collections.abc import Callable

import numpy as np
from scipy import special  # as in `claims.fits.interval`

from jaxtheory.claims.fits import interval
from jaxtheory.claims.fits.interval import ERROR

ROUNDING = 1e-6  # differences of logarithms below it are not told from rounding


def pseudo_values(
    measure: Callable[[list[int]], np.ndarray], n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return measure(all seeds) and the pseudo-values of the jackknife with a leading axis of n.

    They are shifted so that their mean is the number measured on all seeds.
    """
    everything = list(range(n))
    estimate = np.asarray(measure(everything), float)
    without = (
        [measure([j for j in everything if j != i]) for i in everything] if n > 1 else [estimate]
    )
    replicates = np.asarray(without, float)
    with np.errstate(invalid="ignore"):  # inf - inf, where there is no number
        return estimate, estimate + (n - 1) * (replicates.mean(0) - replicates)


def logarithms(runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithm of the mean over the finite runs (run, ...), and its pseudo-values.

    They are NaN where the mean is not positive.
    """

    def measure(seeds: list[int]) -> np.ndarray:
        finite = np.isfinite(runs[seeds])
        number = finite.sum(0)
        mean = np.where(finite, runs[seeds], 0).sum(0) / np.maximum(number, 1)
        shown = (number > 0) & (mean > 0)
        return np.where(shown, np.log(np.where(shown, mean, 1)), np.nan)

    return pseudo_values(measure, len(runs))


def ends(pseudo: np.ndarray, error: float = ERROR) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the intervals of numbers from their pseudo-values (run, ...).

    They are infinite for fewer than two runs, and NaN where there is no number.
    """
    columns = pseudo.reshape(len(pseudo), -1).T
    if len(pseudo) < 2:
        intervals = np.where(np.isnan(columns), np.nan, interval.NOTHING)
    else:
        intervals = np.array([interval.of_mean(column, error) for column in columns])
    low, high = intervals.T.reshape(2, *pseudo.shape[1:])
    return low, high


def is_noise(runs: np.ndarray, allowed: float = 0.0, error: float = ERROR) -> bool | None:
    """Return whether the mean of runs is 0 up to their noise.

    None for fewer than two runs, or if one has no number.

    The squares of the mean are compared with what they are on average for runs of mean 0, the sum
    of the variances over n. For normal runs the ratio has about the distribution
    F(m, m (n - 1)) with m = tr(C)^2 / tr(C^2), the number of directions in which the runs scatter
    (C their covariance; Box 1954). So noise may be correlated along the places.

    Args:
        runs: numbers (run, place), for instance what a fit leaves of each run.
        allowed: a norm of the mean that is allowed beside noise.
        error: the probability with which noise is taken for something else.
    """
    n = len(runs)
    if n < 2 or not np.isfinite(runs).all():
        return None
    mean = runs.mean(0)
    products = (runs - mean) @ (runs - mean).T
    noise, m = 0.0, float(np.sum(products**2))
    if m > 0:
        m = float(np.trace(products)) ** 2 / m
        noise = float(special.fdtri(m, m * (n - 1), 1 - error) * np.trace(products) / (n * (n - 1)))
    rounding = ROUNDING * runs.shape[1] ** 0.5
    return bool(np.linalg.norm(mean) <= noise**0.5 + allowed + rounding)
