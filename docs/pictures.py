"""Pictures of pages: WebP without loss, in the colors in which they were drawn."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

from jaxtheory import plot

SMALL = (640, 400)  # pixels of a thumbnail, at most


def webp(file: Path | IO[bytes]) -> bytes:
    """Return a picture as WebP."""
    out = io.BytesIO()
    Image.open(file).convert("RGB").save(out, "webp", lossless=True, method=6)
    return out.getvalue()


def small(file: Path, panel: Sequence[float]) -> bytes:
    """Return one panel of a picture as WebP, as large as it is shown at twice the resolution.

    panel: left, bottom, right and top, as shares of the picture.
    """
    picture = Image.open(file).convert("RGB")
    left, bottom, right, top = panel
    ends = (left, 1 - top, right, 1 - bottom)
    cut = picture.crop([round(end * picture.size[k % 2]) for k, end in enumerate(ends)])
    cut.thumbnail(SMALL)
    out = io.BytesIO()
    cut.save(out, "webp", lossless=True, method=6)
    return out.getvalue()


def save(figure: Figure, place: Path) -> None:
    """Write a drawing as WebP."""
    out = io.BytesIO()
    with mpl.rc_context(plot.STYLE):
        figure.savefig(out, format="png")
    place.write_bytes(webp(out))
