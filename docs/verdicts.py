"""Write docs/verdicts.json and the pages in git that hold verdicts, from docs/replicates.

`make verdicts` runs python docs/verdicts.py: it judges every claim on the numbers of its replicates
under two keys (`evidence.keys`), in seconds. With `--store DIR` it also copies the pictures of
the figures that were run into a folder under their first key.
"""

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import evidence
import front
import ladders
import pictures
import replicates
import verdict_map

import jaxtheory
from jaxtheory.reports.figure_record import read_record
from jaxtheory.reports.run_files import stem

GALLERY = evidence.DOCS / "gallery"
SMALL = GALLERY / "small"
FACES = {"regression_staircase": 1}  # the panels of thumbnails, where no claim has the right one
EXAMPLE = ("origin", "measured", "n")  # what is kept of an example of before
NOT_JUDGED = {"interval": None, "decision": "undecided", "finding": "an example"}
NOT_JUDGED |= {"outcome": "undecided"}
NUMBERS = 160_000  # bytes of a figure's compressed numbers, at most


def judge() -> None:
    """Write verdicts.json anew from the numbers of replicates; older verdicts stay without them."""
    document: dict[str, Any] = {"figures": {}, "claims": {}, "again": {}} | evidence.load()
    for name in jaxtheory.figures.entries():
        first, second = evidence.keys(name)
        if facts := replicates.load(name).get(str(first)):
            words = (*replicates.KEPT, "commit", "caption")
            document["figures"][name] = {word: facts[word] for word in words if word in facts}
            for claim, record in replicates.judged(name, first).items():
                document["claims"][claim] = numbers(record)
                document["again"].pop(claim, None)
        for claim, record in replicates.judged(name, second).items():
            document["again"][claim] = {"key": second} | numbers(record)
    known = {claim: entry.figure for claim, entry in evidence.entries().items()}
    for claim in (name for name, entry in evidence.entries().items() if entry.claim.example):
        if "satisfied" not in (record := document["claims"].get(claim, {"satisfied": 0})):
            document["claims"][claim] = {word: record[word] for word in EXAMPLE} | NOT_JUDGED
            document["again"].pop(claim, None)
    document["figures"] = {
        name: document["figures"][name]
        for name in jaxtheory.figures.entries()
        if name in document["figures"]
    }
    for part in ("claims", "again"):
        document[part] = {name: document[part][name] for name in known if name in document[part]}
    evidence.DATA.write_text(json.dumps(document, indent=0, ensure_ascii=False) + "\n", "utf-8")


def keep_pictures(store: Path) -> None:
    """Copy the pictures and tables of figures that were run into a folder under their first key."""
    SMALL.mkdir(parents=True, exist_ok=True)
    for name in jaxtheory.figures.entries():
        file = stem(store, name, evidence.keys(name)[0]).with_suffix(".png")
        if not file.is_file():
            continue
        (GALLERY / f"{name}.webp").write_bytes(pictures.webp(file))
        (SMALL / f"{name}.webp").write_bytes(pictures.small(file, _face(name, file)))
        table = gzip.compress(file.with_suffix(".csv").read_bytes(), mtime=0)
        if len(table) <= NUMBERS:
            (GALLERY / f"{name}.csv.gz").write_bytes(table)


def _face(name: str, file: Path) -> list[float]:
    """Return the place of the panel that a thumbnail shows: what the first claim is about."""
    claims = jaxtheory.figures.get(name).claims
    shown = [claim.panel for claim in claims if claim.panel is not None]
    return read_record(file.with_suffix(".json"))["panels"][FACES.get(name, [*shown, 0][0])]


def numbers(claim: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a claim's record that was measured; the rest stands elsewhere."""
    words = ("statement", "why", "source", "expected", "bound", "threshold", "numbers", "number")
    words += ("line", "law")
    return {word: value for word, value in claim.items() if word not in words}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, help="copy the pictures of figures that ran into it")
    options = parser.parse_args()
    if options.store:
        keep_pictures(options.store)
        front.write()
        ladders.write()
    judge()
    found = evidence.load()
    evidence.write(evidence.pages(found) | {verdict_map.FILE: verdict_map.draw(found)})
    for key in (*evidence.KEYS, *evidence.LATER, *evidence.OF_LADDERS):
        if older := replicates.stale(key):
            replicates.tell(f"made by other code under key {key}: {', '.join(older)}")
    known = jaxtheory.figures.entries()
    if missing := [name for name in known if name not in found["figures"]]:
        parser.exit(1, f"not run under any key yet: {', '.join(missing)}\n")
