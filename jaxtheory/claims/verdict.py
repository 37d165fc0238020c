"""Verdicts on measured values: a statistic with its interval, conditions, and a bound.

The statistic is over runs, and must satisfy the bound in the conditions.
"""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.claims import interval
from jaxtheory.claims.bound import Bound, require_bound
from jaxtheory.claims.interval import ERROR, Interval
from jaxtheory.claims.needed import seeds_needed
from jaxtheory.engine.results.labeled import takes_labeled
from jaxtheory.engine.results.summary import label
from jaxtheory.texts.errors import InputError, suggest
from jaxtheory.texts.faces import as_html, as_text


class Exceptions(NamedTuple):
    """Runs that violate a bound which each run must satisfy.

    Args:
        number: number of such runs.
        runs: number of runs; the runs of one seed in several conditions count as one, because they
            share their draws.
        most: the share of exceptions among all runs is at most this, with 99 % confidence.

    Example:
        >>> from jaxtheory.claims.verdict import Exceptions
        >>> str(Exceptions(0, 16, 0.2501))
        '0 of 16 runs, so at most 25 %'
    """

    number: int
    runs: int
    most: float

    def __str__(self) -> str:
        return f"{self.number} of {self.runs} runs, so at most {100 * self.most:.3g} %"


class Verdict(NamedTuple):
    """Verdict on measured values, made by `verdict`.

    Args:
        holds: True if the bound is satisfied, False if it is violated, None if the runs do not
            decide it: the interval of a number that decides lies on both sides of the bound.
        measured: the number that decides; NaN if there is no value.
        threshold: the bound, as the text "[low, high]" if it has two ends.
        n: number of seeds with a finite value.
        interval: the 99 % confidence interval (low, high) of the number, corrected for the number
            of conditions; infinite if the runs are too few for one. For "each" and for exact
            numbers both ends are the number itself.
        at: the condition whose number decides, such as "p = 0.7, K = 6"; empty if there is only
            one.
        least: the smallest number of runs with a finite value at a condition that has any. If it is
            below `seeds`, the verdict is about the runs that did not diverge.
        seeds: number of seeds.
        exceptions: for "each", the runs that violate the bound; else None.
        seeds_needed: for an undecided verdict, about the number of seeds that would decide it if
            the mean and the spread of the runs stayed as they are; None if that is not known, or is
            beyond 100 000.

    Example:
        >>> import xarray as xr
        >>> import jaxtheory
        >>> from jaxtheory.claims import at_most
        >>> losses = xr.DataArray([0.1, 0.2, 0.3], dims="seed")
        >>> judged = jaxtheory.verdict(losses, at_most(0.9))
        >>> judged.decision, round(judged.measured, 6), judged.threshold, judged.n
        ('holds', 0.2, 0.9, 3)
        >>> [round(end, 3) for end in judged.interval]
        [-0.373, 0.773]
        >>> open_one = jaxtheory.verdict(losses, at_most(0.25))
        >>> open_one.decision, open_one.seeds_needed
        ('undecided', 32)
    """

    holds: bool | None
    measured: float
    threshold: float | str
    n: int
    interval: Interval = interval.NOTHING
    at: str = ""
    least: int = 0
    seeds: int = 0
    exceptions: Exceptions | None = None
    seeds_needed: int | None = None

    def _face(self) -> tuple[str, dict[str, str]]:
        low, high = self.interval
        return f"{self.decision}: {self.measured:.4g}", {
            "interval": f"{low:.4g} to {high:.4g}" if np.isfinite(self.interval).any() else "",
            "threshold": f"{self.threshold:.4g}"
            if isinstance(self.threshold, float)
            else str(self.threshold),
            "at": self.at,
            "exceptions": "" if self.exceptions is None else str(self.exceptions),
            "seeds": f"{self.n} of {self.seeds} with a value" if self.seeds else str(self.n),
            "seeds needed": "" if self.seeds_needed is None else f"about {self.seeds_needed}",
        }

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    @property
    def decision(self) -> str:
        """The verdict as a word: "holds", "fails" or "undecided"."""
        return {True: "holds", False: "fails", None: "undecided"}[self.holds]


_STATISTICS = ("mean", "median", "share", "each")
_PLACES = ("everywhere", "somewhere", "together")


