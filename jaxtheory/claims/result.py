"""The result of a figure: its dataset and the verdicts, with more seeds until they are decided."""

import inspect
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from jaxtheory.claims.figure import Figure, arguments
from jaxtheory.claims.figure import seeds as seeds_of
from jaxtheory.claims.finding import Finding
from jaxtheory.claims.judged import Judged, judge
from jaxtheory.code.code_hash import code_hash
from jaxtheory.code.plain import as_json
from jaxtheory.engine.results.identity import fingerprint
from jaxtheory.engine.sweep import sweep
from jaxtheory.ops import draws
from jaxtheory.system.disk import located
from jaxtheory.texts.errors import InputError, suggest
from jaxtheory.texts.faces import as_html, as_text


class FigureResult(NamedTuple):
    """Result of `run_figure`.

    Args:
        figure: the figure that was run.
        dataset: its dataset, which `figure.draw` takes.
        verdicts: for each claim its verdict, or the reason why it was not tested.
        stores: the directories where the dataset was stored: one, for boundaries one for each look
            at the claims; empty if it was kept in memory.

    Example:
        >>> from jaxtheory import claims
        >>> claims.FigureResult._fields
        ('figure', 'dataset', 'verdicts', 'stores')
    """

    figure: Figure
    dataset: xr.Dataset
    verdicts: list[Judged]
    stores: tuple[Path, ...]

    def _face(self) -> tuple[str, dict[str, str]]:
        return f"Figure {self.figure.name}", {
            **{
                judged.claim.id: judged.verdict.decision if judged.verdict else judged.reason
                for judged in self.verdicts
            },
            "store": ", ".join(map(str, self.stores)),
        }

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    @property
    def finding(self) -> Finding | None:
        """The finding of the figure, if its claims came out as expected in this run."""
        finding = self.figure.finding
        outcomes = {judged.claim.id: judged.outcome for judged in self.verdicts}
        return finding if finding and finding.is_borne_out(outcomes) else None

    @property
    def store(self) -> Path | None:
        """The first of the stores, that of the figure's own seeds; None if there is none."""
        return self.stores[0] if self.stores else None


def run_figure(
    figure: Figure,
    *,
    key: int = 0,
    quick: bool = False,
    max_seeds: int | None = None,
    store: str | Path | None = None,
    progress: Any = None,
    accept_versions: bool = False,
) -> FigureResult:
    """Run the sweep of a figure, or its search for boundaries, and judge its claims.

    `figure.draw(result.dataset)` draws it.

    With `max_seeds` the number of seeds is doubled, and only the new ones are computed, until every
    claim is decided or so many seeds have been reached. The verdicts are those of all the seeds:
    the evidence allows any number of looks.

    Args:
        figure: the figure.
        key: base key of the random numbers, an integer in [0, 2^32).
        quick: True for the quick form.
        max_seeds: the number of seeds up to which a figure with undecided claims is extended; None
            for the figure's own number alone.
        store: directory in which the sweep is stored and resumed; None keeps it in memory. The
            boundaries of further seeds are stored beside it. Each experiment has its own directory
            inside, named by a hash of its code and arguments, so that an edited experiment starts
            anew.
        progress: a function that is called as the run advances, as for `jaxtheory.sweep`.
        accept_versions: as for `jaxtheory.sweep`.

    Returns:
        The dataset, a verdict for each claim, and the stores.

    Raises:
        InputError: if the arguments of the sweep are invalid, or a measure returns no array.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory import claims
        >>> figure = jaxtheory.figures.get("walk_phase")
        >>> short = figure._replace(quick=figure.quick | {"steps": 2, "record": [2]})
        >>> claims.run_figure(short, quick=True).verdicts[0].reason
        'not tested (n=2 < 8)'
    """
    key = draws.number("key", key)
    _require_own(figure)
    if max_seeds is not None and quick:
        raise InputError("quick and max_seeds exclude each other: a quick run decides nothing")
    options: dict[str, Any] = {"progress": progress}
    if "accept_versions" in inspect.signature(figure.verb).parameters:
        options["accept_versions"] = accept_versions
    seeds = seeds_of(figure, quick)
    if max_seeds is None:
        dataset, place = _part(figure, key, quick, seeds, store, options)
        return FigureResult(figure, dataset, judge(figure.claims, dataset), place)
    if max_seeds < len(seeds):
        raise InputError(
            f"max_seeds = {max_seeds}: must be at least {len(seeds)}, the number of seeds of "
            f"{figure.name}"
        )
    parts: list[xr.Dataset] = []
    stores: tuple[Path, ...] = ()
    verdicts: list[Judged] = []
    grows = figure.experiment is not None or (store is not None and figure.verb is sweep)
    needed: list[int] = []
    for new in _batches(seeds, max_seeds):
        needed = [*needed, *new] if grows else new
        dataset, place = _part(figure, key, quick, needed, store, options)
        parts, stores = ([dataset] if grows else [*parts, dataset]), stores + place
        dataset = _join(parts)
        verdicts = judge(figure.claims, dataset)
        if all(map(_decided, verdicts)):
            break
    return FigureResult(figure, dataset, verdicts, tuple(dict.fromkeys(stores)))


