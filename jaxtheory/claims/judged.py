"""Verdicts on the claims of a figure, compared with what is expected of them."""

import math
import textwrap
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxtheory.claims.claim import Claim
from jaxtheory.claims.interval import ERROR, NOTHING
from jaxtheory.claims.jackknife import pseudo_values
from jaxtheory.claims.verdict import Verdict, decide, named
from jaxtheory.engine.results.labeled import takes_labeled
from jaxtheory.texts.errors import InputError, line, place

_FINDINGS = {  # kind of the origin -> words for a claim that fails, that holds
    "printed": ("refuted", "holds"),
    "interpretation": ("refuted as read", "holds as read"),
    "derived": ("does not hold", "holds"),
}


_LONG = 80  # letters of an error in a reason
NOT_JUDGED = "not judged"  # how the reason begins if a measure does not fit the axes


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
        if self.verdict.holds is None:
            return "undecided"
        return _FINDINGS[self.claim.origin.kind][self.verdict.holds]

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
def judge(claims: Iterable[Claim], dataset: xr.Dataset, *, error: float = ERROR) -> list[Judged]:
    """Judge every claim on a dataset that has enough seeds for it.

    A measure that has reduced the dimension "seed" itself, such as the exponent of a mean, is
    measured again without each of the seeds: the standard error of its number is that of the
    jackknife (Efron and Tibshirani 1993, chapter 11). A claim is undecided if all runs of a
    condition diverged and its measure has no value there. It is not tested if its measure takes a
    variable or a value of an axis that the dataset does not have.

    Args:
        claims: the claims.
        dataset: the dataset that their measures take, with the dimension "seed".
        error: the probability of a wrong verdict, at most.

    Returns:
        For each claim its verdict, or the reason why it was not tested: too few seeds, or axes
        without the values that its measure selects.

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
        >>> (judged,) = claims.judge([claim], xr.Dataset({"loss": ("seed", [0.5, 0.51, 0.52])}))
        >>> judged.finding, judged.outcome
        ('holds', 'as expected')
    """
    return [_judge(claim, dataset, error) for claim in claims]


def _judge(claim: Claim, dataset: xr.Dataset, error: float) -> Judged:
    n = dataset.sizes["seed"]
    if n < claim.minimum:
        return Judged(claim, None, _too_few(n, claim))
    try:
        return _decided(claim, dataset, error)
    except InputError:
        raise
    except (KeyError, IndexError, ValueError) as fault:  # of a selection that finds nothing
        why = textwrap.shorten(line(fault), _LONG, placeholder=" ...") + place(fault)
        return Judged(claim, None, f"{NOT_JUDGED}: the axes lack what it measures ({why})")


def _decided(claim: Claim, dataset: xr.Dataset, error: float) -> Judged:
    n = dataset.sizes["seed"]
    values, exact = _measured(claim, dataset), claim.minimum == n == 1
    reduced = "seed" not in values.dims
    options: dict[str, Any] = {"error": error, "exact": exact}
    if not reduced or exact or n < 2:
        verdict = decide(values, claim.statistic, claim.where, claim.bound, **options)
    else:
        verdict = decide(
            _pseudo_values(claim, dataset, values), "mean", claim.where, claim.bound, **options
        )
    if reduced:
        verdict = verdict._replace(n=n, least=_survivors(dataset), seeds=n)
    if verdict.n < claim.minimum:
        return Judged(claim, None, _too_few(verdict.n, claim))
    lost = _lost(dataset, values)
    if lost and verdict.holds is not None and claim.where != "somewhere":
        verdict = verdict._replace(holds=None, interval=NOTHING, at=f"{lost} (all runs diverged)")
    return Judged(claim, verdict, "")


def _measured(claim: Claim, dataset: xr.Dataset) -> xr.DataArray:
    values = claim.measure(dataset)
    if not isinstance(values, xr.DataArray):
        raise InputError(
            f"claim {claim.id}: measure must return an xarray.DataArray with a 'seed' dimension, "
            f"got a {type(values).__name__}"
        )
    return values


def _pseudo_values(claim: Claim, dataset: xr.Dataset, estimate: xr.DataArray) -> xr.DataArray:
    """The pseudo-values of the jackknife, n estimate - (n - 1) (estimate without seed i), shifted.

    Their mean is then the number measured on all seeds.
    """
    values = lambda seeds: _measured(claim, dataset.isel(seed=seeds)).astype(float)
    _, pseudo = pseudo_values(lambda seeds: values(seeds).values, dataset.sizes["seed"])
    return xr.DataArray(pseudo, dims=("seed", *estimate.dims), coords=estimate.coords)


def _lost(dataset: xr.Dataset, values: xr.DataArray) -> str:
    """A condition in which every run diverged and that has no value, in words; "" if none."""
    if "diverged_at" not in dataset or "seed" not in dataset["diverged_at"].dims:
        return ""
    diverged = (dataset["diverged_at"] >= 0).all("seed")
    diverged = diverged.all([dim for dim in diverged.dims if dim not in values.dims])
    other_dims = [dim for dim in values.dims if dim not in diverged.dims]
    lost = diverged & values.isnull().all(other_dims)
    if not lost.any():
        return ""
    return named(lost, [str(dim) for dim in lost.dims], int(np.argmax(lost.values))) or "everywhere"


def _too_few(n: int, claim: Claim) -> str:
    return f"not tested (n={n} < {claim.minimum})"


def _survivors(dataset: xr.Dataset) -> int:
    """The least number of runs of a point that did not diverge, among points that have one.

    It is the number of all runs if the dataset does not say.
    """
    if "diverged_at" not in dataset or "seed" not in dataset["diverged_at"].dims:
        return int(dataset.sizes["seed"])
    counts = (dataset["diverged_at"] < 0).sum("seed").values.ravel()
    return int(counts[counts > 0].min(initial=dataset.sizes["seed"])) if counts.any() else 0