@takes_labeled
def verdict(
    values: xr.DataArray,
    bound: Bound,
    *,
    statistic: str = "mean",
    where: str = "everywhere",
) -> Verdict:
    """Judge values: reduce them over the seeds and compare the result with a bound.

    Every combination of the dimensions other than "seed" is a condition. The verdict holds or fails
    where the 99 % confidence interval of the statistic lies on that side of the bound, and is
    undecided otherwise. With several conditions the intervals hold together: each has the level
    1 - 0.01 / conditions.

    Args:
        values: measured numbers, or truth values, with the dimension "seed". NaN entries are left
            out, and conditions without any value. Numbers without that dimension are exact.
        bound: `at_least(x)`, `at_most(x)` or `between(low, high)` of `jaxtheory.claims`, as in a
            `Claim`.
        statistic: "mean" (Student's t with a bootstrap-t), "median" (order statistics) or "share"
            of truth values (Clopper-Pearson) over the seeds of each condition, or "each": every run
            must satisfy the bound, and `exceptions` tells how many do not. The mean of truth values
            is their share.
        where: "everywhere" (the worst condition decides), "somewhere" (the best one decides), or
            "together" (the runs of all conditions are one sample, in which those of one seed count
            as one run, because they share their draws).

    Returns:
        The verdict. Without any value, its number is NaN and it is undecided.

    Raises:
        InputError: if `statistic` or `where` is unknown, or `bound` is not a bound.

    Example:
        >>> import xarray as xr
        >>> import jaxtheory
        >>> from jaxtheory.claims import at_least
        >>> values = xr.DataArray([[1.0, 1.1], [5.0, 5.1]], {"p": [0.5, 0.7]}, ("p", "seed"))
        >>> jaxtheory.verdict(values, at_least(3.0), statistic="each").decision
        'fails'
        >>> jaxtheory.verdict(values, at_least(1.0), statistic="each").at
        'p = 0.5, seed = 0'
        >>> jaxtheory.verdict(values, at_least(0.5)).seeds_needed
        4
    """
    require_words(statistic, where)
    return decide(values, statistic, where, require_bound(bound))


def decide(
    values: xr.DataArray,
    statistic: str,
    where: str,
    bound: Bound,
    *,
    error: float = ERROR,
    exact: bool = False,
) -> Verdict:
    """The verdict on values by a known statistic and place and a bound.

    error: the probability of a wrong verdict, at most. exact: the numbers do not depend on draws.
    """
    n, least, seeds = _seeds_behind(values)
    if "seed" not in values.dims:
        values, exact = values.expand_dims("seed"), True
    if statistic == "mean" and values.dtype == bool:
        statistic = "share"
    if statistic == "each":
        conditions = values
    else:
        conditions = _pooled(values, statistic) if where == "together" else values
    other_dims = [str(dim) for dim in conditions.dims if statistic == "each" or dim != "seed"]
    table = conditions.transpose(*other_dims, ...).astype(float)
    rows = table.values.reshape(int(np.prod([table.sizes[dim] for dim in other_dims])), -1)
    numbers, low, high = _measured(rows, statistic, error, exact)
    counts: dict[str, Any] = {"n": n, "least": least, "seeds": seeds}
    if np.all(np.isnan(numbers)):
        return Verdict(None, float("nan"), bound.threshold, **counts)
    holds, place = _decided(numbers, low, high, where, bound)
    if holds is None:
        share = error / max(1, int((~np.isnan(numbers)).sum()))
        counts["seeds_needed"] = seeds_needed(rows, statistic, where, bound, share)
    at = "" if where == "together" else named(table, other_dims, place)
    ends = float(low[place]), float(high[place])
    some = None
    if statistic == "each" and where != "somewhere" and seeds > 1:
        some = _exceptions(table, bound, error)
    number = float(numbers[place])
    return Verdict(holds, number, bound.threshold, interval=ends, at=at, exceptions=some, **counts)


def _pooled(values: xr.DataArray, statistic: str) -> xr.DataArray:
    """One number for each seed: the average of its conditions."""
    other_dims = [dim for dim in values.dims if dim != "seed"]
    finite = values.astype(float).where(abs(values.astype(float)) < np.inf)
    return finite.median(other_dims) if statistic == "median" else finite.mean(other_dims)


