"""The drawing library of the pages, plotly.js, as the text that a page contains."""

import base64
import functools
import gzip
import hashlib
import importlib.util
from importlib import resources
from typing import NamedTuple

from jaxtheory.texts.errors import InputError


class Library(NamedTuple):
    """plotly.js, compressed with gzip in base64, and the hash by which a page allows it."""

    text: str
    allowed: str


def require_library() -> None:
    """Raise InputError if the package with plotly.js is not installed."""
    if importlib.util.find_spec("plotly") is None:
        raise InputError("explore needs the package plotly: pip install 'jaxtheory[explore]'")


@functools.cache
def library() -> Library:
    """Return plotly.js. Raises InputError if it is not installed."""
    require_library()
    source = resources.files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return Library(base64.b64encode(gzip.compress(source, 9, mtime=0)).decode(), allowed(source))


def allowed(script: bytes) -> str:
    """Return a script's entry in the content security policy of a page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"
