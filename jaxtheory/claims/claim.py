"""A paper's claims as data: whose sentence it is, what is measured for it on a sweep's dataset, and
the bound that decides.

A figure is a sweep with its claims and its drawing. Statements that do not hold as printed stand as
`refuted` claims.
"""

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from jaxtheory.claims.verdict import Verdict, require_bound, verdict
from jaxtheory.core.code_hash import code_hash
from jaxtheory.core.config import Config, InputError
from jaxtheory.core.theory import Theory
from jaxtheory.engine.results.identity import as_json, fingerprint
from jaxtheory.engine.sweep import sweep
from jaxtheory.ops import draws
from jaxtheory.system.disk import located

_ORIGINS = ("printed", "reading", "derived")


class Claim(NamedTuple):
    """A statement and how it is judged; made by `holds`, `refuted` or `undecided`.

    origin: "printed" (the source's sentence, which the statement quotes in “ ”), "reading"
    (the source's numbers are lost or it gives an order, and ours stand in; the statement says "read
    as"), "derived" (ours). measure(dataset) -> values with the dimension `seed`; bound: the
    arguments of `jaxtheory.verdict`, which decide on them. With fewer than `minimum` seeds, or
    fewer of them left in the values, it is not tested. A verdict whose number is NaN is never as
    expected.
    """

    id: str
    origin: str
    source: str
    statement: str
    expected: str
    measure: Callable[[xr.Dataset], xr.DataArray]
    bound: dict[str, Any]
    minimum: int


def holds(
    id: str,
    origin: str,
    source: str,
    statement: str,
    measure: Callable[[xr.Dataset], xr.DataArray],
    *,
    minimum: int = 8,
    **bound: Any,
) -> Claim:
    """A claim expected to hold. bound: statistic, where, and at_least, at_most or between (see
    `jaxtheory.verdict`).
    """
    if origin not in _ORIGINS:
        raise InputError(f"claim {id}: origin is {origin!r}, choose one of {', '.join(_ORIGINS)}")
    try:
        require_bound(bound)
    except InputError as error:
        raise InputError(f"claim {id}: {error}") from None
    return Claim(id, origin, source, statement, "holds", measure, bound, minimum)


def refuted(*args: Any, **bound: Any) -> Claim:
    """A claim expected to fail as stated; arguments as of `holds`."""
    return holds(*args, **bound)._replace(expected="refuted")


def undecided(*args: Any, **bound: Any) -> Claim:
    """A claim that is reported with its number and never fails; arguments as of `holds`."""
    return holds(*args, **bound)._replace(expected="open")


class Figure(NamedTuple):
    """A sweep of a theory, or another experiment, the claims it decides, and its drawing.

    sweep: keyword arguments of `jaxtheory.sweep`; quick: what `--quick` changes in them (and
    `config`, where it replaces it); draw(dataset) -> the matplotlib figure. What it asks is the
    first line of the docstring of its file. Without theory and config (None) it has an
    experiment(folder, key, progress, **sweep) -> dataset with `seed`, which keeps what it has
    measured in the folder and calls progress(what, done, of, seconds left) if it is not None.
    """

    name: str
    source: str
    theory: Theory | None
    config: Config | None
    sweep: dict[str, Any]
    quick: dict[str, Any]
    claims: tuple[Claim, ...]
    draw: Callable[[xr.Dataset], Any]
    experiment: Callable[..., xr.Dataset] | None = None


class Judged(NamedTuple):
    """A claim with its verdict, or the reason why there is none."""

    claim: Claim
    verdict: Verdict | None
    reason: str

    @property
    def as_expected(self) -> bool:
        """False for a verdict that contradicts what is expected, or has no number."""
        if self.verdict is None or self.claim.expected == "open":
            return True
        return self.verdict.holds == (self.claim.expected == "holds") and not math.isnan(
            self.verdict.measured
        )

    @property
    def finding(self) -> str:
        """The verdict in words that say whose sentence it is about: only a printed sentence is
        "refuted" without more.
        """
        if self.verdict is None:
            return self.reason
        words = {
            "printed": ("refuted", "holds"),
            "reading": ("refuted as read", "holds as read"),
            "derived": ("does not hold", "holds"),
        }
        return words[self.claim.origin][self.verdict.holds]

    @property
    def outcome(self) -> str:
        """How the verdict compares with what is expected, in words."""
        if self.verdict is None:
            return "not tested"
        if self.claim.expected == "open":
            return "open"
        return "as expected" if self.as_expected else "differs"


class FigureResult(NamedTuple):
    """What `run_figure` found."""

    figure: Figure
    dataset: xr.Dataset
    verdicts: list[Judged]
    store: Path | None


def judge(claims: tuple[Claim, ...], dataset: xr.Dataset) -> list[Judged]:
    """The verdict on every claim that the dataset has enough seeds for."""
    n = dataset.sizes["seed"]
    judged = []
    for claim in claims:
        found = None
        if n >= claim.minimum:
            values = claim.measure(dataset)
            if not isinstance(values, xr.DataArray):
                raise InputError(
                    f"claim {claim.id}: its measure gives a {type(values).__name__}, and must give "
                    "an xarray.DataArray, with the dimension seed"
                )
            found = verdict(values, **claim.bound)
            if "seed" not in values.dims:
                found = found._replace(n=n, least=_survivors(dataset), seeds=n)
        seen = n if found is None else found.n
        few = seen < claim.minimum
        judged.append(
            Judged(claim, None, f"not tested (n={seen} < {claim.minimum})")
            if few
            else Judged(claim, found, "")
        )
    return judged


def _survivors(dataset: xr.Dataset) -> int:
    """The least number of runs of a point that did not diverge, of those points that have one; all
    where the dataset does not say.
    """
    if "diverged_at" not in dataset or "seed" not in dataset["diverged_at"].dims:
        return int(dataset.sizes["seed"])
    counts = (dataset["diverged_at"] < 0).sum("seed").values.ravel()
    return int(counts[counts > 0].min(initial=dataset.sizes["seed"])) if counts.any() else 0


def arguments(figure: Figure, quick: bool) -> tuple[Any, dict[str, Any]]:
    """The config (None of an experiment) and the keyword arguments of a figure's sweep."""
    options = {**figure.sweep, **(figure.quick if quick else {})}
    return options.pop("config", figure.config), options


def run_figure(
    figure: Figure,
    *,
    key: int = 0,
    quick: bool = False,
    store: str | Path | None = None,
    progress: Any = None,
    accept_versions: bool = False,
) -> FigureResult:
    """Run a figure's sweep and judge its claims; drawing is left to the caller
    (`figure.draw(result.dataset)`).

    store: the directory of the sweep; of an experiment the directory in which it has one of its
    own, named by its code and what is asked, so that an edited one starts anew. accept_versions: as
    of `sweep`.
    """
    config, options = arguments(figure, quick)
    if figure.experiment is None:
        assert figure.theory is not None
        options |= {"key": key, "store": store, "accept_versions": accept_versions}
        dataset = sweep(figure.theory, config, progress=progress, **options)
    else:
        key = draws.number("key", key)
        asked = {"code": code_hash(figure.experiment), "key": key, **options}
        with tempfile.TemporaryDirectory() as nowhere:
            folder = located(store or nowhere) / f"{figure.name}-{fingerprint(as_json(asked))}"
            dataset = figure.experiment(folder, key, progress, **options)
        store = None if store is None else folder
    return FigureResult(
        figure, dataset, judge(figure.claims, dataset), None if store is None else located(store)
    )
