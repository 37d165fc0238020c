"""A drawing as the contents of its files.

No window and no backend is needed. Settings of matplotlib that make drawing fail are ignored.
"""

import contextlib
import importlib
import importlib.util
import io
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxtheory.plotting import plot
from jaxtheory.plotting.annotation.captions import preface
from jaxtheory.plotting.annotation.complete import write_count, write_letters
from jaxtheory.plotting.annotation.formulas import plain
from jaxtheory.plotting.annotation.sizes import PAPERS, on_paper, paper
from jaxtheory.plotting.panels import write_title
from jaxtheory.texts.errors import InputError, line

_IGNORED = "drawn with the default settings of matplotlib, as yours fail: {}"
_TEX = ("lualatex", "xelatex", "pdflatex")
# without dates, so that equal drawings have equal bytes
_FILES: Any = {"svg.hashsalt": "jaxtheory", "pdf.fonttype": 42, "ps.fonttype": 42}  # TrueType
_PAPER_DOTS = 300
_UNDATED = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}


class Drawing(NamedTuple):
    """The contents of the files of a drawing by format, its numbers, its title and its caption.

    panels: left, bottom, right and top of each panel with its labels, as shares of the picture.
    """

    files: dict[str, bytes]
    numbers: list[dict[str, Any]]
    title: str
    caption: str
    panels: list[list[float]]


def drawing(
    draw: Callable[[], Any],
    formats: Sequence[str],
    tell: Callable[[str], None],
    captioned: bool = True,
    dots: int = 150,
) -> Drawing:
    """Return the files of the figure that `draw` returns, at so many dots an inch.

    Its caption is below it if it is `captioned`, else the number of seeds alone.

    The figure is drawn with the user's settings of matplotlib first. If that fails, for instance
    because LaTeX is not installed, it is drawn with the defaults of matplotlib, and `tell` is
    called with a sentence about it. If the defaults fail as well, the first error is raised.
    """
    import_matplotlib(tell)
    import matplotlib

    try:
        with _fonts_logged_once():
            return _rendered(draw, formats, captioned, dots)
    except InputError:
        raise
    except Exception as error:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            try:
                rendered = _rendered(draw, formats, captioned, dots)
            except Exception:
                raise error from None
        tell(_IGNORED.format(line(error)))
        return rendered


def for_paper(
    draw: Callable[[], Any], kind: str, tell: Callable[[str], None], more: Sequence[str] = ()
) -> dict[str, bytes | str]:
    """Return the files of a figure for a paper, such as as wide as its "column", by format.

    These are pdf, png and pgf without the caption, and as txt the caption and `more` lines. Without
    LaTeX there is no pgf, and `tell` gets a sentence that says so.
    """
    tex = next(filter(shutil.which, _TEX), None)
    with on_paper(PAPERS[kind]):
        drawn = drawing(draw, ("pdf", "png"), tell, captioned=False, dots=_PAPER_DOTS)
        text = "\n".join([drawn.title, drawn.caption, *more, ""])
        files: dict[str, bytes | str] = {**drawn.files, "txt": text}
        if tex is None:
            tell(f"no PGF file, as no LaTeX was found ({', '.join(_TEX)})")
            return files
        import matplotlib

        try:
            with matplotlib.rc_context({"pgf.texsystem": tex, "pgf.rcfonts": False}):
                files |= _rendered(draw, ("pgf",), False, _PAPER_DOTS).files
        except Exception as error:
            tell(f"no PGF file, as {tex} fails: {line(error)}")
    return files


def import_matplotlib(tell: Callable[[str], None]) -> None:
    """Import matplotlib in spite of a wrong MPLBACKEND or a broken matplotlibrc.

    A notebook, for instance, exports an MPLBACKEND that other environments do not have. `tell` is
    called with a sentence about a broken matplotlibrc. The environment variables do not change.
    """
    if "matplotlib.figure" in sys.modules:
        return
    environment = {name: os.environ.get(name) for name in ("MPLBACKEND", "MATPLOTLIBRC")}
    try:
        os.environ["MPLBACKEND"] = "agg"
        try:
            importlib.import_module("matplotlib.figure")
        except Exception as error:
            home = importlib.util.find_spec("matplotlib")
            if home is None or home.origin is None:
                raise
            for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
                del sys.modules[name]  # a failed import leaves incomplete modules
            os.environ["MATPLOTLIBRC"] = str(Path(home.origin).parent / "mpl-data" / "matplotlibrc")
            importlib.import_module("matplotlib.figure")
            tell(_IGNORED.format(line(error)))
    finally:
        for name, value in environment.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _rendered(
    draw: Callable[[], Any], formats: Sequence[str], captioned: bool, dots: int
) -> Drawing:
    """Render the files of a figure in memory."""
    import matplotlib

    drawn = draw()
    if not hasattr(drawn, "savefig"):
        raise InputError(
            f"draw returns a {type(drawn).__name__}, expected the matplotlib figure that it made"
        )
    files = {}
    text = plain(plot.caption(drawn))
    if paper():
        write_letters(drawn)
    (plot.add_caption if captioned else write_count)(drawn)
    for name in formats:
        content = io.BytesIO()
        undated: Any = {"metadata": _UNDATED[name]} if name in _UNDATED else {}
        with matplotlib.rc_context(_FILES):
            drawn.savefig(content, format=name, dpi=dots, **undated)
        files[name] = content.getvalue()
    return Drawing(files, plot.numbers(drawn), title_of(drawn), text, _places(drawn))


def _places(drawn: Any) -> list[list[float]]:
    """Return where the panels of a rendered figure are."""
    panels = [ax for ax in drawn.axes if ax.get_label() != "<colorbar>"]
    boxes = [ax.get_tightbbox().transformed(drawn.transFigure.inverted()) for ax in panels]
    return [[round(float(end), 4) for end in box.extents] for box in boxes]


def title_of(drawn: Any) -> str:
    """Return the title of a figure in one line of plain text."""
    return plain(" ".join(drawn.get_suptitle().split()))


def entitle(drawn: Any, title: str) -> None:
    """Give a figure another title; the one that it had begins its caption."""
    if topic := title_of(drawn):
        preface(drawn, f"{topic}.")
    write_title(drawn, title)


@contextlib.contextmanager
def _fonts_logged_once() -> Iterator[None]:
    """Make matplotlib report a missing font once, not at each text."""
    messages: set[str] = set()

    def new(record: logging.LogRecord) -> bool:
        before = len(messages)
        messages.add(record.getMessage())
        return len(messages) > before

    log = logging.getLogger("matplotlib.font_manager")
    log.addFilter(new)
    try:
        yield
    finally:
        log.removeFilter(new)
