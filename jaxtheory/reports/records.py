"""What a run of a figure leaves in a folder: the drawing as PNG, PDF and SVG, the plotted numbers
as CSV, and a record as JSON that `report` makes a page of.
"""

import json
import math
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from jaxtheory.claims.claim import FigureResult, Judged
from jaxtheory.core import docstrings
from jaxtheory.core.code_hash import code_hash
from jaxtheory.engine.results.cells import as_csv
from jaxtheory.engine.results.identity import fingerprint, plain
from jaxtheory.plotting import plot
from jaxtheory.plotting.captions import COLUMNS
from jaxtheory.plotting.drawing import drawing, import_matplotlib
from jaxtheory.reports import wording
from jaxtheory.reports.record import NotARecordError, read_record
from jaxtheory.system.whole import file_hash, write
from jaxtheory.verification import theory_gradient
from jaxtheory.verification.verify import vary_config

_DRAWN = (".png", ".pdf", ".svg", ".csv")
_VERSIONS = ("jaxtheory", "jax", "jaxlib", "numpy", "xarray")


def stem(folder: Path, name: str, key: int = 0, quick: bool = False) -> Path:
    """Where the files of a figure lie, but for their suffix: FOLDER/<name>[-quick][-key<key>]."""
    return folder / f"{name}{'-quick' * quick}{f'-key{key}' if key else ''}"


def keep_drawing(
    image: Path, result: FigureResult, tell: Callable[[str], None] = lambda said: None
) -> dict[str, Any]:
    """Draw a figure into a PNG, a PDF and a SVG and its numbers into a CSV, and return what the
    record says of them: `files`, the SHA-256 of each by name, and `drawn`, what they were drawn
    from. Files that lie there as the record names them, drawn by this code from these numbers,
    stay. tell: takes a sentence on settings of matplotlib that were left aside.
    """
    import_matplotlib(tell)  # first: the digest of code sees whether it is there
    before = _before(image.with_suffix(".json"))
    sums = None if result.store is None else result.store / "data.sum"  # experiments have none
    mark = ""
    if sums is not None and sums.is_file():
        code = code_hash(
            (result.figure.draw, plot.diverged, plot.add_caption, plot.numbers, as_csv)
        )
        origin = code, version("matplotlib"), sums.read_text(encoding="utf-8")
        mark = fingerprint(plain({"made": origin}))
    names = {image.with_suffix(suffix).name for suffix in _DRAWN}
    same = mark and before.get("drawn") == mark and {*before["files"]} == names
    if same and not disagreeing(image.parent, before):
        return {"files": before["files"], "drawn": mark}
    made = drawing(lambda: _drawn(result), ("pdf", "svg", "png"), tell)
    contents: dict[str, bytes | str] = {f".{name}": data for name, data in made.files.items()}
    contents[".csv"] = as_csv(COLUMNS, made.numbers)
    files = {}
    for suffix in _DRAWN:
        file = image.with_suffix(suffix)
        files[file.name] = write(file, contents[suffix])
    return {"files": files, "drawn": mark}


def _drawn(result: FigureResult) -> Any:
    """The figure; its caption says how many runs diverged, whatever it shows of them."""
    figure, lost = result.figure.draw(result.dataset), plot.diverged(result.dataset)
    if lost and hasattr(figure, "savefig"):
        plot.remark(figure, lost)
    return figure


def disagreeing(folder: Path, record: dict[str, Any]) -> list[str]:
    """The files that a record speaks of and that are not as it names them: missing, cut or changed
    since.
    """
    return [name for name, digest in record["files"].items() if file_hash(folder / name) != digest]


def keep_record(file: Path, result: FigureResult, **facts: Any) -> dict[str, Any]:
    """Write what is known of a run of a figure as JSON, and return it: facts (how it was asked for,
    seconds), its set-up, versions, the gradient of its theory beside autodiff, and of each claim
    its text and verdict (None for NaN). The seconds of the first run that led to the same numbers
    stay, and the comparison of the same gradient.
    """
    figure, before = result.figure, _before(file)
    same = result.store is not None and before.get("store") == str(result.store)
    if same:
        facts["seconds"] = max(facts["seconds"], before["seconds"])
    record = {
        "figure": figure.name,
        "theory": figure.theory.name if figure.theory else "",
        "question": wording.asked(figure),
        "source": figure.source,
        "store": str(result.store or ""),
        **facts,
        "setup": wording.sweep_in_words(figure, facts["quick"]),
        "runs": _runs(result.dataset),
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in _VERSIONS},
        "model": _model(figure),
        "gradient": _gradient(figure, before.get("gradient")),
        "claims": {judged.claim.id: _judged(judged) for judged in result.verdicts},
    }
    write(file, json.dumps(record, indent=1))
    return record


def _before(file: Path) -> dict[str, Any]:
    """The record that is there; empty for none, or for a file that is not one."""
    try:
        return read_record(file)
    except NotARecordError:
        return {}


def _runs(dataset: Any) -> dict[str, int]:
    """How many runs there were, and how many of them diverged."""
    if "diverged_at" not in dataset:
        return {"seeds": dataset.sizes["seed"]}
    at = dataset["diverged_at"]
    return {
        "seeds": dataset.sizes["seed"],
        "runs": int(at.size),
        "diverged": int((at >= 0).sum()),
    }


def _model(figure: Any) -> str:
    """The formulas of a theory: what the module of its Config says first, or an experiment's."""
    place = figure.theory.Config if figure.theory else figure.draw
    home = sys.modules.get(place.__module__)
    return docstrings.doc(home)


def _gradient(figure: Any, before: dict[str, Any] | None) -> dict[str, Any] | None:
    """The closed gradient of the theory beside autodiff, at its default config, in float64; what
    was found before, where that was of this code.
    """
    theory = figure.theory
    if theory is None:
        return None
    slots = theory.loss, theory.gradient, theory.problem, theory.sample, theory.init, theory.Config
    code = code_hash(slots)
    if before and before.get("code") == code:
        return before
    varied = vary_config(theory, theory.Config(), 0, 3, np.dtype("float64"))
    found = theory_gradient.compare_slot(theory, varied)
    error = found.error if math.isfinite(found.error) else None
    outcome = {"error": error, "tolerance": theory_gradient.TOLERANCE, "agrees": found.agrees}
    return outcome | {"code": code}


def bound(options: dict[str, Any]) -> str:
    """A claim's bound as it is read: ≥ 1, ≤ 1 or 1 to 2."""
    if "between" in options:
        low, high = options["between"]
        return f"{low:.4g} to {high:.4g}"
    if "at_least" in options:
        return f"≥ {options['at_least']:.4g}"
    return f"≤ {options['at_most']:.4g}"


def _judged(judged: Judged) -> dict[str, Any]:
    """A claim and its verdict."""
    claim, found, _ = judged
    number = None if found is None or math.isnan(found.measured) else found.measured
    return {
        "statement": claim.statement,
        "origin": claim.origin,
        "source": claim.source,
        "expected": claim.expected,
        "measured": number,
        "error": None if found is None else found.error,
        "at": "" if found is None else found.at,
        "bound": bound(claim.bound),
        "threshold": None if found is None else found.threshold,
        "n": None if found is None else found.n,
        "least": None if found is None else found.least,
        "seeds": None if found is None else found.seeds,
        "finding": judged.finding,
        "outcome": judged.outcome,
    }
