"""The commands `run`, which sweeps, judges and draws figures, and `report`, which writes a page."""

import dataclasses
import shlex
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from tyro.conf import Positional, UseAppendAction, arg

import jaxtheory
from jaxtheory.cli.changed import Changes
from jaxtheory.cli.export import print_aside
from jaxtheory.cli.terminal import (
    duration,
    put,
    steps_progress,
    sweep_progress,
    table,
    table_of_lines,
)
from jaxtheory.cli.words.arguments import Flag, takes
from jaxtheory.cli.words.parsing import figure_places, named_figures
from jaxtheory.system import disk

if TYPE_CHECKING:
    from jaxtheory.claims.figure import Figure

RESULTS = Path("results")
_OUTCOMES = ("as expected", "differs", "open", "undecided", "not tested")


@dataclasses.dataclass(frozen=True)
class Run:
    """Run the sweeps of figures, judge their claims, draw them, and write a report.

    A verdict is wrong with probability 1 % at most. What the seeds do not decide is undecided.

    With other axes, sizes or steps, claims are judged where they can be; nothing is expected.

    The exit code is 1 if a verdict differs from the expected one.
    """

    name: Positional[Annotated[str, arg(metavar="NAME")]]
    """A figure, a theory, a FILE.py with FIGURES, headlines (one figure per theory) or all."""
    quick: Flag = False
    """Run with fewer seeds and points. Claims that need more are not tested."""
    large: Flag = False
    """Run a ladder of networks with larger ones on longer sequences, for a GPU."""
    until_decided: Flag = False
    """Double the seeds of figures with undecided claims, and compute the new ones only."""
    max_seeds: int = 256
    """With --until-decided, the number of seeds of a figure at most."""
    vary: UseAppendAction[Annotated[tuple[str, ...], arg(metavar="NAME=VALUES")]] = ()
    """Other values along an axis of the figure, or a further axis, as in `sweep`."""
    zip: UseAppendAction[Annotated[tuple[str, ...], arg(metavar="AXES")]] = ()
    """Other values of axes that vary together, in quotes, such as "K=4,6 N=97,97"."""
    seeds: Annotated[str | None, takes("N|LIST")] = None
    """Another number of seeds, or a list of them."""
    steps: Annotated[str | None, takes("N")] = None
    """Another number of training steps; records end there."""
    key: int = 0
    """Root of all random numbers."""
    store: Annotated[Path, arg(metavar="DIR")] = RESULTS
    """Directory of the datasets, the drawings and the report."""
    paper: Annotated[Literal["column", "page", "nature"] | None, takes("column|page|nature")] = None
    """Also write each figure 3.3, 6.8 or 7.2 inches (183 mm) wide, as PDF, PNG and PGF."""
    accept_versions: Flag = False
    """Resume sweeps of other versions of JAX, NumPy, optax or Python; datasets record it."""

    def __call__(self) -> int:
        from jaxtheory.reports.report_page import report

        if self.until_decided and self.quick:
            raise jaxtheory.InputError("--until-decided and --quick exclude each other")
        if self.large and self.quick:
            raise jaxtheory.InputError("--large and --quick exclude each other")
        self = dataclasses.replace(self, store=disk.located(self.store))
        places = figure_places(self.name)
        if self.changes.words and len(places) != 1:
            raise jaxtheory.InputError(
                f"{self.changes.words[0]}: changes one figure, and {self.name} has {len(places)}"
            )
        records, image = [], self.store
        for record, image in self._records(places):
            records.append(record)
            if self.name != "headlines":
                put(f"{_title(record)}\n")
                for paragraph in _paragraphs(record):
                    put(paragraph)
                put(f"figure {image}\ndata   {record['store']}\n")
        if self.name == "headlines":
            table_of_lines("claims, the worst news first", _COLUMNS, _rows(records))
            put(f"\n{_theories(records)}\n")
        elif len(places) > 1:
            table("summary", ("figure", *_OUTCOMES), _counts(records))
        put(_sentence(records))
        if self.changes.moves:
            put("not the axes, sizes or steps of the figure: nothing is expected of its claims")
        lost = list(_not_judged(records))
        for sentence in lost:
            put(sentence)
        if not self.until_decided and (undecided := _undecided(records)):
            put(f"--until-decided adds seeds to what is undecided: {', '.join(undecided)}")
        page = report(self.store, print_aside).absolute().as_uri()
        put(f"page {page}#{quote(image.stem)}" if len(places) == 1 else f"page {page}")
        differs = any(claim["outcome"] == "differs" for _, claim in _claims(records))
        return int(differs or bool(lost and not self.changes.words))

    @property
    def changes(self) -> Changes:
        """What differs from the figure's own sweep."""
        return Changes(self.vary, self.zip, self.seeds, self.steps, self.large)

    def _records(self, places: list[tuple[str, int]]) -> Iterator[tuple[dict[str, Any], Path]]:
        """Yield the record and the drawing of every figure; several run side by side."""
        estimates = [jaxtheory.figures.seconds(name) or 0.0 for name, _ in places]
        if len(places) == 1:
            if estimates[0] and not self.quick and not self.changes.words:
                time_text = duration(estimates[0])
                put(f"{self.name}: takes about {time_text}, or less if it has run before")
            yield run_one(self, *places[0], show_bar=True)
            return
        from jaxtheory.engine.execution.processes import count_processes, in_processes

        if any(estimates) and not self.quick:
            put(f"{len(places)} figures: take at most about {duration(sum(estimates))}")
        if self.name.endswith(".py") or count_processes(len(places)) == 1:
            yield from (run_one(self, *place, show_bar=True) for place in places)
            return
        longest = sorted(range(len(places)), key=lambda i: -estimates[i])
        begun, total = time.perf_counter(), sum(estimates)
        jobs = [(self, *place) for place in places]
        with steps_progress(self.name) as show:
            for i, result in enumerate(in_processes(run_one, jobs, longest), start=1):
                if show is not None:
                    runtime, done = time.perf_counter() - begun, sum(estimates[:i])
                    show(
                        "figures", i, len(places), runtime / done * (total - done) if done else None
                    )
                yield result


