"""Files that a run of a figure leaves in a folder.

These are the drawing as PNG, PDF and SVG, the plotted numbers as CSV, and a record as JSON, from
which `report` makes a page.
"""

import json
import math
import platform
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from jaxtheory.claims.bound import Bound
from jaxtheory.claims.judged import Judged, Numbers
from jaxtheory.claims.result import FigureResult
from jaxtheory.code.code_hash import code_hash
from jaxtheory.code.plain import as_json
from jaxtheory.core import docstrings
from jaxtheory.engine.results.cells import as_csv
from jaxtheory.engine.results.identity import fingerprint
from jaxtheory.plotting import plot
from jaxtheory.plotting.annotation.captions import COLUMNS, count_seeds
from jaxtheory.plotting.annotation.complete import write_count
from jaxtheory.plotting.drawing import drawing, entitle, for_paper, title_of
from jaxtheory.reports import wording
from jaxtheory.reports.figure_record import NotARecordError, read_record
from jaxtheory.reports.typeset import mathtext
from jaxtheory.system.atomic import file_hash, write
from jaxtheory.texts.errors import InputError
from jaxtheory.verification import theory_gradient
from jaxtheory.verification.verify import vary_config

_DRAWN = (".png", ".pdf", ".svg", ".csv")
_VERSIONS = ("jaxtheory", "jax", "jaxlib", "numpy", "xarray")


def stem(
    folder: Path, name: str, key: int = 0, quick: bool = False, changes: Sequence[str] = ()
) -> Path:
    """Return the path of a figure's files without suffix: FOLDER/<name>[-quick][-key<key>].

    With other axes, seeds or steps, a hash of these changes follows.
    """
    changed = f"-{fingerprint({'changes': changes})}" if changes else ""
    return folder / f"{name}{'-quick' * quick}{f'-key{key}' if key else ''}{changed}"


def keep_drawing(
    image: Path, result: FigureResult, tell: Callable[[str], None] = lambda sentence: None
) -> dict[str, Any]:
    """Draw a figure as PNG, PDF and SVG, write its numbers as CSV, and return their entries.

    The entries of the record are `files`, the SHA-256 of each file by name, `drawn`, a hash of the
    code and the numbers that they were drawn from, and the `title`, the `caption` and the places of
    the `panels`. Files that agree with the existing record and this hash are kept. `tell` is called
    with a sentence on ignored settings of matplotlib.
    """
    before = _before(image.with_suffix(".json"))
    steps = plot.diverged, plot.threshold, write_count, plot.caption, plot.numbers, entitle, as_csv
    code = code_hash((result.figure.draw, title_of, *steps))
    data = {str(name): x for name, x in result.dataset.variables.items()}
    numbers = code_hash((sorted(data.items()), result.dataset.attrs))
    panels = {claim.id: claim.panel for claim in result.figure.claims}
    origin = (
        code,
        version("matplotlib"),
        numbers,
        panels,
        str(result.finding),
    )
    mark = fingerprint(as_json({"made": origin}))
    names = {image.with_suffix(suffix).name for suffix in _DRAWN}
    same = before.get("drawn") == mark and {*before["files"]} == names
    if same and not disagreeing(image.parent, before):
        return {name: before[name] for name in ("files", "drawn", "title", "caption", "panels")}
    picture = drawing(lambda: drawn(result), ("pdf", "svg", "png"), tell, captioned=False)
    contents: dict[str, bytes | str] = {f".{name}": data for name, data in picture.files.items()}
    contents[".csv"] = as_csv(COLUMNS, picture.numbers)
    files = {}
    for suffix in _DRAWN:
        file = image.with_suffix(suffix)
        files[file.name] = write(file, contents[suffix])
    title = headline(result) or picture.title
    words = {"title": title, "caption": picture.caption, "panels": picture.panels}
    return {"files": files, "drawn": mark, **words}


def keep_paper(
    image: Path, result: FigureResult, paper: str, tell: Callable[[str], None]
) -> list[Path]:
    """Write a figure for a paper, and its caption and verdicts as text; return the files.

    They are named as the image with the paper: PDF, PNG, TXT, and PGF where LaTeX is found.
    """
    files = []
    more = (verdict_text(result),)
    for kind, content in for_paper(lambda: drawn(result), paper, tell, more).items():
        files.append(image.with_name(f"{image.stem}-{paper}.{kind}"))
        write(files[-1], content)
    return files


def drawn(result: FigureResult) -> Any:
    """Draw the figure under its finding, with the limits of its claims."""
    figure, lost = result.figure.draw(result.dataset), plot.diverged(result.dataset)
    if hasattr(figure, "savefig"):
        panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
        for claim in result.figure.claims:
            if claim.panel is not None and not -len(panels) <= claim.panel < len(panels):
                raise InputError(
                    f"claim {claim.id}: panel = {claim.panel}; {result.figure.name} has the panels "
                    f"0 to {len(panels) - 1}"
                )
            if claim.panel is not None:
                plot.threshold(panels[claim.panel], *claim.bound, claim.id)
        if title := headline(result):
            entitle(figure, mathtext(title))
        count_seeds(figure, result.dataset.sizes.get("seed", 1))
        if lost:
            plot.remark(figure, lost)
    return figure


def headline(result: FigureResult) -> str:
    """Return the finding of a figure where this run bears it out, else its question.

    "" for a figure without a finding: it has the title that it draws.
    """
    if result.figure.finding is None:
        return ""
    return str(result.finding or wording.question_of(result.figure))


