"""A drawing as the contents of its files. No window or backend is needed, and settings of
matplotlib under which nothing can be drawn are left aside.
"""

import contextlib
import importlib
import importlib.util
import io
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxtheory.core.errors import InputError, line
from jaxtheory.plotting import plot

_LEFT_ASIDE = "drawn with the default settings of matplotlib, as yours fail: {}"
_UNDATED = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}  # equal drawings, equal bytes


class Drawing(NamedTuple):
    """The contents of the files of a drawing by format, and its numbers."""

    files: dict[str, bytes]
    numbers: list[dict[str, Any]]


def drawing(
    draw: Callable[[], Any], formats: Sequence[str], tell: Callable[[str], None]
) -> Drawing:
    """The files of the figure that draw() returns, with its caption.

    It is drawn with the user's settings of matplotlib first. Where that fails, for instance as they
    ask for LaTeX that is not installed, it is drawn with matplotlib's defaults, and tell takes a
    sentence that says so. Raises what draw raises with the defaults too.
    """
    import_matplotlib(tell)
    import matplotlib

    try:
        with _told_once():
            return _rendered(draw, formats)
    except InputError:
        raise
    except Exception as error:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            try:
                found = _rendered(draw, formats)
            except Exception:
                raise error from None
        tell(_LEFT_ASIDE.format(line(error)))
        return found


def import_matplotlib(tell: Callable[[str], None]) -> None:
    """Import matplotlib, past an MPLBACKEND that names a backend of another environment, as a
    notebook exports it, and past a matplotlibrc that cannot be read; tell takes a sentence on the
    latter. The environment is as before afterwards.
    """
    if "matplotlib.figure" in sys.modules:
        return
    kept = {name: os.environ.get(name) for name in ("MPLBACKEND", "MATPLOTLIBRC")}
    try:
        os.environ["MPLBACKEND"] = "agg"
        try:
            importlib.import_module("matplotlib.figure")
        except Exception as error:
            home = importlib.util.find_spec("matplotlib")
            if home is None or home.origin is None:
                raise
            for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
                del sys.modules[name]  # what the failed import left half done
            os.environ["MATPLOTLIBRC"] = str(Path(home.origin).parent / "mpl-data" / "matplotlibrc")
            importlib.import_module("matplotlib.figure")
            tell(_LEFT_ASIDE.format(line(error)))
    finally:
        for name, value in kept.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _rendered(draw: Callable[[], Any], formats: Sequence[str]) -> Drawing:
    """The files of a figure, in memory."""
    import matplotlib

    drawn = draw()
    if not hasattr(drawn, "savefig"):
        raise InputError(f"draw gives a {type(drawn).__name__}; it must return the figure it made")
    files = {}
    plot.add_caption(drawn)
    for name in formats:
        content = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "jaxtheory"}):
            drawn.savefig(content, format=name, dpi=150, metadata=_UNDATED.get(name))
        files[name] = content.getvalue()
    return Drawing(files, plot.numbers(drawn))


@contextlib.contextmanager
def _told_once() -> Iterator[None]:
    """matplotlib says once, and not at each text, that a font is missing."""
    seen: set[str] = set()

    def new(record: logging.LogRecord) -> bool:
        before = len(seen)
        seen.add(record.getMessage())
        return len(seen) > before

    log = logging.getLogger("matplotlib.font_manager")
    log.addFilter(new)
    try:
        yield
    finally:
        log.removeFilter(new)
