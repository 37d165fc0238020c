"""The count of claims by what was found.

It is the one rule of the README, of docs/verdicts.md and of the report.

Every claim of a record counts, under one key: as "holds" or "fails" if it was decided, else as
"undecided" or "not tested". What is expected of it does not matter.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

ORIGINS = ("printed", "interpretation", "derived")
_PLURAL = {"holds": "hold", "fails": "fail"}


class Tally(NamedTuple):
    """Number of claims by decision."""

    holds: int
    fails: int
    undecided: int
    untested: int

    @property
    def total(self) -> int:
        return sum(self)

    @property
    def decided(self) -> int:
        return self.holds + self.fails

    def words(self) -> dict[str, str]:
        """Describe the counts that are not zero, such as {"holds": "3 hold"}."""
        counts = dict(zip(("holds", "fails", "undecided", "not tested"), self, strict=True))
        return {
            decision: f"{count} {decision if count == 1 else _PLURAL.get(decision, decision)}"
            for decision, count in counts.items()
            if count
        }

    def __str__(self) -> str:
        open_ones = self.undecided + self.untested
        words = f"{self.holds} of {self.total}"
        return f"{words} ({open_ones} undecided)" if open_ones else words


def tally(claims: Iterable[dict[str, Any]], origin: str | None = None) -> Tally:
    """Count the claims of records, all or those of an origin."""
    counts = Counter(
        claim["decision"] for claim in claims if origin is None or claim["origin"] == origin
    )
    return Tally(counts["holds"], counts["fails"], counts["undecided"], counts["not tested"])