def verdict_text(result: FigureResult) -> str:
    """The verdicts of a figure in one sentence, such as "AP-1 holds: error: 0.5, claimed ≥ 0.4"."""
    sentences = []
    for judged in result.verdicts:
        line = record_claim(judged)["line"]
        sentences.append(f"{judged.claim.id} {judged.finding}" + f": {line}" * bool(line))
    return ". ".join(sentences) + "." * bool(sentences)


def disagreeing(folder: Path, record: dict[str, Any]) -> list[str]:
    """List the files of a record that are missing or changed."""
    return [name for name, digest in record["files"].items() if file_hash(folder / name) != digest]


def keep_record(file: Path, result: FigureResult, **facts: Any) -> dict[str, Any]:
    """Write the JSON record of a run of a figure and return it.

    The record has the facts (command, changes, key, seconds), the set-up, the versions, the
    comparison of the theory's gradient with autodiff, and the text and verdict of each claim, with
    None for NaN. If an earlier record has the same numbers, its seconds are kept, and likewise the
    comparison of the same gradient.
    """
    figure, before = result.figure, _before(file)
    same = result.store is not None and before.get("store") == str(result.store)
    if same:
        facts["seconds"] = max(facts["seconds"], before["seconds"])
    record = {
        "figure": figure.name,
        "theory": figure.theory.name if figure.theory else "",
        "question": wording.question_of(figure),
        "source": figure.source,
        "store": str(result.store or ""),
        "stores": [str(store) for store in result.stores],
        **facts,
        "setup": wording.sweep_in_words(figure, facts["quick"]),
        "runs": _runs(result.dataset),
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in _VERSIONS},
        "model": _model(figure),
        "gradient": _gradient(figure, before.get("gradient")),
        "claims": {judged.claim.id: record_claim(judged) for judged in result.verdicts},
    }
    write(file, json.dumps(record, indent=1))
    return record


def _before(file: Path) -> dict[str, Any]:
    """Return the existing record, or {} if there is none."""
    try:
        return read_record(file)
    except NotARecordError:
        return {}


def _runs(dataset: Any) -> dict[str, int]:
    """Return the numbers of seeds, of runs and of diverged runs."""
    if "diverged_at" not in dataset:
        return {"seeds": dataset.sizes["seed"]}
    at = dataset["diverged_at"]
    return {
        "seeds": dataset.sizes["seed"],
        "runs": int(at.size),
        "diverged": int((at >= 0).sum()),
    }


def _model(figure: Any) -> str:
    """Return the formulas of a theory or an experiment, from the docstring of its module."""
    place = figure.theory.Config if figure.theory else figure.draw
    home = sys.modules.get(place.__module__)
    return docstrings.doc(home)


def _gradient(figure: Any, before: dict[str, Any] | None) -> dict[str, Any] | None:
    """Compare the closed gradient of the theory with autodiff, at its default config, in float64.

    An earlier comparison by the same code is reused.
    """
    theory = figure.theory
    if theory is None:
        return None
    slots = theory.loss, theory.gradient, theory.problem, theory.sample, theory.init, theory.Config
    code = code_hash(slots)
    if before and before.get("code") == code:
        return before
    varied = vary_config(theory, theory.Config(), 0, 3, np.dtype("float64"))
    slot = theory_gradient.compare_slot(theory, varied)
    error = slot.error if math.isfinite(slot.error) else None
    outcome = {"error": error, "tolerance": theory_gradient.TOLERANCE, "agrees": slot.agrees}
    return outcome | {"code": code}


def bound(interval: Bound) -> str:
    """Format the bound of a claim, such as ≥ 1, ≤ 1 or 1 to 2."""
    if math.isinf(interval.high):
        return f"≥ {interval.low:.4g}"
    if math.isinf(interval.low):
        return f"≤ {interval.high:.4g}"
    return f"{interval.low:.4g} to {interval.high:.4g}"


def _finite(number: float) -> float | None:
    """A number for JSON: None if it is infinite or NaN."""
    return number if math.isfinite(number) else None


def _plain(number: Numbers) -> Any:
    """The number of a replicate for JSON, or its numbers: None for NaN."""
    if isinstance(number, tuple):
        return list(number)
    return None if math.isnan(number) else number


def record_claim(judged: Judged) -> dict[str, Any]:
    """Return the record of a claim and its verdict."""
    claim, verdict, _, numbers = judged
    number = None if verdict is None or math.isnan(verdict.measured) else verdict.measured
    record = {
        "statement": claim.statement,
        "why": claim.why,
        "origin": claim.origin.kind,
        "source": claim.origin.source,
        "expected": claim.expect or "open",
        "number": claim.number,
        "measured": number,
        "interval": None if verdict is None else [_finite(end) for end in verdict.interval],
        "bound": bound(claim.bound),
        "threshold": None if verdict is None else verdict.threshold,
        "q": claim.q,
        **{
            word: None if verdict is None else getattr(verdict, word)
            for word in ("n", "satisfied", "undefined", "equal")
        },
        "seeds_needed": None if verdict is None else verdict.seeds_needed,
        "numbers": [_plain(one) for one in numbers],
        "decision": "not tested" if verdict is None else verdict.decision,
        "finding": judged.finding,
        "outcome": judged.outcome,
        "law": claim.law,
        "rejects_law": judged.rejects_law,
    }
    return record | {"line": wording.line(record)}
