"""The confidence interval of a mean over runs, for exponents and collapses.

`error` is the probability with which it may miss the mean, 0.01 by default: at most half of it on
each side. It is Student's t over n runs, mean -+ t_{n-1} s / sqrt(n), each arm stretched by the
factor by which a bootstrap-t reaches farther (Efron and Tibshirani 1993, chapter 12.5). The
bootstrap takes the quantiles .002 and .998 in place of .005 and .995, which makes up for its few
runs. For skewed runs this misses less often than Student's t: see docs/decisions/0032-intervals.md.
"""

import functools

import numpy as np
from scipy import special  # the quantiles of scipy.stats, which takes longer to import

ERROR = 0.01  # of an interval, and of a verdict
Interval = tuple[float, float]
_RESAMPLES, _TAIL = 2000, 0.002
_FEW = 6  # below so many runs the resamples are too few to tell a shape
_MOST = 5.0  # a longer stretch tells that resamples lack the one odd run, and misses no less often
NOTHING: Interval = (-np.inf, np.inf)


def of_mean(values: np.ndarray, error: float = ERROR) -> Interval:
    """Return the interval of the mean of runs; unbounded for fewer than two.

    Args:
        values: the finite values of n independent runs.
        error: probability of a miss.
    """
    n, scale = len(values), float(np.abs(values).max(initial=0.0))
    if n < 2:
        return NOTHING
    values = values / (scale or 1.0)  # whose squares neither overflow nor vanish
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if spread <= 4 * np.finfo(float).eps:  # the same number in each run
        return scale * mean, scale * mean
    below, above = _stretch((values - mean) / spread)
    arm = student(error, n) * spread / n**0.5
    return scale * (mean - below * arm), scale * (mean + above * arm)


def _stretch(values: np.ndarray) -> Interval:
    """Factors, 1 to 5, by which the arms of a bootstrap-t are longer than those of Student's t.

    values: standardized, so that mean 0 and variance 1 do not cancel.
    """
    n = len(values)
    if n < _FEW:
        return 1.0, 1.0
    counts = _resamples(n)
    means = counts @ values / n
    squares = counts @ values**2 / n
    variances = np.maximum(squares - means**2, 1e-30) / (n - 1)
    low, high = np.quantile(means / np.sqrt(variances), (_TAIL, 1 - _TAIL))
    below, above = np.clip(np.array([high, -low]) / student(ERROR, n), 1.0, _MOST)
    return float(below), float(above)


@functools.lru_cache(1000)
def student(error: float, n: int) -> float:
    """Return the quantile of Student's t for n runs that is exceeded with probability error / 2."""
    return float(special.stdtrit(n - 1, 1 - error / 2))


@functools.cache
def _resamples(n: int) -> np.ndarray:
    """The number of times that each run is drawn, per resample.

    It is the same for all intervals, so that a verdict is a function of its values.
    """
    drawn: np.ndarray = np.random.default_rng(0).multinomial(n, [1 / n] * n, _RESAMPLES)
    return drawn.astype(float)
