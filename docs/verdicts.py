"""Write docs/verdicts.json and the pages in git that hold verdicts, from docs/replicates.

`make verdicts` runs python docs/verdicts.py: it judges every claim on the numbers of its replicates
under two keys (`evidence.keys`), in seconds. With `--store DIR` it also copies the pictures of
the figures that were run into a folder under their first key.
"""

import argparse
import gzip
import io
import json
from pathlib import Path
from typing import Any

import evidence
import front
import numpy as np
import replicates
import verdict_map
from PIL import Image

import jaxtheory
from jaxtheory.reports.run_files import stem

GALLERY = evidence.DOCS / "gallery"
EXAMPLE = ("origin", "measured", "n")  # what is kept of an example of before
NOT_JUDGED = {"interval": None, "decision": "undecided", "finding": "an example"}
NOT_JUDGED |= {"outcome": "undecided"}
LARGEST, NUMBERS = 40_000, 160_000  # bytes of a picture, and of a figure's compressed numbers


def webp(file: Path) -> bytes:
    """Return a picture of at most LARGEST bytes, as sharp as fits: few colors, or else blurred."""
    image = Image.open(file).convert("RGB")
    tries = [(few_colors(image, count), {"lossless": True}) for count in (64, 32, 24, 16)]
    for part in (1, 0.85, 0.75, 0.65, 0.6, 0.5):
        small = image.resize((round(image.width * part), round(image.height * part)))
        tries += [(small, {"quality": quality}) for quality in (60, 45, 30)]
    for picture, options in tries:
        out = io.BytesIO()
        picture.save(out, "webp", method=6, **options)
        if out.tell() <= LARGEST:
            return out.getvalue()
    raise ValueError(f"{file} does not fit into {LARGEST} bytes")


def few_colors(image: Image.Image, count: int) -> Image.Image:
    """Return an image in its most frequent colors, so that lines and cells keep theirs exactly."""
    pixels = np.asarray(image).reshape(-1, 3)
    codes, place, counts = np.unique(
        pixels @ np.array([1 << 16, 1 << 8, 1]), return_inverse=True, return_counts=True
    )
    colors = np.stack([codes >> 16, codes >> 8 & 255, codes & 255], 1)
    palette = colors[np.argsort(-counts, kind="stable")[:count]]
    nearest = [int(((palette - color) ** 2).sum(1).argmin()) for color in colors]
    raster = palette.astype(np.uint8)[nearest][place]
    return Image.fromarray(raster.reshape(image.height, image.width, 3))


def judge() -> None:
    """Write verdicts.json anew from the numbers of replicates; older verdicts stay without them."""
    document: dict[str, Any] = {"figures": {}, "claims": {}, "again": {}} | evidence.load()
    for name in jaxtheory.figures.entries():
        first, second = evidence.keys(name)
        if facts := replicates.load(name).get(str(first)):
            words = (*replicates.KEPT, "commit")
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
    GALLERY.mkdir(exist_ok=True)
    for name in jaxtheory.figures.entries():
        file = stem(store, name, evidence.keys(name)[0]).with_suffix(".png")
        if not file.is_file():
            continue
        (GALLERY / f"{name}.webp").write_bytes(webp(file))
        table = gzip.compress(file.with_suffix(".csv").read_bytes(), mtime=0)
        if len(table) <= NUMBERS:
            (GALLERY / f"{name}.csv.gz").write_bytes(table)


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
    judge()
    found = evidence.load()
    evidence.write(evidence.pages(found) | {verdict_map.FILE: verdict_map.draw(found)})
    for key in (*evidence.KEYS, *evidence.LATER, *evidence.OF_LADDERS):
        if older := replicates.stale(key):
            replicates.tell(f"made by other code under key {key}: {', '.join(older)}")
    known = jaxtheory.figures.entries()
    if missing := [name for name in known if name not in found["figures"]]:
        parser.exit(1, f"not run under any key yet: {', '.join(missing)}\n")
