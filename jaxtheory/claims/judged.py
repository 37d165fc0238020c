"""Verdicts on the claims of a figure, compared with what is expected of them."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.claims.bound import Bound
from jaxtheory.claims.claim import Claim
from jaxtheory.claims.evidence import ENOUGH, least_successes
from jaxtheory.claims.verdict import Verdict, decide
from jaxtheory.engine.results.labeled import takes_labeled
from jaxtheory.texts.errors import InputError, line, place

_FINDINGS = {  # kind of the origin -> words for a claim that fails, that holds
    "printed": ("refuted", "holds"),
    "interpretation": ("refuted as read", "holds as read"),
    "derived": ("does not hold", "holds"),
}


Numbers = float | tuple[float, ...]  # of one replicate
FEWEST = 8  # replicates; fewer decide nothing
_LONG = 80  # letters of an error in a reason
NOT_JUDGED = "not judged"  # how the reason begins if a measure does not fit the axes


class Judged(NamedTuple):
    """A claim with its verdict, or with the reason why there is none; made by `judge`.

    Args:
        claim: the claim.
        verdict: its verdict; None if it was not tested.
        reason: why it was not tested; empty if it was.
        numbers: the number of each replicate, NaN for one without a number; all numbers of the
            measure, one for each setting, if the claim has a law.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import Claim, claims
        >>> claim = Claim(
        ...     "T-1",
        ...     origin=claims.derived(),
        ...     statement="The loss is at most 1.",
        ...     measure=lambda data: data.loss,
        ...     bound=claims.at_most(1.0),
        ... )
        >>> few = xr.Dataset({"loss": ("seed", [0.5, 0.7])})
        >>> claims.judge([claim], few)[0].reason
        'not tested (n=2 < 8)'
    """

    claim: Claim
    verdict: Verdict | None
    reason: str
    numbers: tuple[Numbers, ...] = ()

    @property
    def as_expected(self) -> bool:
        """True if a verdict agrees with what is expected of the claim.

        False for a verdict that contradicts what is expected, or has no number; True for one that
        is undecided, and for a claim that is open or was not tested.
        """
        if self.verdict is None or self.claim.expect is None:
            return True
        if math.isnan(self.verdict.measured):
            return False
        return self.verdict.holds in (None, self.claim.expect == "holds")

    @property
    def finding(self) -> str:
        """The verdict in words that depend on the origin of the claim.

        Only a printed sentence is "refuted", an interpretation is "refuted as read", and a
        statement of ours "does not hold". What the runs do not decide is "undecided", whatever its
        origin.
        """
        if self.verdict is None:
            return self.reason
        if self.claim.example:
            return "an example"
        if self.verdict.holds is None:
            return "undecided"
        return _FINDINGS[self.claim.origin.kind][self.verdict.holds]

    @property
    def rejects_law(self) -> bool:
        """True if the typical number is not the value `law` of the claim: evidence 200.

        Of s settings one is enough, with an evidence of 200 s.
        """
        law, rows = self.claim.law, [np.atleast_1d(one) for one in self.numbers]
        known = [row for row in rows if not np.isnan(row).any()]
        if law is None or len({len(row) for row in known}) != 1:
            return False
        table = np.array(known)
        beyond = max(np.sum(table < law, axis=0).max(), np.sum(table > law, axis=0).max())
        return bool(beyond >= least_successes(len(rows), 0.5, 2 * ENOUGH * table.shape[1]))

    @property
    def outcome(self) -> str:
        """The comparison with what is expected.

        One of "as expected", "differs", "open" (nothing is expected), "undecided" and "not
        tested".
        """
        if self.verdict is None:
            return "not tested"
        if not self.as_expected:
            return "differs"
        if self.verdict.holds is None:
            return "undecided"
        return "open" if self.claim.expect is None else "as expected"


@takes_labeled
def judge(claims: Iterable[Claim], dataset: xr.Dataset) -> list[Judged]:
    """Judge every claim on a dataset, whose seeds are the replicates.

    The measure of a claim is called with the data of one seed at a time. A claim is not tested on
    fewer than 8 seeds, and if its measure takes a variable or a value of an axis that the dataset
    does not have.

    Args:
        claims: the claims.
        dataset: the dataset that their measures take, with the dimension "seed".

    Returns:
        For each claim its verdict, or the reason why it was not tested.

    Raises:
        InputError: if a measure returns no numbers.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import Claim, claims
        >>> claim = Claim(
        ...     "T-1",
        ...     origin=claims.derived(),
        ...     statement="The loss is at most 1.",
        ...     measure=lambda data: data.loss,
        ...     bound=claims.at_most(1.0),
        ... )
        >>> losses = [0.5, 0.51, 0.52, 0.5, 0.6, 0.49, 0.55, 0.5]
        >>> (judged,) = claims.judge([claim], xr.Dataset({"loss": ("seed", losses)}))
        >>> judged.finding, judged.outcome
        ('holds', 'as expected')
    """
    return [_judge(claim, dataset) for claim in claims]


def _judge(claim: Claim, dataset: xr.Dataset) -> Judged:
    if reason := _too_few(claim, dataset.sizes["seed"]):
        return Judged(claim, None, reason)
    try:
        numbers = replicates(claim, dataset)
    except InputError:
        raise
    except (KeyError, IndexError, ValueError) as fault:  # of a selection that finds nothing
        why = textwrap.shorten(line(fault), _LONG, placeholder=" ...") + place(fault)
        return Judged(claim, None, f"{NOT_JUDGED}: the axes lack what it measures ({why})")
    return judge_numbers(claim, numbers)


def _too_few(claim: Claim, n: int) -> str:
    """Why so many replicates are no test; "" if they are one."""
    enough = n >= FEWEST or claim.example or (claim.exact and n == 1)
    return "" if enough else f"not tested (n={n} < {FEWEST})"


def judge_numbers(claim: Claim, numbers: Sequence[Numbers]) -> Judged:
    """Judge a claim on the numbers of its replicates, as `replicates` returns them.

    Args:
        claim: the claim.
        numbers: the number of each replicate, NaN for one without a number; or several numbers for
            each, of which the one that is farthest beyond the bound is judged.

    Returns:
        The verdict, or the reason why the claim was not tested.

    Example:
        >>> import numpy as np
        >>> from jaxtheory import Claim, claims
        >>> from jaxtheory.claims.judged import judge_numbers
        >>> claim = Claim(
        ...     "T-1",
        ...     origin=claims.derived(),
        ...     statement="The loss is at most 1.",
        ...     measure=lambda data: data.loss,
        ...     bound=claims.at_most(1.0),
        ... )
        >>> judge_numbers(claim, np.full(8, 0.5)).finding
        'holds'
    """
    if reason := _too_few(claim, len(numbers)):
        return Judged(claim, None, reason)
    verdict = decide(np.array([_farthest(claim, one) for one in numbers]), claim.bound, claim.q)
    if claim.example:
        verdict = verdict._replace(holds=None, seeds_needed=None)
    elif claim.exact and len(numbers) == 1 and not verdict.undefined:
        verdict = verdict._replace(holds=verdict.satisfied == 1, seeds_needed=None)
    return Judged(claim, verdict, "", tuple(numbers))


def replicates(claim: Claim, dataset: xr.Dataset) -> list[Numbers]:
    """Return the number of each replicate (seed), NaN for one without a number.

    Of several numbers it is the one farthest beyond the bound; all of them if the claim has a law.

    Args:
        claim: the claim, whose measure is called with the data of one seed at a time.
        dataset: the dataset of all seeds.

    Raises:
        InputError: if the measure returns no numbers.
    """
    rows = [_measured(claim, dataset.isel(seed=i)) for i in range(dataset.sizes["seed"])]
    if claim.law is None:
        return [_farthest(claim, row) for row in rows]
    return [row if len(row) > 1 else row[0] for row in rows]


def _measured(claim: Claim, replicate: xr.Dataset) -> tuple[float, ...]:
    """The numbers of one replicate; NaN alone if one of them is missing."""
    values = claim.measure(replicate)
    try:
        numbers = np.ravel(np.asarray(values, float))
    except (TypeError, ValueError):
        raise InputError(
            f"claim {claim.id}: measure must return a number or an xarray.DataArray of numbers, "
            f"got a {type(values).__name__}"
        ) from None
    if not len(numbers) or np.isnan(numbers).any():
        return (_worst(claim.bound) if claim.diverged == "violates" else math.nan,)
    return tuple(numbers.tolist())


def _farthest(claim: Claim, numbers: Numbers) -> float:
    """Of the numbers of a replicate the one that is farthest beyond the bound."""
    row = np.atleast_1d(np.asarray(numbers, float))
    with np.errstate(invalid="ignore"):  # inf - inf, at an end that is open, is beyond nothing
        beyond = np.fmax(claim.bound.low - row, row - claim.bound.high)
    return float(row[np.argmax(beyond)])


def _worst(bound: Bound) -> float:
    """The number that violates a bound the most."""
    return -math.inf if math.isinf(bound.high) else math.inf
