"""Verdicts on the claims of a figure, compared with what is expected of them."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import xarray as xr

from jaxtheory.claims.claim import Claim
from jaxtheory.claims.verdict import Verdict, decide
from jaxtheory.core.errors import InputError

_FINDINGS = {  # kind of the origin -> words for a claim that fails, that holds
    "printed": ("refuted", "holds"),
    "interpretation": ("refuted as read", "holds as read"),
    "derived": ("does not hold", "holds"),
}


class Judged(NamedTuple):
    """A claim with its verdict, or with the reason why there is none; made by `judge`.

    Args:
        claim: the claim.
        verdict: its verdict; None if it was not tested.
        reason: why it was not tested; empty if it was.

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

    @property
    def as_expected(self) -> bool:
        """False for a verdict that contradicts what is expected, or has no number."""
        if self.verdict is None or self.claim.expect is None:
            return True
        return self.verdict.holds == (self.claim.expect == "holds") and not math.isnan(
            self.verdict.measured
        )

    @property
    def finding(self) -> str:
        """The verdict in words that depend on the origin: only a printed sentence is "refuted",
        an interpretation is "refuted as read", and a statement of ours "does not hold".
        """
        if self.verdict is None:
            return self.reason
        return _FINDINGS[self.claim.origin.kind][self.verdict.holds]

    @property
    def outcome(self) -> str:
        """The comparison with what is expected: "as expected", "differs", "open", "not tested"."""
        if self.verdict is None:
            return "not tested"
        if self.claim.expect is None:
            return "open"
        return "as expected" if self.as_expected else "differs"


def judge(claims: Iterable[Claim], dataset: xr.Dataset) -> list[Judged]:
    """Judge every claim on a dataset that has enough seeds for it.

    Args:
        claims: the claims.
        dataset: the dataset that their measures take, with the dimension "seed".

    Returns:
        For each claim its verdict, or the reason why it was not tested.

    Raises:
        InputError: if a measure does not return an xarray.DataArray.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import Claim, claims
        >>> claim = Claim(
        ...     "T-1",
        ...     origin=claims.derived(),
        ...     statement="The loss is at most 1.",
        ...     measure=lambda data: data.loss,
        ...     bound=claims.at_most(1.0),
        ...     minimum=2,
        ... )
        >>> (judged,) = claims.judge([claim], xr.Dataset({"loss": ("seed", [0.5, 0.7])}))
        >>> judged.finding, judged.outcome
        ('holds', 'as expected')
    """
    return [_judge(claim, dataset) for claim in claims]


def _judge(claim: Claim, dataset: xr.Dataset) -> Judged:
    n = dataset.sizes["seed"]
    if n < claim.minimum:
        return Judged(claim, None, _too_few(n, claim))
    values = claim.measure(dataset)
    if not isinstance(values, xr.DataArray):
        raise InputError(
            f"claim {claim.id}: measure must return an xarray.DataArray with a 'seed' dimension, "
            f"got a {type(values).__name__}"
        )
    verdict = decide(values, claim.statistic, claim.where, claim.bound)
    if "seed" not in values.dims:
        verdict = verdict._replace(n=n, least=_survivors(dataset), seeds=n)
    if verdict.n < claim.minimum:
        return Judged(claim, None, _too_few(verdict.n, claim))
    return Judged(claim, verdict, "")


def _too_few(n: int, claim: Claim) -> str:
    return f"not tested (n={n} < {claim.minimum})"


def _survivors(dataset: xr.Dataset) -> int:
    """The least number of runs of a point that did not diverge, among points that have one; all
    runs if the dataset does not say.
    """
    if "diverged_at" not in dataset or "seed" not in dataset["diverged_at"].dims:
        return int(dataset.sizes["seed"])
    counts = (dataset["diverged_at"] < 0).sum("seed").values.ravel()
    return int(counts[counts > 0].min(initial=dataset.sizes["seed"])) if counts.any() else 0
