"""Sizes of letters and figures at printed size, and those of a drawing for a paper."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple

TEXT, HEADING, TITLE, SMALL = 7.0, 7.5, 9.0, 6.5  # points, at printed size
LETTER = 0.56 / 72  # inches per point of font size: the width of a letter
_FEW = 4  # panels, one below the other in a column; more are two side by side


class Paper(NamedTuple):
    """How a journal wants figures: width in inches, letters and titles in points, a grid or not."""

    width: float
    letters: float = 8.0
    titles: float = 9.0
    grid: bool = True


PAPERS = {
    "column": Paper(3.3),
    "page": Paper(6.8),
    "nature": Paper(7.2, letters=7.0, titles=7.0, grid=False),  # 183 mm
}
_paper: ContextVar[Paper | None] = ContextVar("paper", default=None)


@contextlib.contextmanager
def on_paper(kind: Paper) -> Iterator[None]:
    """Draw figures for a paper."""
    token = _paper.set(kind)
    try:
        yield
    finally:
        _paper.reset(token)


def paper() -> Paper | None:
    """Return the paper that is drawn for; None where figures have their own sizes."""
    return _paper.get()


def points(size: float) -> float:
    """Return the size in points of letters that have this size on the screen."""
    if (kind := paper()) is None:
        return size
    return kind.titles if size > TEXT else kind.letters


def across(panels: int, limit: int) -> int:
    """Return the largest number of panels side by side, of those that a figure asks for."""
    kind = paper()
    if kind is None or kind.width > PAPERS["column"].width:
        return limit
    return 1 if panels <= _FEW else min(limit, 2)


def scaled(style: Any) -> Any:
    """Return settings of matplotlib with the sizes of letters that are drawn."""
    sized = {name: points(v) for name, v in style.items() if name.endswith(("size", ".fontsize"))}
    return style | sized
