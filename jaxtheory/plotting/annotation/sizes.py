"""Sizes of letters and figures at printed size, and those of a drawing for a paper."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

TEXT, HEADING, TITLE, SMALL = 7.0, 7.5, 9.0, 6.5  # points, at printed size
LETTER = 0.56 / 72  # inches per point of font size: the width of a letter
PAPERS = {"column": 3.3, "page": 6.8}  # inches
_ON_PAPER, _TITLES = 8.0, 9.0  # points
_FEW = 4  # panels, one below the other in a column; more are two side by side
_width: ContextVar[float | None] = ContextVar("paper", default=None)


@contextlib.contextmanager
def on_paper(width: float) -> Iterator[None]:
    """Draw figures of this width in inches, with letters of 8 points, and of 9 in titles."""
    token = _width.set(width)
    try:
        yield
    finally:
        _width.reset(token)


def paper() -> float | None:
    """Return the width of a figure for a paper; None where figures have their own."""
    return _width.get()


def points(size: float) -> float:
    """Return the size in points of letters that have this size on the screen."""
    return size if paper() is None else _TITLES if size > TEXT else _ON_PAPER


def across(panels: int, limit: int) -> int:
    """Return the largest number of panels side by side, of those that a figure asks for."""
    width = paper()
    if width is None or width > PAPERS["column"]:
        return limit
    return 1 if panels <= _FEW else min(limit, 2)


def scaled(style: Any) -> Any:
    """Return settings of matplotlib with the sizes of letters that are drawn."""
    sized = {name: points(v) for name, v in style.items() if name.endswith(("size", ".fontsize"))}
    return style | sized
