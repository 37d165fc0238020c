"""How many seeds an undecided verdict would take, if further runs were like those there are."""

from collections.abc import Callable

import numpy as np

from jaxtheory.claims import interval
from jaxtheory.claims.bound import Bound
from jaxtheory.claims.interval import Interval

_MOST = 100_000  # seeds; more are as good as undecidable
_SHAPE = 64  # runs for which the interval of a mean is formed, before it is made narrower


def seeds_needed(
    rows: np.ndarray, statistic: str, where: str, bound: Bound, error: float
) -> int | None:
    """Return the number of seeds at which conditions would be decided, or None beyond 100 000.

    Each interval keeps its number and narrows as its runs, with their present spread, become more.
    A bound that must hold everywhere is decided by the first condition outside of it, or else by
    the last one inside, and one that must hold somewhere the other way round.

    Args:
        rows: The runs of each condition, NaN where a run has no value.
        statistic: "mean", "median" or "share".
        where: "everywhere", "somewhere" or "together".
        bound: The bound.
        error: The probability with which the interval of a condition misses.
    """
    inside: list[float] = []
    outside: list[float] = []
    for row in rows:
        values = row[~np.isnan(row) if statistic == "median" else np.isfinite(row)]
        if len(values):
            number = np.median(values) if statistic == "median" else values.mean()
            group = inside if bound.low <= number <= bound.high else outside
            group.append(_needed(values, statistic, bound, error) * len(row) / len(values))
    first, last = (inside, outside) if where == "somewhere" else (outside, inside)
    needed = min(first) if first else max(last, default=np.inf)
    return int(np.ceil(needed)) if needed <= _MOST else None


def _needed(values: np.ndarray, statistic: str, bound: Bound, error: float) -> float:
    """The number of runs of one condition, inf beyond _MOST."""
    ends = _projection(values, statistic, error)
    low, high = len(values), 2 * len(values)
    if _decided(ends(low), bound):
        return low
    while not _decided(ends(high), bound):
        low, high = high, 2 * high
        if low > _MOST:
            return np.inf
    while high - low > 1:
        middle = (low + high) // 2
        if _decided(ends(middle), bound):
            high = middle
        else:
            low = middle
    return high


def _projection(values: np.ndarray, statistic: str, error: float) -> Callable[[int], Interval]:
    """The interval of n runs that are distributed as the values, as a function of n."""
    if statistic == "share":
        return lambda n: interval.of_share(n * values.mean(), n, error)
    if statistic == "median":
        return lambda n: interval.of_median(_alike(values, n), error)
    if len(values) < 2:
        return lambda n: interval.NOTHING
    sample_size, mean = max(len(values), _SHAPE), values.mean()
    alike = _alike(values, sample_size)
    low, high = interval.of_mean(alike, error)
    width = sample_size**0.5 / interval.student(error, sample_size)
    width *= values.std(ddof=1) / (alike.std(ddof=1) or 1.0)

    def of_mean(n: int) -> Interval:
        narrower = width * interval.student(error, n) / n**0.5
        return mean - narrower * (mean - low), mean + narrower * (high - mean)

    return of_mean


def _alike(values: np.ndarray, n: int) -> np.ndarray:
    """So many runs, distributed as the values are."""
    return np.quantile(values, (np.arange(n) + 0.5) / n, method="inverted_cdf")


def _decided(ends: Interval, bound: Bound) -> bool:
    low, high = ends
    inside = bound.low <= low and high <= bound.high
    return bool(inside or high < bound.low or bound.high < low)
