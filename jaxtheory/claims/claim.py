"""Claims as data: the origin of a statement, the number that it is about, and its bound."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from jaxtheory.claims.bound import Bound, require_bound
from jaxtheory.claims.measures import Measure
from jaxtheory.claims.origin import Origin
from jaxtheory.claims.verdict import require_share
from jaxtheory.texts.errors import InputError, checks_slots, suggest

_KINDS = ("printed", "interpretation", "derived")
_EXPECTATIONS = ("holds", "fails")
_DIVERGED = ("undefined", "violates")


@checks_slots
@dataclasses.dataclass(frozen=True)
class Claim:
    """A statement and how it is judged.

    A replicate is the whole experiment with a seed of its own. measure(data) is called with the
    data of one replicate, without the dimension "seed", and returns its number. The claim says that
    in at least a share q of all replicates the number satisfies the bound (see
    `jaxtheory.verdict`). A verdict whose number is NaN is never as expected.

    Args:
        id: short name that is unique among the claims of a theory, such as "CB-1".
        origin: `claims.printed(source, place)`, `claims.interpretation(source, place)` or
            `claims.derived(why)`. The statement of a printed claim quotes the source in “ ”.
        statement: the sentence that is judged.
        measure: `claims.Measure(name, function)`, or a function of the data of one replicate that
            returns a number. Of several numbers, such as one for each setting, the one farthest
            beyond the bound is taken: all of them must satisfy it. NaN is a replicate without a
            number.
        bound: `claims.at_least(x)`, `claims.at_most(x)` or `claims.between(low, high)`.
        q: the share of replicates, in (0, 1]: 1/2 for what is typical, 3/4 or 0.9 for "most" and
            "with high probability", 1 for "all" and "always".
        expect: "holds", "fails", or None for a claim that is reported and never differs.
        diverged: "undefined", or "violates" if a replicate without a number, such as a run that
            diverged, violates the bound.
        exact: True if the number does not depend on draws, so that one replicate decides.
        example: True for a number that is shown and not judged, such as that of a single network.
        law: the value that the statement gives, such as an exponent; the verdict says if the
            typical number is another one, although the bound around it holds. Of several numbers
            each stands for a setting, in the same order in all replicates.
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
        >>> claim.q, claim.expect
        (0.5, 'holds')
    """

    id: str
    _: dataclasses.KW_ONLY
    origin: Origin
    statement: str
    measure: Callable[[xr.Dataset], xr.DataArray | np.ndarray | float]
    bound: Bound
    q: float = 0.5
    expect: str | None = "holds"
    diverged: str = "undefined"
    exact: bool = False
    example: bool = False
    law: float | None = None
    why: str = ""
    panel: int | None = None

    @property
    def number(self) -> str:
        """The name of the number; empty if the measure has none."""
        return self.measure.name if isinstance(self.measure, Measure) else ""

    def __post_init__(self) -> None:
        try:
            _require_origin(self.origin)
            if not callable(self.measure):
                raise InputError(f"measure must be a function, got {self.measure!r}")
            require_bound(self.bound)
            require_share(self.q)
            if self.expect is not None and self.expect not in _EXPECTATIONS:
                hint = suggest(str(self.expect), _EXPECTATIONS)
                raise InputError(f"expect = {self.expect!r}; {hint}, or None")
            if self.diverged not in _DIVERGED:
                hint = suggest(str(self.diverged), _DIVERGED)
                raise InputError(f"diverged = {self.diverged!r}; {hint}")
            if self.law is not None and not isinstance(self.law, int | float):
                raise InputError(f"law must be a number or None, got {self.law!r}")
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