_COLUMNS = ("claim", "verdict", "measured", "claimed", "of", "number")
_WORST_FIRST = ("fails", "undecided", "not tested", "holds")


def _claims(records: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return the claims of records by name, the worst news first."""
    claims = [item for record in records for item in record["claims"].items()]
    order = lambda item: (
        item[1]["outcome"] != "differs",
        _WORST_FIRST.index(item[1]["decision"]),
    )
    return sorted(claims, key=order)


def _verdict(claim: dict[str, Any]) -> str:
    """Return the verdict on a claim with a sign."""
    from jaxtheory.reports import wording

    finding = claim["finding"].partition(": ")[0]  # a reason follows below
    differs = "differs: " * (claim["outcome"] == "differs")
    is_open = claim["outcome"] == "open" and claim["n"] is not None
    return f"{wording.SIGNS[claim['decision']]} {differs}{finding}{' (open)' * is_open}"


def _rows(records: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield the row of each claim."""
    from jaxtheory.reports import wording

    for name, claim in _claims(records):
        number = claim["number"] or " ".join(claim["statement"].split())
        behind = "" if claim["n"] is None else f"{claim['satisfied']} of {claim['n']}"
        yield name, _verdict(claim), wording.measured(claim), claim["bound"], behind, number


def _paragraphs(record: dict[str, Any]) -> Iterator[str]:
    """Yield each claim in full: the verdict, what was measured, and the sentence."""
    for name, claim in _claims([record]):
        line = f"{name} {_verdict(claim)}" + f": {claim['line']}" * bool(claim["line"])
        statement = " ".join(claim["statement"].split())
        yield textwrap.fill(line, 100, subsequent_indent="    ")
        yield textwrap.fill(statement, 100, initial_indent="    ", subsequent_indent="    ") + "\n"


def _counts(records: list[dict[str, Any]]) -> Iterator[tuple[str | int, ...]]:
    """Yield the row of each figure in the summary: its claims by outcome."""
    for record in records:
        outcomes = [claim["outcome"] for claim in record["claims"].values()]
        yield record["figure"], *(outcomes.count(outcome) for outcome in _OUTCOMES)


def _title(record: dict[str, Any]) -> str:
    return f"{record['figure']}: {record['question']}"


def _sentence(records: list[dict[str, Any]]) -> str:
    """Count the claims, and name those whose verdict differs from what is expected."""
    from jaxtheory.reports import tally, wording

    claims = _claims(records)
    parts = tally.tally(claim for _, claim in claims).words().values()
    differing = [name for name, claim in claims if claim["outcome"] == "differs"]
    number = len(differing) or "none"
    deviation = f"{number} differ{'s' * (len(differing) < 2)} from what is expected"
    deviation += f": {', '.join(differing)}" * bool(differing)
    return f"{wording.count(len(claims), 'claim')}: {', '.join(parts)}; {deviation}"


def _not_judged(records: list[dict[str, Any]]) -> Iterator[str]:
    """Say of each claim that does not fit the axes why it is not judged."""
    from jaxtheory.claims.judged import NOT_JUDGED

    for name, claim in _claims(records):
        if claim["finding"].startswith(NOT_JUDGED):
            yield f"{name} {claim['finding']}"


def _undecided(records: list[dict[str, Any]]) -> list[str]:
    """Name the undecided claims, with the number of seeds that would decide each."""
    needed = {n: c["seeds_needed"] for n, c in _claims(records) if c["outcome"] == "undecided"}
    return [f"{name} (about {count} seeds)" if count else name for name, count in needed.items()]


def _theories(records: list[dict[str, Any]]) -> str:
    """Describe which theory the first letters of claims are of, in lines of 100 columns."""
    letters = {
        name.rpartition("-")[0]: record["theory"] for record in records for name in record["claims"]
    }
    pairs = [f"{short}\xa0{theory}" for short, theory in letters.items()]
    return textwrap.fill(", ".join(pairs), 100).replace("\xa0", " ")


def run_one(
    command: Run, name: str, index: int, show_bar: bool = False
) -> tuple[dict[str, Any], Path]:
    """Run the index-th figure of a name, and return its record and the path of its drawing.

    show_bar: show a progress bar. Errors in a FILE.py mention the file.
    """
    try:
        return _run_one(command, named_figures(name)[index], name, show_bar)
    except jaxtheory.InputError as error:
        file = Path(name).name
        if not name.endswith(".py") or file in str(error):
            raise
        raise jaxtheory.InputError(f"{file}: {error}") from error


def _run_one(
    options: Run, figure: "Figure", name: str, show_bar: bool
) -> tuple[dict[str, Any], Path]:
    from jaxtheory.reports import run_files

    changes = options.changes.words
    if changes:
        figure = options.changes.apply(figure, options.quick)
    image = run_files.stem(options.store, figure.name, options.key, options.quick, changes)
    image = image.with_suffix(".png")
    bar = steps_progress if figure.experiment else sweep_progress
    begun = time.perf_counter()
    with bar(figure.name, shown=show_bar) as progress:
        result = jaxtheory.claims.run_figure(
            figure,
            key=options.key,
            quick=options.quick,
            max_seeds=_most(options, figure),
            store=_figure_store(options.store, figure, options.quick, options.key),
            progress=progress,
            accept_versions=options.accept_versions,
        )
    tell = lambda sentence: print_aside(f"{figure.name}: {sentence}")
    drawing = run_files.keep_drawing(image, result, tell)
    if options.paper:
        files = run_files.keep_paper(image, result, options.paper, tell)
        print_aside(f"{figure.name}: {', '.join(str(file) for file in files)}")
    shown_name = name if name.endswith(".py") else figure.name
    command = shlex.join(["jaxtheory", "run", shown_name, *["--quick"] * options.quick, *changes])
    if options.until_decided:
        command += f" --until-decided --max-seeds {options.max_seeds}"
    record = run_files.keep_record(
        image.with_suffix(".json"),
        result,
        changes=shlex.join(changes),
        key=options.key,
        quick=options.quick,
        command=command + (f" --key {options.key}" if options.key else ""),
        seconds=time.perf_counter() - begun,
        **drawing,
    )
    return record, image


def _most(options: Run, figure: "Figure") -> int | None:
    """Return the number of seeds that a figure may have at most; its own, if that is larger."""
    from jaxtheory.claims.figure import seeds

    return max(options.max_seeds, len(seeds(figure, False))) if options.until_decided else None


def _figure_store(folder: Path, figure: "Figure", quick: bool, key: int) -> Path:
    """Return the store of a figure's sweep or search.

    An experiment chooses its own place in the folder.
    """
    from jaxtheory.engine.boundary import read_boundary
    from jaxtheory.engine.results.identity import fingerprint, store_of

    config, arguments = jaxtheory.claims.arguments(figure, quick)
    if figure.theory is None:
        return folder
    arguments |= {"key": key}
    if figure.verb is jaxtheory.boundary:
        identity = read_boundary(figure.theory, config, **arguments).identity()
        return folder / f"{figure.name}-{fingerprint(identity)}"
    return store_of(folder, figure.name, figure.theory, config, arguments)


@dataclasses.dataclass(frozen=True)
class Report:
    """Write DIR/report.html, a page of all results of `run` in a directory.

    The page shows the claims, the figures, the gradients and the versions, and needs no network.
    """

    folder: Positional[Annotated[Path, arg(metavar="[DIR]")]] = RESULTS
    """Directory that `run` wrote into."""

    def __call__(self) -> int:
        from jaxtheory.reports.report_page import report

        put(f"page {report(disk.located(self.folder), print_aside).absolute().as_uri()}")
        return 0
