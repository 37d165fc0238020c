"""What a run of a figure leaves in a folder: the drawing as PNG, PDF and SVG, the plotted numbers
as CSV, and a record as JSON that `report` makes a page of.
"""

import csv
import inspect
import json
import math
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from jaxtheory.core.errors import InputError
from jaxtheory.engine import autodiff, plot, words
from jaxtheory.engine.claims import FigureResult, Judged
from jaxtheory.engine.digest import digest_code
from jaxtheory.engine.identity import fingerprint, plain
from jaxtheory.engine.verify import vary_config

STAMP = "jaxtheory"  # the word of a PNG under which it says what it was drawn from
DRAWN = (".png", ".pdf", ".svg", ".csv")
VERSIONS = ("jaxtheory", "jax", "jaxlib", "numpy", "xarray")


def stem(folder: Path, name: str, key: int = 0, quick: bool = False) -> Path:
    """Where the files of a figure lie, but for their suffix: FOLDER/<name>[-quick][-key<key>]."""
    return folder / f"{name}{'-quick' * quick}{f'-key{key}' if key else ''}"


def keep_drawing(image: Path, result: FigureResult) -> None:
    """Draw a figure into a PNG, a PDF, a SVG and its numbers into a CSV, unless they stand there,
    drawn by this code from these numbers.
    """
    sums = None if result.store is None else result.store / "data.sum"  # experiments have none
    mark = ""
    if sums is not None and sums.is_file():
        code = digest_code((result.figure.draw, plot.add_caption, plot.numbers))
        made = code, version("matplotlib"), sums.read_text(encoding="utf-8")
        mark = fingerprint(plain({"made": made}))
    if mark and stamp_of(image) == mark and all(image.with_suffix(s).is_file() for s in DRAWN):
        return
    drawn = result.figure.draw(result.dataset)
    if not hasattr(drawn, "savefig"):
        raise InputError(f"draw gives a {type(drawn).__name__}; it must return the figure it made")
    plot.add_caption(drawn)
    write_csv(image.with_suffix(".csv"), plot.numbers(drawn))
    drawn.savefig(image.with_suffix(".pdf"))
    drawn.savefig(image.with_suffix(".svg"))
    drawn.savefig(image, dpi=150, metadata={STAMP: mark})  # the stamp comes last


def stamp_of(image: Path) -> str:
    """What `keep_drawing` wrote into a PNG; "" for any other file, or none."""
    from PIL import Image

    try:
        with Image.open(image) as opened:
            return str(opened.info.get(STAMP, ""))
    except (OSError, SyntaxError, ValueError):  # damaged: drawn anew
        return ""


def write_csv(file: Path, rows: list[dict]) -> None:
    """Rows as a table whose columns are all keys, in the order of their first appearance."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with file.open("w", newline="", encoding="utf-8") as opened:
        table = csv.DictWriter(opened, columns)
        table.writeheader()
        table.writerows(rows)


def keep_record(file: Path, result: FigureResult, **facts: Any) -> dict[str, Any]:
    """Write what is known of a run of a figure as JSON, and return it: facts (how it was asked for,
    seconds), its set-up, versions, the gradient of its theory beside autodiff, and of each claim
    its text and verdict (None for NaN). The seconds of the first run that led to the same numbers
    stay, and the comparison of the same gradient.
    """
    figure, before = result.figure, read_record(file)
    same = result.store is not None and before.get("store") == str(result.store)
    if same:
        facts["seconds"] = max(facts["seconds"], before["seconds"])
    record = {
        "figure": figure.name,
        "theory": figure.theory.name if figure.theory else "",
        "question": words.asked(figure),
        "source": figure.source,
        "store": str(result.store or ""),
        **facts,
        "setup": words.sweep_in_words(figure, facts["quick"]),
        "runs": _runs(result.dataset),
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in VERSIONS},
        "model": _model(figure),
        "gradient": _gradient(figure, before.get("gradient")),
        "claims": {judged.claim.id: _judged(judged) for judged in result.verdicts},
    }
    file.write_text(json.dumps(record, indent=1), encoding="utf-8")
    return record


def read_record(file: Path) -> dict[str, Any]:
    """What `keep_record` wrote; empty for any other file, or none."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and {"figure", "claims"} <= {*found} else {}


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
    return inspect.getdoc(home) or ""


def _gradient(figure: Any, before: dict[str, Any] | None) -> dict[str, Any] | None:
    """The closed gradient of the theory beside autodiff, at its default config, in float64; what
    was found before, where that was of this code.
    """
    theory = figure.theory
    if theory is None:
        return None
    slots = theory.loss, theory.gradient, theory.problem, theory.sample, theory.init, theory.Config
    code = digest_code(slots)
    if before and before.get("code") == code:
        return before
    varied = vary_config(theory, theory.Config(), 0, 3, np.dtype("float64"))
    found = autodiff.compare(theory, varied)
    error = found.error if math.isfinite(found.error) else None
    outcome = {"error": error, "tolerance": autodiff.TOLERANCE, "agrees": found.agrees}
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
        "finding": judged.finding,
        "outcome": judged.outcome,
    }