def _measured(
    rows: np.ndarray, statistic: str, error: float, exact: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The number of each row with the ends of its interval; NaN for a row without a value."""
    finite = ~np.isnan(rows) if statistic in ("median", "each") else np.isfinite(rows)
    some = finite.any(1)
    error = error / max(1, int(some.sum()))
    numbers, low, high = np.full((3, len(rows)), np.nan)
    for i in np.flatnonzero(some):
        row = rows[i][finite[i]]
        numbers[i] = np.median(row) if statistic == "median" else row.mean()
        if exact or statistic == "each":
            low[i] = high[i] = numbers[i]
        elif statistic == "mean":
            low[i], high[i] = interval.of_mean(row, error)
        elif statistic == "median":
            low[i], high[i] = interval.of_median(row, error)
        else:
            low[i], high[i] = interval.of_share(row.sum(), len(row), error)
    return numbers, low, high


def _decided(
    numbers: np.ndarray, low: np.ndarray, high: np.ndarray, where: str, bound: Bound
) -> tuple[bool | None, int]:
    """Return True, False or None for undecided, and the index of the row that decides."""
    far = _outside(bound, low, high)  # of the worse end: not positive if all of it is inside
    near = _outside(bound, high, low)  # of the better end: positive if all of it is outside
    outside = _outside(bound, numbers, numbers)
    if where == "somewhere":
        if np.nanmin(far) <= 0:
            return True, int(np.nanargmin(far))
        if np.nanmin(near) > 0:
            return False, int(np.nanargmin(near))
        return None, int(np.nanargmin(np.where(near > 0, np.nan, outside)))
    if np.nanmax(near) > 0:
        return False, int(np.nanargmax(near))
    if np.nanmax(far) <= 0:
        return True, int(np.nanargmax(far))
    return None, int(np.nanargmax(np.where(far > 0, outside, np.nan)))


def _outside(bound: Bound, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """How far numbers lie outside a bound: `low` below it, `high` above it.

    An end of the bound that is infinite is never passed.
    """
    below = -np.inf if np.isinf(bound.low) else bound.low - low
    above = -np.inf if np.isinf(bound.high) else high - bound.high
    outside: np.ndarray = np.where(np.isnan(low), np.nan, np.maximum(below, above))
    return outside


def _exceptions(table: xr.DataArray, bound: Bound, error: float) -> Exceptions:
    """The seeds with a value that violates the bound in one of the conditions."""
    other_dims = [dim for dim in table.dims if dim != "seed"]
    violated = (table < bound.low) | (table > bound.high)
    runs, count = int(table.notnull().any(other_dims).sum()), int(violated.any(other_dims).sum())
    return Exceptions(count, runs, interval.most_exceptions(count, runs, error))


def named(table: xr.DataArray, dims: list[str], place: int) -> str:
    """The condition at a place of the flat array, by the dimensions that have several values."""
    indices = np.unravel_index(place, [table.sizes[dim] for dim in dims]) if dims else ()
    return ", ".join(
        f"{dim} = {label(table[dim].values[i])}"
        for dim, i in zip(dims, indices, strict=True)
        if table.sizes[dim] > 1
    )


def require_words(statistic: str, where: str) -> None:
    """Raise InputError unless the statistic and the place are known."""
    for name, word, words in (("statistic", statistic, _STATISTICS), ("where", where, _PLACES)):
        if word not in words:
            raise InputError(f"{name} = {word!r}; {suggest(str(word), words)}")


def _seeds_behind(values: xr.DataArray) -> tuple[int, int, int]:
    """The number of seeds with a finite value, the least number at a condition, and of all seeds.

    Conditions without any are left out; the numbers are zeros if `seed` was averaged away before.
    """
    if "seed" not in values.dims:
        return 0, 0, 0
    finite = abs(values.astype(float)) < np.inf
    other_dims = [dim for dim in values.dims if dim != "seed"]
    counts = np.ravel(finite.sum("seed").values)
    least = int(counts[counts > 0].min(initial=values.sizes["seed"])) if counts.any() else 0
    return int(finite.any(other_dims).sum()), least, values.sizes["seed"]
