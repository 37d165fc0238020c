"""The page of all results of `run` in a folder.

For each theory it has the main figure with its claims, then the other figures, which are folded.

It is a single HTML file that needs no network.
"""

import base64
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jaxtheory.claims.catalog import headlines
from jaxtheory.reports import wording
from jaxtheory.reports.explorer.live_pages import PAGE
from jaxtheory.reports.figure_record import NotARecordError, read_record
from jaxtheory.reports.run_files import disagreeing
from jaxtheory.reports.strip import strip
from jaxtheory.reports.tally import ORIGINS, tally
from jaxtheory.reports.typeset import typeset
from jaxtheory.system.atomic import write
from jaxtheory.system.temporary import tidy
from jaxtheory.texts.errors import InputError

REPORT = "report.html"
_HERE = Path(__file__).parent
_ORIGINS = {
    "printed": "the source's sentence, in its words",
    "interpretation": "the source gives no numbers, or only an order of magnitude; we chose them",
    "derived": "ours: a corrected law, a limit, a conjecture",
}


def report(folder: Path, tell: Callable[[str], None] = lambda sentence: None) -> Path:
    """Write FOLDER/report.html from the records in the folder, and return its path.

    `tell` is called with a sentence for each JSON file that is not a record, and for each record
    whose files are missing or changed. InputError is raised if there is no record.
    """
    entries = [_entry(file, record, tell) for file, record in records(folder, tell)]
    if not entries:
        raise InputError(
            f"{folder}: has no results of jaxtheory run; run a figure with --store {folder} first"
        )
    tidy(folder)
    file = folder / REPORT
    write(file, _page(entries))
    return file


def records(
    folder: Path, tell: Callable[[str], None] = lambda sentence: None
) -> list[tuple[Path, dict[str, Any]]]:
    """List (file, record) of every figure in a folder, sorted by theory and name.

    `tell` is called with a sentence for each JSON file that is not a record.
    """
    pairs = []
    for file in sorted(folder.glob("*.json")):
        try:
            pairs.append((file, read_record(file)))
        except NotARecordError as error:
            tell(f"skipped {file}: {error}")
    order = "theory", "figure", "changes", "key"
    return sorted(pairs, key=lambda pair: [pair[1][name] for name in order])


def _entry(file: Path, record: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """Return a record with its files as data and the texts of the page."""
    suffix = f" (key {record['key']})" if record["key"] else ""
    changed = f" ({record['changes']})" if record["changes"] else ""
    claims = [
        claim | {"id": name, "anchor": f"{file.stem}.{name}"}
        for name, claim in record["claims"].items()
    ]
    findings = "; ".join(f"{c['id']} {c['finding']}" for c in claims) or "no claims"
    amiss = disagreeing(file.parent, record)
    warning = f"missing or changed since it was drawn: {', '.join(amiss)}" if amiss else ""
    if warning:
        repeat = record["command"] or "run the figure again"
        tell(f"{file}: {warning}; to write them again: {repeat}")
    shown = lambda suffix, kind: (
        "" if file.with_suffix(suffix).name in amiss else _data(file.with_suffix(suffix), kind)
    )
    return record | {
        "anchor": file.stem,
        "title": record["figure"] + suffix + " (quick)" * record["quick"] + changed,
        "group": record["theory"] or record["figure"].partition("_")[0],
        "finding": record["title"] or record["question"] or record["figure"],
        "claims": claims,
        "words": tally(claims).words(),
        "picture": shown(".png", "image/png"),
        "table": shown(".csv", "text/csv"),
        "amiss": warning,
        "alt": f"{record['question']} {findings}.",
        "explorers": [_explorer(file.parent, Path(str(store))) for store in record["stores"]],
    }


def _explorer(folder: Path, store: Path) -> dict[str, str]:
    """Return the name of a store with a link to its explorer page, or the command that writes it.

    A store that was moved together with the folder of its record is found there.
    """
    location = folder / store.name if (folder / store.name).is_dir() else store
    command, link = f"jaxtheory explore {shlex.quote(str(location))}", ""
    if (location / PAGE).is_file():
        link = quote(Path(os.path.relpath(location / PAGE, folder)).as_posix())
    return {"name": store.name, "link": link, "command": command}


def _data(file: Path, kind: str) -> str:
    """Return a file as a data URL, or "" if it does not exist."""
    try:
        content = file.read_bytes() if file.is_file() else b""
    except OSError:
        content = b""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}" if content else ""


def _groups(entries: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the figures of each theory, in the order of the main figures, which begin each group.

    Theories without a main figure follow by name, each beginning with its first figure by name.
    """
    order = {name: place for place, name in enumerate(headlines())}
    place = lambda entry: order.get(entry["figure"], len(order))
    groups: dict[str, list[dict[str, Any]]] = {}
    for entry in sorted(entries, key=place):
        groups.setdefault(entry["group"], []).append(entry)
    return groups


def _page(entries: list[dict[str, Any]]) -> str:
    """Fill the template."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    groups = _groups(entries)
    claims = [claim for entry in entries for claim in entry["claims"]]
    of_group = {
        group: [claim for entry in entries for claim in entry["claims"]]
        for group, entries in groups.items()
    }
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"strip": strip, "typeset": typeset}
    span = f"{wording.count(len(entries), 'figure')} of {wording.count(len(groups), 'theory')}"
    return environment.get_template("report.html.jinja").render(
        style=(_HERE / "report.css").read_text(encoding="utf-8"),
        script=(_HERE / "report.js").read_text(encoding="utf-8"),
        all=entries,
        groups=groups,
        counts={
            group: {origin: tally(of_group[group], origin) for origin in ORIGINS}
            for group in groups
        },
        gradients=[of_theory[0] for of_theory in groups.values() if of_theory[0]["gradient"]],
        versions=list(entries[0]["versions"]),
        rule=wording.RULE,
        origins=_ORIGINS,
        total=wording.count(len(claims), "claim"),
        span=span,
        words=tally(claims).words(),
        differing=[claim for claim in claims if claim["outcome"] == "differs"],
        undecided=[claim for claim in claims if claim["outcome"] == "undecided"],
    )
