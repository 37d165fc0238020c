"""Pictures of pages: WebP without loss, in the colors in which they were drawn."""

import io
from pathlib import Path
from typing import IO

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

from jaxtheory import plot


def webp(file: Path | IO[bytes]) -> bytes:
    """Return a picture as WebP."""
    out = io.BytesIO()
    Image.open(file).convert("RGB").save(out, "webp", lossless=True, method=6)
    return out.getvalue()


def save(figure: Figure, place: Path) -> None:
    """Write a drawing as WebP."""
    out = io.BytesIO()
    with mpl.rc_context(plot.STYLE):
        figure.savefig(out, format="png")
    place.write_bytes(webp(out))
