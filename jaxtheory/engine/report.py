"""One page of all that `run` has kept in a folder: claims first, then the figures; a single HTML
file that needs no network.
"""

import base64
import math
from collections import Counter
from pathlib import Path
from typing import Any

from jaxtheory.core.errors import InputError
from jaxtheory.engine.keep import read_record

PAGE = "report.html"
ORIGINS = {
    "printed": "the source's sentence, in its words",
    "reading": "the source's numbers are lost or it gives an order: ours stand in",
    "derived": "ours: a corrected law, a limit, a conjecture",
}


def report(folder: Path) -> Path:
    """Write FOLDER/report.html from the records in the folder, and return its path. Raises
    InputError where there is none.
    """
    entries = [_entry(file, record) for file, record in records(folder)]
    if not entries:
        raise InputError(
            f"{folder}: holds no results of jaxtheory run; run a figure with --store {folder} first"
        )
    file = folder / PAGE
    file.write_text(_page(entries), encoding="utf-8")
    return file


def records(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """(file, record) of every figure that has been run into a folder, by theory and name."""
    read = ((file, read_record(file)) for file in sorted(folder.glob("*.json")))
    found = [(file, record) for file, record in read if record]
    return sorted(found, key=lambda pair: (pair[1]["theory"], pair[1]["figure"], pair[1]["key"]))


def _entry(file: Path, record: dict[str, Any]) -> dict[str, Any]:
    """A record with its files as data, and what the page says of it."""
    suffix = f" (key {record['key']})" if record["key"] else ""
    claims = [
        claim | {"id": name, "number": number(claim)} for name, claim in record["claims"].items()
    ]
    findings = "; ".join(f"{c['id']} {c['finding']}" for c in claims) or "no claims"
    return record | {
        "anchor": file.stem,
        "title": record["figure"] + suffix + " (quick)" * record["quick"],
        "room": record["theory"] or record["figure"].partition("_")[0],
        "claims": claims,
        "picture": _data(file.with_suffix(".png"), "image/png"),
        "table": _data(file.with_suffix(".csv"), "text/csv"),
        "alt": f"{record['question']} {findings}.",
    }


def _data(file: Path, kind: str) -> str:
    """A file as a data address; "" where there is none."""
    if not file.is_file():
        return ""
    return f"data:{kind};base64,{base64.b64encode(file.read_bytes()).decode()}"


def number(claim: dict[str, Any]) -> str:
    """The number that was measured, ± its standard error over seeds where it has one, and the
    condition whose number it is.
    """
    if claim["measured"] is None:
        return "" if claim["n"] is None else "no number"
    error = "" if claim["error"] is None else f" ± {_rounded(claim['error'], 2)}"
    at = f" at {claim['at']}" if claim.get("at") else ""
    return _rounded(claim["measured"], 4) + error + at


def _rounded(value: float, digits: int) -> str:
    return f"{value:.{digits}g}" if math.isfinite(value) else str(value)


def _page(entries: list[dict[str, Any]]) -> str:
    """The template, filled."""
    from jinja2 import Environment, FileSystemLoader

    rooms = list(dict.fromkeys(entry["room"] for entry in entries))
    claims = [claim for entry in entries for claim in entry["claims"]]
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.jinja").render(
        entries=entries,
        rooms={room: next(e for e in entries if e["room"] == room) for room in rooms},
        counts={
            room: Counter(c["finding"] for e in entries if e["room"] == room for c in e["claims"])
            for room in rooms
        },
        findings=sorted({claim["finding"] for claim in claims}),
        origins=ORIGINS,
        total=len(claims),
        differing=[claim["id"] for claim in claims if claim["outcome"] == "differs"],
    )
