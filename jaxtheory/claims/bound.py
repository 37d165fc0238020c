"""Bounds that a measured number must satisfy."""

import math
from typing import Any, NamedTuple

from jaxtheory.texts.errors import InputError


class Bound(NamedTuple):
    """Closed interval in which a number must lie, made by `at_least`, `at_most` or `between`.

    Args:
        low: the smallest number that satisfies the bound; -inf if there is none.
        high: the largest number that satisfies the bound; inf if there is none.

    Example:
        >>> from jaxtheory import claims
        >>> claims.between(0.9, 1.1)
        Bound(low=0.9, high=1.1)
    """

    low: float
    high: float

    @property
    def threshold(self) -> float | str:
        """The one finite end, or both ends as the text "[low, high]"."""
        if math.isinf(self.low) != math.isinf(self.high):
            return self.high if math.isinf(self.low) else self.low
        return f"[{self.low:.4g}, {self.high:.4g}]"


def at_least(low: float) -> Bound:
    """Return the bound number >= low.

    Args:
        low: the smallest number that satisfies the bound.

    Returns:
        The bound [low, inf).

    Raises:
        InputError: if low is not a number.

    Example:
        >>> from jaxtheory import claims
        >>> claims.at_least(0.93).threshold
        0.93
    """
    return Bound(_number("at_least", low), math.inf)


def at_most(high: float) -> Bound:
    """Return the bound number <= high.

    Args:
        high: the largest number that satisfies the bound.

    Returns:
        The bound (-inf, high].

    Raises:
        InputError: if high is not a number.

    Example:
        >>> from jaxtheory import claims
        >>> claims.at_most(0.1).threshold
        0.1
    """
    return Bound(-math.inf, _number("at_most", high))


def between(low: float, high: float) -> Bound:
    """Return the bound low <= number <= high.

    Args:
        low: the smallest number that satisfies the bound.
        high: the largest number that satisfies the bound.

    Returns:
        The bound [low, high].

    Raises:
        InputError: if an end is not a number, or low exceeds high.

    Example:
        >>> from jaxtheory import claims
        >>> claims.between(-0.55, -0.45).threshold
        '[-0.55, -0.45]'
    """
    bound = Bound(_number("between", low), _number("between", high))
    if bound.low > bound.high:
        raise InputError(f"between: low = {low} must be at most high = {high}")
    return bound


def require_bound(bound: Any) -> Bound:
    """Return a bound, or raise InputError."""
    if not isinstance(bound, Bound):
        raise InputError(
            "bound must be at_least(x), at_most(x) or between(low, high) of jaxtheory.claims, got "
            f"{bound!r}"
        )
    return bound


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name}: the bound must be a number, got {value!r}") from None
    if math.isnan(number):
        raise InputError(f"{name}: the bound must be a number, got {value!r}")
    return number
