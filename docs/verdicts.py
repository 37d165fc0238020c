"""Write docs/verdicts.json, pictures and the pages in git that hold verdicts from stored results.

`make verdicts ARGS="--key K --store DIR"` runs python docs/verdicts.py: it takes every figure that
was run into the folder under the key. Without a store, the pages are written again from
docs/verdicts.json. With `--again` they are verdicts under a second key, beside the first.
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
from PIL import Image

import jaxtheory
from jaxtheory.reports.figure_record import read_record
from jaxtheory.reports.run_files import stem

GALLERY = evidence.DOCS / "gallery"
LARGEST, NUMBERS = 40_000, 160_000  # bytes of a picture, and of a figure's compressed numbers
KEPT = ("command", "key", "setup", "runs", "seconds", "versions")


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


def collect(key: int, store: Path, again: bool) -> None:
    """Add what was run into a folder under a key to verdicts.json and to the gallery.

    Of verdicts that were found again under a second key, the numbers alone are kept.
    """
    document: dict[str, Any] = {"figures": {}, "claims": {}, "again": {}}
    if evidence.DATA.is_file():
        document |= evidence.load()
    GALLERY.mkdir(exist_ok=True)
    for name in jaxtheory.figures.entries():
        file = stem(store, name, key).with_suffix(".json")
        if not file.is_file():
            continue
        record = read_record(file)
        if again:
            for claim in jaxtheory.figures.get(name).claims:
                document["again"][claim.id] = {"key": key} | numbers(record["claims"][claim.id])
            continue
        document["figures"][name] = {word: record[word] for word in KEPT}
        for claim in jaxtheory.figures.get(name).claims:
            document["claims"][claim.id] = numbers(record["claims"][claim.id])
        (GALLERY / f"{name}.webp").write_bytes(webp(file.with_suffix(".png")))
        table = gzip.compress(file.with_suffix(".csv").read_bytes(), mtime=0)
        if len(table) <= NUMBERS:
            (GALLERY / f"{name}.csv.gz").write_bytes(table)
    known = {claim: entry.figure for claim, entry in evidence.entries().items()}
    document["figures"] = {
        name: document["figures"][name]
        for name in jaxtheory.figures.entries()
        if name in document["figures"]
    }
    for part in ("claims", "again"):
        document[part] = {name: document[part][name] for name in known if name in document[part]}
    evidence.DATA.write_text(json.dumps(document, indent=0, ensure_ascii=False) + "\n", "utf-8")


def numbers(claim: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a claim's record that was measured; the rest stands in the code."""
    words = ("statement", "why", "source", "expected", "bound", "threshold")
    return {word: value for word, value in claim.items() if word not in words}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--key", type=int, default=0)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--again", action="store_true", help="a second key")
    options = parser.parse_args()
    if options.store:
        collect(options.key, options.store, options.again)
        front.write()
    evidence.write(evidence.pages(evidence.load()))
    known = jaxtheory.figures.entries()
    if missing := [name for name in known if name not in evidence.load()["figures"]]:
        parser.exit(1, f"not run under any key yet: {', '.join(missing)}\n")
