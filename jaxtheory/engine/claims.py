"""A paper's claims as data: source, statement, what is expected, and a test on a sweep's dataset that measures a number.

A figure is a sweep with its claims and its drawing. Statements that do not hold as printed stand as claims expected "refuted".
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from jaxtheory.core.config import Config, InputError
from jaxtheory.core.files import load
from jaxtheory.core.theory import Theory
from jaxtheory.engine.sweep import sweep

EXPECTED = ("holds", "refuted", "open")


class Verdict(NamedTuple):
    """Whether a claim holds, the number that decides, its threshold (in words where it is a range), and the sample size."""

    holds: bool
    measured: float
    threshold: float | str
    n: int


class Claim(NamedTuple):
    """A statement of a source. expected: "holds", "refuted" or "open" (reported with its number, never fails).

    test(dataset) -> Verdict speaks of a share of seeds or a mean with its interval. With fewer than `minimum` seeds, or fewer of them
    left for the verdict, it is not tested. A verdict whose number is NaN is never as expected.
    """

    id: str
    source: str
    statement: str
    expected: str
    test: Callable[[xr.Dataset], Verdict]
    minimum: int = 8


class Figure(NamedTuple):
    """A sweep of a theory, the claims it decides, and its drawing.

    sweep: keyword arguments of `jaxtheory.sweep`; quick: what `--quick` changes in them (and `config`, where it replaces it);
    draw(dataset) -> the matplotlib figure.
    """

    name: str
    source: str
    theory: Theory
    config: Config
    sweep: dict[str, Any]
    quick: dict[str, Any]
    claims: tuple[Claim, ...]
    draw: Callable[[xr.Dataset], Any]


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
        return self.verdict.holds == (self.claim.expected == "holds") and not math.isnan(self.verdict.measured)


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
        if claim.expected not in EXPECTED:
            raise InputError(f"claim {claim.id}: expected is {claim.expected!r}, choose one of {', '.join(EXPECTED)}")
        verdict = claim.test(dataset) if n >= claim.minimum else None
        seen = n if verdict is None else verdict.n
        few = seen < claim.minimum
        judged.append(Judged(claim, None, f"not tested (n={seen} < {claim.minimum})") if few else Judged(claim, verdict, ""))
    return judged


def arguments(figure: Figure, quick: bool) -> tuple[Config, dict[str, Any]]:
    """The config and the keyword arguments of a figure's sweep."""
    options = {**figure.sweep, **(figure.quick if quick else {})}
    return options.pop("config", figure.config), options


def run_figure(figure: Figure, *, key: int = 0, quick: bool = False, store: str | Path | None = None, progress: Any = None) -> FigureResult:
    """Run a figure's sweep and judge its claims; drawing is left to the caller (`figure.draw(result.dataset)`)."""
    config, options = arguments(figure, quick)
    dataset = sweep(figure.theory, config, key=key, store=store, progress=progress, **options)
    return FigureResult(figure, dataset, judge(figure.claims, dataset), None if store is None else Path(store))


def figures(folder: Path | None = None) -> dict[str, Figure]:
    """All figures of the sweep files in a folder (None: those that ship with jaxtheory), by name."""
    package = Path(__file__).parents[1]
    places = [folder] if folder is not None else [package / "_sweeps", package.parent / "sweeps"]
    place = next((p for p in places if p.is_dir()), None)
    found: dict[str, Figure] = {}
    for file in sorted(place.glob("*.py")) if place else []:
        for figure in getattr(load(file), "FIGURES", ()):
            if figure.name in found:
                raise InputError(f"{file}: the figure name {figure.name!r} is taken")
            found[figure.name] = figure
    return found
