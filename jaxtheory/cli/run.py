"""The commands `run` and `report`: sweep, judge and draw figures; one page of what was found."""

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import FlagCreatePairsOff, Positional, arg

import jaxtheory
from jaxtheory.cli.export import aside
from jaxtheory.cli.parsing import figure_places, named_figures
from jaxtheory.cli.terminal import duration, steps_progress, sweep_progress, table
from jaxtheory.system import disk

if TYPE_CHECKING:
    from jaxtheory.claims.claim import Figure

RESULTS = Path("results")
_OUTCOMES = ("as expected", "differs", "open", "not tested")


@dataclasses.dataclass(frozen=True)
class Run:
    """Sweep, judge and draw figures, and write a page of all that is in the folder. Exit code 1 if
    a verdict differs from the expected one.
    """

    name: Positional[Annotated[str, arg(metavar="NAME")]]
    """Figure, theory (all its figures), FILE.py that defines FIGURES, headlines (one figure of each
    theory) or all.
    """
    quick: FlagCreatePairsOff[bool] = False
    """The short form: fewer seeds and points; claims that need more are not tested."""
    key: int = 0
    """Root of all random numbers."""
    store: Annotated[Path, arg(metavar="DIR")] = RESULTS
    """Directory for the datasets, the drawings and the page."""
    accept_versions: FlagCreatePairsOff[bool] = False
    """Resume sweeps that were begun under other versions of JAX or its like; it is noted."""

    def __call__(self) -> int:
        from jaxtheory.reports.page import behind, number, report

        self = dataclasses.replace(self, store=disk.located(self.store))
        places = figure_places(self.name)
        outcomes, rows = [], []
        for record, image in self._records(places):
            judged = record["claims"].items()
            found = [claim["outcome"] for _, claim in judged]
            outcomes.append((record["figure"], *(found.count(word) for word in _OUTCOMES), image))
            lines = [_line(name, claim, number(claim), behind(claim)) for name, claim in judged]
            rows += [(record["theory"], *line) for line in lines]
            if self.name != "headlines":
                table(f"{record['figure']}: {record['question']}", _COLUMNS, lines)
                print(f"  figure {image}\n  data   {record['store']}\n")
        if self.name == "headlines":
            table("what was measured", ("theory", *_COLUMNS), rows)
        elif len(places) > 1:
            table("summary", ("figure", *_OUTCOMES, "drawing"), outcomes)
        print(f"page {report(self.store, aside)}")
        return int(any(differs for _, _, differs, *_ in outcomes))

    def _records(self, places: list[tuple[str, int]]) -> Iterator[tuple[dict[str, Any], Path]]:
        """The record and the drawing of every figure; several are run side by side."""
        known = [jaxtheory.figures.seconds(word) or 0.0 for word, _ in places]
        if len(places) == 1:
            if known[0] and not self.quick:
                print(f"{self.name}: about {duration(known[0])}, less when it has been run before")
            yield run_one(self, *places[0], alone=True)
            return
        from jaxtheory.engine.execution.processes import count_processes, in_processes

        if any(known) and not self.quick:
            print(f"{len(places)} figures: at most about {duration(sum(known))}")
        if self.name.endswith(".py") or count_processes(len(places)) == 1:
            yield from (run_one(self, *place, alone=True) for place in places)
            return
        longest = sorted(range(len(places)), key=lambda i: -known[i])
        begun, whole = time.perf_counter(), sum(known)
        jobs = [(self, *place) for place in places]
        with steps_progress(self.name) as show:
            for i, found in enumerate(in_processes(run_one, jobs, longest), start=1):
                if show is not None:
                    gone, done = time.perf_counter() - begun, sum(known[:i])
                    show("figures", i, len(places), gone / done * (whole - done) if done else None)
                yield found


_COLUMNS = ("claim", "statement", "origin", "bound", "measured", "n", "verdict", "")


def _line(name: str, claim: dict[str, Any], number: str, behind: str) -> tuple:
    """A claim's row."""
    tested = claim["n"] is not None
    outcome = claim["outcome"] if tested else ""
    return (
        *(name, claim["statement"], claim["origin"], claim["bound"], number),
        *(behind, claim["finding"], outcome),
    )


def run_one(asked: Run, word: str, index: int, alone: bool = False) -> tuple[dict[str, Any], Path]:
    """Run a figure, the index-th that a word names, and keep what it leaves: its record, and where
    the drawing lies. `alone`: with a bar of its own. What is wrong with a file is told with its
    name.
    """
    try:
        return _run_one(asked, named_figures(word)[index], word, alone)
    except jaxtheory.InputError as error:
        file = Path(word).name
        if not word.endswith(".py") or file in str(error):
            raise
        raise jaxtheory.InputError(f"{file}: {error}") from error


def _run_one(asked: Run, figure: "Figure", word: str, alone: bool) -> tuple[dict[str, Any], Path]:
    from jaxtheory.reports import records

    image = records.stem(asked.store, figure.name, asked.key, asked.quick).with_suffix(".png")
    bar = steps_progress if figure.experiment else sweep_progress
    begun = time.perf_counter()
    with bar(figure.name, shown=alone) as progress:
        result = jaxtheory.claims.run_figure(
            figure,
            key=asked.key,
            quick=asked.quick,
            store=_figure_store(asked.store, figure, asked.quick, asked.key),
            progress=progress,
            accept_versions=asked.accept_versions,
        )
    drawing = records.keep_drawing(image, result, lambda said: aside(f"{figure.name}: {said}"))
    name = word if word.endswith(".py") else figure.name
    command = f"jaxtheory run {name}{' --quick' * asked.quick}"
    record = records.keep_record(
        image.with_suffix(".json"),
        result,
        key=asked.key,
        quick=asked.quick,
        command=command + (f" --key {asked.key}" if asked.key else ""),
        seconds=time.perf_counter() - begun,
        **drawing,
    )
    return record, image


def _figure_store(folder: Path, figure: "Figure", quick: bool, key: int) -> Path:
    """Where the sweep of a figure lies; an experiment names its own place in the folder."""
    from jaxtheory.engine.results.identity import store_of

    config, asked = jaxtheory.claims.arguments(figure, quick)
    if figure.theory is None:
        return folder
    return store_of(folder, figure.name, figure.theory, config, {**asked, "key": key})


@dataclasses.dataclass(frozen=True)
class Report:
    """Write DIR/report.html: the claims, figures, gradients and versions of all that `run` has kept
    there, on one page that needs no network.
    """

    folder: Positional[Annotated[Path, arg(metavar="DIR")]] = RESULTS
    """Directory that `run` wrote into."""

    def __call__(self) -> int:
        from jaxtheory.reports.page import report

        print(f"page {report(disk.located(self.folder), aside)}")
        return 0
