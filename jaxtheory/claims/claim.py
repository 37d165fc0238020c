"""Claims as data: origin, statistic and bound of a statement.

The statistic is measured on a sweep, and must satisfy the bound.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import xarray as xr

from jaxtheory.claims.bound import Bound, require_bound
from jaxtheory.claims.origin import Origin
from jaxtheory.claims.verdict import require_words
from jaxtheory.texts.errors import InputError, checks_slots, suggest

_KINDS = ("printed", "interpretation", "derived")
_EXPECTATIONS = ("holds", "fails")


@checks_slots
@dataclasses.dataclass(frozen=True)
class Claim:
    """A statement and how it is judged.

    measure(dataset) is reduced by a statistic over the seeds and compared with a bound.

    A claim with fewer than `minimum` seeds, or fewer with a value, is not tested. A verdict whose
    number is NaN is never as expected.

    Args:
        id: short name that is unique among the claims of a theory, such as "CB-1".
        origin: `claims.printed(source, place)`, `claims.interpretation(source, place)` or
            `claims.derived(why)`. The statement of a printed claim quotes the source in “ ”.
        statement: the sentence that is judged.
        measure: a function of the dataset that returns an array with the dimension "seed".
        bound: `claims.at_least(x)`, `claims.at_most(x)` or `claims.between(low, high)`.
        statistic: "mean", "median", "share" or "each" (see `jaxtheory.verdict`).
        where: "everywhere", "somewhere" or "together" (see `jaxtheory.verdict`).
        expect: "holds", "fails", or None for a claim that is reported and never differs.
        minimum: number of seeds below which the claim is not tested. With 1, a dataset of one seed
            is taken to have exact numbers, such as those of a population law.
        why: one sentence on why a reader cares for the statement.
        panel: the panel of the figure, from 0, row by row (-1 for the last), whose vertical axis or
            color bar shows the number that the bound is about: the bound is drawn there.

    Raises:
        InputError: if an argument has a wrong type or an unknown name; the message names the claim.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.claims import at_most, derived, last
        >>> claim = jaxtheory.Claim(
        ...     "T-1",
        ...     origin=derived(),
        ...     statement="The loss ends at 0.1 or below.",
        ...     measure=lambda data: last(data.loss),
        ...     bound=at_most(0.1),
        ... )
        >>> claim.statistic, claim.where, claim.expect, claim.minimum
        ('mean', 'everywhere', 'holds', 8)
    """

    id: str
    _: dataclasses.KW_ONLY
    origin: Origin
    statement: str
    measure: Callable[[xr.Dataset], xr.DataArray]
    bound: Bound
    statistic: str = "mean"
    where: str = "everywhere"
    expect: str | None = "holds"
    minimum: int = 8
    why: str = ""
    panel: int | None = None

    def __post_init__(self) -> None:
        try:
            _require_origin(self.origin)
            if not callable(self.measure):
                raise InputError(f"measure must be a function, got {self.measure!r}")
            require_bound(self.bound)
            require_words(self.statistic, self.where)
            if self.expect is not None and self.expect not in _EXPECTATIONS:
                hint = suggest(str(self.expect), _EXPECTATIONS)
                raise InputError(f"expect = {self.expect!r}; {hint}, or None")
            number = isinstance(self.panel, int) and not isinstance(self.panel, bool)
            if self.panel is not None and not number:
                raise InputError(f"panel must be an integer or None, got {self.panel!r}")
        except InputError as error:
            raise InputError(f"claim {self.id}: {error}") from None


def _require_origin(origin: Any) -> None:
    """Raise InputError unless this is an origin of a known kind."""
    if not isinstance(origin, Origin):
        raise InputError(
            "origin must be printed(source, place), interpretation(source, place) or derived(why), "
            f"got {origin!r}"
        )
    if origin.kind not in _KINDS:
        raise InputError(f"origin = {origin.kind!r}; {suggest(str(origin.kind), _KINDS)}")
