"""The result of `verify`: a row for each check and each condition of the source."""

from typing import NamedTuple

import numpy as np

from jaxtheory.texts.faces import as_html, as_text


class CheckRow(NamedTuple):
    """The result of a check on one example.

    Args:
        example: The index of the example, or -1 if the row belongs to none.
        check: The name of the check.
        source: The place in the source that the check confirms.
        kind: "equal", "bound" or "sample"; see `verify` for the error of each.
        error: The worst error over the random variations, in the unit of the tolerance.
        tolerance: The largest error that passes.
        passed: True if error <= tolerance.
        where: The array and the index that differ most, for a check that fails.

    Example:
        >>> from jaxtheory.verification.table import CheckRow
        >>> CheckRow(0, "loss: equal", "(3)", "equal", 1e-3, 1e-11, False, "got 1, want 2").remark
        'got 1, want 2'
    """

    example: int
    check: str
    source: str
    kind: str
    error: float
    tolerance: float
    passed: bool
    where: str = ""

    @property
    def remark(self) -> str:
        """The place where a failed check differs most, or the tightness of a bound that holds.

        The tightness is the largest got / want. A bound is called loose below 0.5.
        """
        if self.where and not self.passed:
            return self.where
        if self.kind != "bound" or not np.isfinite(self.error):
            return ""
        ratio = 1 + self.error
        return f"reaches {ratio:.2g} of it" if ratio >= 0.5 else f"loose: {max(ratio, 0):.2g} of it"


class AssumptionRow(NamedTuple):
    """A condition of the source on one example.

    Args:
        example: The index of the example.
        name: The name of the condition.
        holds: True if the condition holds on the problem of the example.
        margin: The distance from violation, which is negative where the condition fails.

    Example:
        >>> from jaxtheory.verification.table import AssumptionRow
        >>> AssumptionRow(0, "small learning rate", True, 0.9).holds
        True
    """

    example: int
    name: str
    holds: bool
    margin: float


class Table(NamedTuple):
    """The result of `verify`.

    Args:
        checks: One row per check and example.
        assumptions: One row per condition of the source and example.
        note: A remark on the theory, such as that it has no checks.

    Example:
        >>> from jaxtheory.verification.table import CheckRow, Table
        >>> row = CheckRow(0, "loss: equal", "(3)", "equal", 1e-13, 1e-11, True)
        >>> Table([row], []).passed
        True
    """

    checks: list[CheckRow]
    assumptions: list[AssumptionRow]
    note: str = ""

    def _face(self) -> tuple[str, dict[str, str]]:
        failed = [row for row in self.checks if not row.passed]
        loose = [row for row in self.assumptions if not row.holds]
        return f"{len(self.checks) - len(failed)} of {len(self.checks)} checks passed", {
            **{f"failed, example {row.example}": f"{row.check}: {row.remark}" for row in failed},
            "assumptions": f"{len(self.assumptions) - len(loose)} of {len(self.assumptions)} hold"
            if self.assumptions
            else "",
            "note": self.note,
        }

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    @property
    def passed(self) -> bool:
        """True if there is a check and all of them passed."""
        return bool(self.checks) and all(row.passed for row in self.checks)
