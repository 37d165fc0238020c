"""Verdicts on the numbers of replicates: does at least a share q of them satisfy a bound?"""

import math
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.claims.bound import Bound, require_bound
from jaxtheory.claims.evidence import ENOUGH, least_successes
from jaxtheory.engine.results.labeled import takes_labeled
from jaxtheory.texts.errors import InputError, brief
from jaxtheory.texts.faces import as_html, as_text

ALL = 0.9  # the share at which "all" holds, if there is no exception
_MOST = 100_000  # replicates; a verdict that needs more is as good as undecidable
Interval = tuple[float, float]


class Verdict(NamedTuple):
    """Verdict on the numbers of replicates, made by `verdict`.

    Args:
        holds: True if at least a share q of all replicates satisfies the bound, False if a smaller
            one does, None if these replicates do not decide it. A verdict is wrong with probability
            1 % at most.
        measured: the number of the typical replicate: the median for q = 1/2, else the quantile
            that must satisfy the bound; the worst number for q = 1. NaN if there is none.
        threshold: the bound, as the text "[low, high]" if it has two ends.
        n: number of replicates.
        satisfied: how many of them satisfy the bound.
        undefined: how many have no number; they count against either verdict.
        q: the share of all replicates that is claimed.
        interval: bounds between these numbers would be undecided: the rule, solved for the bound.
            An end beyond all numbers is infinite.
        equal: how many replicates have the number `measured`.
        seeds_needed: for an undecided verdict, about the number of replicates that would decide it
            if further ones were like these; None if that is not known, or is beyond 100 000.

    Example:
        >>> import xarray as xr
        >>> import jaxtheory
        >>> from jaxtheory.claims import at_most
        >>> losses = xr.DataArray([0.1, 0.2, 0.3, 0.2, 0.4, 0.1, 0.3, 0.5], dims="seed")
        >>> judged = jaxtheory.verdict(losses, at_most(0.9))
        >>> judged.decision, judged.measured, judged.satisfied, judged.n, judged.interval
        ('holds', 0.25, 8, 8, (0.1, 0.5))
        >>> open_one = jaxtheory.verdict(losses, at_most(0.45))
        >>> open_one.decision, open_one.satisfied, open_one.seeds_needed
        ('undecided', 7, 19)
    """

    holds: bool | None
    measured: float
    threshold: float | str
    n: int
    satisfied: int = 0
    undefined: int = 0
    q: float = 0.5
    interval: Interval = (-np.inf, np.inf)
    equal: int = 1
    seeds_needed: int | None = None

    def _face(self) -> tuple[str, dict[str, str]]:
        low, high = self.interval
        return f"{self.decision}: {self.measured:.4g}", {
            "interval": f"{low:.4g} to {high:.4g}" if np.isfinite(self.interval).any() else "",
            "threshold": f"{self.threshold:.4g}"
            if isinstance(self.threshold, float)
            else str(self.threshold),
            "satisfied": f"{self.satisfied} of {self.n} replicates",
            "claimed of": "all" if self.q == 1 else f"a share of {self.q:g}",
            "undefined": str(self.undefined or ""),
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


@takes_labeled
def verdict(values: xr.DataArray, bound: Bound, *, q: float = 0.5) -> Verdict:
    """Judge the numbers of replicates: at least a share q of all replicates satisfies the bound.

    A replicate is a whole experiment with a seed of its own. It satisfies the bound or not, so the
    evidence is that of a coin, exact for any law of the numbers and however often one looks while
    replicates are added: see `jaxtheory.claims.evidence`. The verdict holds or fails where the
    evidence against the contrary is 100, and is wrong with probability 1 % at most.

    A bound with two ends holds if each end holds, and fails if one of them fails with an evidence
    of 200. With q = 1 a single exception refutes; without one the verdict holds once the evidence
    for a share of 0.9 suffices, after 49 replicates.

    Args:
        values: the numbers, or truth values, with the one dimension "seed". NaN is a replicate
            without a number.
        bound: `at_least(x)`, `at_most(x)` or `between(low, high)` of `jaxtheory.claims`.
        q: the share, in (0, 1]: 1/2 for what is typical, more for "most", 1 for "all".

    Returns:
        The verdict.

    Raises:
        InputError: if the values have other dimensions, q is outside of (0, 1], or `bound` is not a
            bound.

    Example:
        >>> import xarray as xr
        >>> import jaxtheory
        >>> from jaxtheory.claims import at_least
        >>> values = xr.DataArray([[1.0, 1.1], [5.0, 5.1]], {"p": [0.5, 0.7]}, ("p", "seed"))
        >>> jaxtheory.verdict(values.min("p"), at_least(3.0), q=1).decision
        'fails'
        >>> jaxtheory.verdict(values.min("p"), at_least(0.5)).seeds_needed
        8
    """
    if values.dims != ("seed",):
        others = ", ".join(str(dim) for dim in values.dims if dim != "seed") or "no dimension"
        raise InputError(
            f"values: has {others}; must have one number for each seed: take the least, the "
            "largest or the mean over the other dimensions, or select one of their values"
        )
    return decide(values.values.astype(float), require_bound(bound), require_share(q))


def require_share(q: Any) -> float:
    """Return q as a number in (0, 1], or raise InputError."""
    number = isinstance(q, int | float) and not isinstance(q, bool)
    if not number or not 0 < q <= 1:
        raise InputError(f"q = {brief(q)}: must be a number in (0, 1], the share of all replicates")
    return float(q)


def decide(numbers: np.ndarray, bound: Bound, q: float) -> Verdict:
    """Return the verdict on the numbers of replicates, NaN for one without a number."""
    n, defined = len(numbers), np.sort(numbers[~np.isnan(numbers)])
    satisfied = int(np.sum((bound.low <= defined) & (defined <= bound.high)))
    below, above = int(np.sum(defined < bound.low)), int(np.sum(defined > bound.high))
    measured = _typical(defined, bound, q)
    return Verdict(
        holds=_holds(n, len(defined), below, above, bound, q),
        measured=measured,
        threshold=bound.threshold,
        n=n,
        satisfied=satisfied,
        undefined=n - len(defined),
        q=q,
        interval=_interval(defined, n, bound, q),
        equal=int(np.sum(defined == measured)),
        seeds_needed=_needed(n, len(defined), below, above, bound, q),
    )


def _holds(n: int, defined: int, below: int, above: int, bound: Bound, q: float) -> bool | None:
    """True, False, or None for undecided, from the numbers of replicates beyond each end."""
    ends = [
        (defined - count, count)
        for end, count in ((bound.low, below), (bound.high, above))
        if math.isfinite(end)
    ]
    enough = ENOUGH * len(ends)  # 200 for the failure of one of two ends
    if q == 1:
        if any(violated for _, violated in ends):
            return False
        return True if n == defined and n >= least_successes(n, ALL) else None
    if any(violated >= least_successes(n, 1 - q, enough) for _, violated in ends):
        return False
    return True if all(good >= least_successes(n, q) for good, _ in ends) else None


def _typical(defined: np.ndarray, bound: Bound, q: float) -> float:
    """The number that decides: the quantile that satisfies the bound if a share q does."""
    if not len(defined):
        return float("nan")
    both = math.isfinite(bound.low) and math.isfinite(bound.high)
    if q == 1:
        outside = np.maximum(bound.low - defined, defined - bound.high)
        return float(defined[np.argmax(outside)])
    if both or q == 0.5:
        return float(np.median(defined))
    rank = math.ceil(q * len(defined))  # counted from the good end
    return float(defined[-rank] if math.isfinite(bound.low) else defined[rank - 1])


def _interval(defined: np.ndarray, n: int, bound: Bound, q: float) -> Interval:
    """The bounds that are undecided; for two ends, the narrowest bound that holds."""
    if q == 1:
        return (float(defined[0]), float(defined[-1])) if len(defined) else (-np.inf, np.inf)
    holds, fails = least_successes(n, q), least_successes(n, 1 - q)
    at = lambda rank: float(defined[rank - 1]) if 1 <= rank <= len(defined) else None
    up = lambda rank: at(len(defined) - rank + 1)  # counted from the largest
    if math.isinf(bound.high):
        low, high = up(holds), at(fails)
    elif math.isinf(bound.low):
        low, high = up(fails), at(holds)
    else:
        low, high = up(holds), at(holds)
    return -np.inf if low is None else low, np.inf if high is None else high


def _needed(n: int, defined: int, below: int, above: int, bound: Bound, q: float) -> int | None:
    """The least number of replicates, with the shares of these, at which there is a verdict."""
    if n == 0 or _holds(n, defined, below, above, bound, q) is not None:
        return None

    def decided(m: int) -> bool:
        counts = [int(m * part / n) for part in (defined, below, above)]
        return _holds(m, counts[0], counts[1], counts[2], bound, q) is not None

    high = n
    while not decided(high):
        high *= 2
        if high > _MOST:
            return None
    low = max(n, high // 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decided(middle) else (middle, high)
    return high
