"""Write docs/verdicts.json, the gallery and all pages that hold verdicts from stored results.

`make verdicts ARGS="--key K --store DIR"` runs python docs/verdicts.py: it takes every figure that
was run into the folder under the key. Without a store, the pages are written again from
docs/verdicts.json. `--ladders K L` writes the table of the figures of `sweeps/networks` under two
keys into docs/networks-ladders.md.
"""

import argparse
import gzip
import io
import json
from pathlib import Path
from typing import Any

import evidence
import front
from PIL import Image

import jaxtheory
from jaxtheory.reports import wording
from jaxtheory.reports.record import read_record
from jaxtheory.reports.records import bound, stem

GALLERY = evidence.DOCS / "gallery"
LADDERS, MARK = evidence.DOCS / "networks-ladders.md", "<!-- verdicts -->"
LARGEST, NUMBERS = 40_000, 160_000  # bytes of a picture, and of a figure's compressed numbers
KEPT = ("command", "key", "setup", "runs", "seconds", "versions")


def webp(file: Path) -> bytes:
    """Return a picture of at most LARGEST bytes, as sharp as fits: few colors, or else blurred."""
    image = Image.open(file).convert("RGB")
    tries = [(image.quantize(colors), {"lossless": True}) for colors in (128, 64, 32)]
    for part in (1, 3 / 4, 1 / 2):
        small = image.resize((round(image.width * part), round(image.height * part)))
        tries += [(small, {"quality": quality}) for quality in (70, 50, 35)]
    for picture, options in tries:
        out = io.BytesIO()
        picture.save(out, "webp", method=6, **options)
        if out.tell() <= LARGEST:
            return out.getvalue()
    raise ValueError(f"{file} does not fit into {LARGEST} bytes")


def collect(key: int, store: Path) -> None:
    """Add what was run into a folder under a key to verdicts.json and to the gallery."""
    found = evidence.load() if evidence.DATA.is_file() else {"figures": {}, "claims": {}}
    GALLERY.mkdir(exist_ok=True)
    for name in jaxtheory.figures.entries():
        file = stem(store, name, key).with_suffix(".json")
        if not file.is_file():
            continue
        record = read_record(file)
        found["figures"][name] = {word: record[word] for word in KEPT}
        for claim in jaxtheory.figures.get(name).claims:
            found["claims"][claim.id] = numbers(record["claims"][claim.id])
        (GALLERY / f"{name}.webp").write_bytes(webp(file.with_suffix(".png")))
        table = gzip.compress(file.with_suffix(".csv").read_bytes(), mtime=0)
        if len(table) <= NUMBERS:
            (GALLERY / f"{name}.csv.gz").write_bytes(table)
    known = {claim: entry.figure for claim, entry in evidence.entries().items()}
    found["figures"] = {
        name: found["figures"][name]
        for name in jaxtheory.figures.entries()
        if name in found["figures"]
    }
    found["claims"] = {name: found["claims"][name] for name in known if name in found["claims"]}
    evidence.DATA.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n", "utf-8")


def numbers(claim: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a claim's record that was measured; the rest stands in the code."""
    words = ("statement", "why", "source", "expected", "bound", "threshold")
    return {word: value for word, value in claim.items() if word not in words}


def ladders(keys: list[int], store: Path) -> str:
    """Return the table of the claims on networks under some keys."""
    head = ["claim", "figure", "statement", "bound"]
    head += [f"{word} (key {key})" for key in keys for word in ("measured", "verdict")]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name, entry in evidence.entries().items():
        if entry.room != "networks":
            continue
        cells = of(name)
        for key in keys:
            file = stem(store, entry.figure, key).with_suffix(".json")
            if not file.is_file():
                cells += ["-", "not run"]
                continue
            found = read_record(file)["claims"][name]
            cells += [wording.measured(found), found["finding"]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def of(name: str) -> list[str]:
    """Return the cells of a claim on networks that do not depend on measurements."""
    claim, figure, _ = evidence.entries()[name]
    statement = " ".join(filter(None, (claim.statement, f"*{claim.why}*" * bool(claim.why))))
    return [cell.replace("|", "\\|") for cell in (name, figure, statement, bound(claim.bound))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--key", type=int, default=0)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--ladders", type=int, nargs="+", metavar="KEY")
    options = parser.parse_args()
    if options.ladders:
        before, _, rest = LADDERS.read_text(encoding="utf-8").partition(MARK)
        after = rest.partition(MARK)[2]
        table = ladders(options.ladders, options.store or Path("results"))
        LADDERS.write_text(f"{before}{MARK}\n{table}\n{MARK}{after}", encoding="utf-8")
        parser.exit()
    if options.store:
        collect(options.key, options.store)
        front.write()
    for file, text in evidence.pages(evidence.load()).items():
        file.write_text(text, encoding="utf-8")
    known = jaxtheory.figures.entries()
    if missing := [name for name in known if name not in evidence.load()["figures"]]:
        parser.exit(1, f"not run under any key yet: {', '.join(missing)}\n")
