"""Verdicts on measured values: a statistic of the runs, the conditions it must hold in, a bound."""

from typing import NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.claims.bound import Bound, at_least, at_most, between
from jaxtheory.core.config import InputError, suggest
from jaxtheory.engine.results.statistics import average
from jaxtheory.engine.results.summary import label


class Verdict(NamedTuple):
    """Verdict on measured values, made by `verdict`.

    Args:
        holds: True if the number that decides satisfies the bound.
        measured: the number that decides; NaN if there is no value.
        threshold: the bound, as the text "[low, high]" if it has two ends.
        n: number of seeds with a finite value.
        error: standard error of the number, for a mean or a share of at least two runs; else None.
        at: the condition whose number decides, such as "p = 0.7, K = 6"; empty if there is only
            one.
        least: the smallest number of runs with a finite value at a condition that has any. If it is
            below `seeds`, the verdict is about the runs that did not diverge.
        seeds: number of seeds.

    Example:
        >>> import xarray as xr
        >>> import jaxtheory
        >>> losses = xr.DataArray([0.1, 0.2, 0.3], dims="seed")
        >>> judged = jaxtheory.verdict(losses, at_most=0.25)
        >>> judged.holds, round(judged.measured, 6), judged.threshold, judged.n
        (True, 0.2, 0.25, 3)
    """

    holds: bool
    measured: float
    threshold: float | str
    n: int
    error: float | None = None
    at: str = ""
    least: int = 0
    seeds: int = 0


# the statistic of each condition with its standard error, NaN if it has none
_STATISTICS = {
    "mean": lambda values: average(values)[:2],  # entries that are not finite are left out
    "median": lambda values: (values.median("seed"), values.mean("seed") * np.nan),
    "share": lambda values: average(values.astype(float))[:2],  # of truth values
    "each": lambda values: (values, values * np.nan),
}
_PLACES = ("everywhere", "somewhere", "together")


def verdict(
    values: xr.DataArray,
    *,
    statistic: str = "mean",
    where: str = "everywhere",
    at_least: float | None = None,
    at_most: float | None = None,
    between: tuple[float, float] | None = None,
) -> Verdict:
    """Judge values: reduce them over the seeds and compare the result with a bound.

    Every combination of the dimensions other than "seed" is a condition. Exactly one of `at_least`,
    `at_most` and `between` is given.

    Args:
        values: measured numbers, or truth values, with the dimension "seed". NaN entries are left
            out.
        statistic: "mean", "median" or "share" (of truth values) over the seeds of each condition,
            or "each", which judges every run.
        where: "everywhere" (the worst condition decides), "somewhere" (the best one decides), or
            "together" (the runs of all conditions are one sample).
        at_least: the smallest number that satisfies the bound.
        at_most: the largest number that satisfies the bound.
        between: both, as (low, high).

    Returns:
        The verdict. Without any value, its number is NaN and it does not hold.

    Raises:
        InputError: if `statistic` or `where` is unknown, or not exactly one bound is given.

    Example:
        >>> import xarray as xr
        >>> import jaxtheory
        >>> values = xr.DataArray([[1.0, 3.0], [5.0, 7.0]], {"p": [0.5, 0.7]}, ("p", "seed"))
        >>> jaxtheory.verdict(values, at_least=3.0).holds
        False
        >>> jaxtheory.verdict(values, where="somewhere", at_least=3.0).at
        'p = 0.7'
    """
    require_words(statistic, where)
    return decide(values, statistic, where, _one_bound(at_least, at_most, between))


def decide(values: xr.DataArray, statistic: str, where: str, bound: Bound) -> Verdict:
    """The verdict on values by a known statistic and place and a bound."""
    n, least, seeds = _seeds_behind(values)
    if "seed" not in values.dims:
        values = values.expand_dims("seed")
    if where == "together":
        values = xr.DataArray(np.ravel(values.values), dims="seed")
    conditions, spread = _STATISTICS[statistic](values)
    numbers, errors = (np.ravel(x.values).astype(float) for x in (conditions, spread))
    if np.all(np.isnan(numbers)):
        return Verdict(False, float("nan"), bound.threshold, n, None, "", least, seeds)
    outside = np.maximum(bound.low - numbers, numbers - bound.high)  # positive: the bound fails
    place = int(np.nanargmin(outside) if where == "somewhere" else np.nanargmax(outside))
    error = None if np.isnan(errors[place]) else float(errors[place])
    at = "" if where == "together" else _named(conditions, place)
    holds = bool(outside[place] <= 0)
    return Verdict(holds, float(numbers[place]), bound.threshold, n, error, at, least, seeds)


def _named(conditions: xr.DataArray, place: int) -> str:
    """The condition at a place of the flat array, by the dimensions that have several values."""
    indices = np.unravel_index(place, conditions.shape)
    return ", ".join(
        f"{dim} = {label(conditions[dim].values[i])}"
        for dim, i in zip(conditions.dims, indices, strict=True)
        if conditions.sizes[dim] > 1
    )


def require_words(statistic: str, where: str) -> None:
    """Raise InputError unless the statistic and the place are known."""
    for name, word, words in (("statistic", statistic, _STATISTICS), ("where", where, _PLACES)):
        if word not in words:
            raise InputError(f"{name} = {word!r}; {suggest(str(word), words)}")


def _one_bound(least: float | None, most: float | None, ends: tuple | None) -> Bound:
    number = sum(bound is not None for bound in (least, most, ends))
    if number != 1:
        raise InputError(
            f"a verdict needs one bound: at_least, at_most or between=(low, high), got {number}"
        )
    if ends is not None:
        return between(*ends)
    if least is not None:
        return at_least(least)
    assert most is not None
    return at_most(most)


def _seeds_behind(values: xr.DataArray) -> tuple[int, int, int]:
    """The number of seeds with a finite value anywhere, the least number at a condition that has
    one, and the number of seeds; zeros if `seed` was averaged away before.
    """
    if "seed" not in values.dims:
        return 0, 0, 0
    finite = abs(values.astype(float)) < np.inf
    others = [dim for dim in values.dims if dim != "seed"]
    counts = np.ravel(finite.sum("seed").values)
    least = int(counts[counts > 0].min(initial=values.sizes["seed"])) if counts.any() else 0
    return int(finite.any(others).sum()), least, values.sizes["seed"]
