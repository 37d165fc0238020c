"""One page of all that `run` has kept in a folder: claims first, then the figures; a single HTML
file that needs no network.
"""

import base64
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxtheory.core.errors import InputError
from jaxtheory.reports.record import NotARecordError, read_record
from jaxtheory.reports.records import disagreeing
from jaxtheory.system.temporary import tidy
from jaxtheory.system.whole import write

_PAGE = "report.html"
_ORIGINS = {
    "printed": "the source's sentence, in its words",
    "reading": "the source's numbers are lost or it gives an order: ours stand in",
    "derived": "ours: a corrected law, a limit, a conjecture",
}


def report(folder: Path, tell: Callable[[str], None] = lambda said: None) -> Path:
    """Write FOLDER/report.html from the records in the folder, and return its path. tell takes a
    sentence for each JSON file that is not a record, and for each record whose files are not as it
    names them. Raises InputError where there is no record.
    """
    entries = [_entry(file, record, tell) for file, record in records(folder, tell)]
    if not entries:
        raise InputError(
            f"{folder}: holds no results of jaxtheory run; run a figure with --store {folder} first"
        )
    tidy(folder)
    file = folder / _PAGE
    write(file, _page(entries))
    return file


def records(
    folder: Path, tell: Callable[[str], None] = lambda said: None
) -> list[tuple[Path, dict[str, Any]]]:
    """(file, record) of every figure that has been run into a folder, by theory and name; tell
    takes a sentence for each JSON file that is not a record.
    """
    found = []
    for file in sorted(folder.glob("*.json")):
        try:
            found.append((file, read_record(file)))
        except NotARecordError as error:
            tell(f"skipped {file}: {error}")
    return sorted(found, key=lambda pair: (pair[1]["theory"], pair[1]["figure"], pair[1]["key"]))


def _entry(file: Path, record: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """A record with its files as data, and what the page says of it."""
    suffix = f" (key {record['key']})" if record["key"] else ""
    claims = [
        claim | {"id": name, "number": number(claim), "behind": behind(claim)}
        for name, claim in record["claims"].items()
    ]
    findings = "; ".join(f"{c['id']} {c['finding']}" for c in claims) or "no claims"
    amiss = disagreeing(file.parent, record)
    said = f"missing or changed since it was drawn: {', '.join(amiss)}" if amiss else ""
    if said:
        tell(f"{file}: {said}; {record['command'] or 'run the figure again'} writes them again")
    shown = lambda suffix, kind: (
        "" if file.with_suffix(suffix).name in amiss else _data(file.with_suffix(suffix), kind)
    )
    return record | {
        "anchor": file.stem,
        "title": record["figure"] + suffix + " (quick)" * record["quick"],
        "room": record["theory"] or record["figure"].partition("_")[0],
        "claims": claims,
        "picture": shown(".png", "image/png"),
        "table": shown(".csv", "text/csv"),
        "amiss": said,
        "alt": f"{record['question']} {findings}.",
    }


def _data(file: Path, kind: str) -> str:
    """A file as a data address; "" where there is none."""
    try:
        content = file.read_bytes() if file.is_file() else b""
    except OSError:
        content = b""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}" if content else ""


def behind(claim: dict[str, Any]) -> str:
    """How many seeds are behind a verdict; where runs have no value, the least number of a
    condition too.
    """
    if claim["n"] is None:
        return ""
    if claim["least"] is None or claim["least"] == claim["n"] == claim["seeds"]:
        return str(claim["n"])
    return f"{claim['least']} to {claim['n']} of {claim['seeds']}"


def number(claim: dict[str, Any]) -> str:
    """The number that was measured, ± its standard error over seeds where it has one, and the
    condition whose number it is.
    """
    if claim["measured"] is None:
        return "" if claim["n"] is None else "no number"
    error = "" if claim["error"] is None else f" ± {_rounded(claim['error'], 2)}"
    at = f" at {claim['at']}" if claim["at"] else ""
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
        origins=_ORIGINS,
        total=len(claims),
        differing=[claim["id"] for claim in claims if claim["outcome"] == "differs"],
    )