def _require_own(figure: Figure) -> None:
    """Raise InputError if the finding of a figure rests on claims that the figure does not have."""
    rests_on = figure.finding.rests_on if figure.finding else ()
    own = [claim.id for claim in figure.claims]
    for name in rests_on:
        if name not in own:
            raise InputError(f"the finding of {figure.name} rests on {name}; {suggest(name, own)}")


def _batches(seeds: list[int], most: int) -> Iterator[list[int]]:
    """The seeds of a figure, then as many new ones as there have been, up to so many in all."""
    yield seeds
    count, following = len(seeds), max(seeds) + 1
    while count < most:
        new = min(count, most - count)
        yield list(range(following, following + new))
        count, following = count + new, following + new


def _decided(judged: Judged) -> bool:
    """True if more seeds are not needed: the bound holds or fails, or nothing is judged."""
    if judged.claim.example:
        return True
    return judged.verdict is not None and judged.verdict.holds is not None


def _part(
    figure: Figure,
    key: int,
    quick: bool,
    seeds: list[int],
    store: str | Path | None,
    options: dict[str, Any],
) -> tuple[xr.Dataset, tuple[Path, ...]]:
    """The dataset of these seeds, with the directory where it is stored."""
    config, keywords = arguments(figure, quick)
    own = seeds_of(figure, quick)
    if figure.experiment is None:
        assert figure.theory is not None
        place = None if store is None else located(store)
        if seeds != own:
            keywords["seeds"] = seeds
            if place is not None and figure.verb is not sweep:
                place = place.with_name(f"{place.name}-seeds-{seeds[0]}-{seeds[-1]}")
        dataset = figure.verb(figure.theory, config, key=key, store=place, **options, **keywords)
        return dataset, () if place is None else (place,)
    request = {"code": code_hash(figure.experiment), "key": key, **keywords}
    request.pop("seeds", None)
    if "seeds" in keywords:
        keywords["seeds"] = max(seeds) + 1
    with tempfile.TemporaryDirectory() as nowhere:
        folder = located(store or nowhere) / f"{figure.name}-{fingerprint(as_json(request))}"
        dataset = figure.experiment(folder, key, options["progress"], **keywords)
    return dataset, () if store is None else (folder,)


def _join(parts: list[xr.Dataset]) -> xr.Dataset:
    """One dataset of the seeds of several."""
    if len(parts) == 1:
        return parts[0]
    dataset: xr.Dataset = xr.concat(
        parts,
        "seed",
        data_vars="minimal",
        coords="minimal",
        compat="override",
        join="override",
        combine_attrs="override",
    )
    dataset.attrs.pop("note", None)  # of a boundary: on the runs of the first part alone
    return dataset
