"""Figures are files: no backend, LaTeX, font or settings file of the user's can lose one."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest

from jaxtheory import InputError, plot
from jaxtheory.plotting.annotation.sizes import PAPERS, on_paper
from jaxtheory.plotting.drawing import drawing

ROOT = Path(__file__).parents[2]
SCRIPT = """
import os, sys
before = dict(os.environ)
from jaxtheory import plot
from jaxtheory.plotting.drawing import drawing
def draw():
    figure, ((ax,),) = plot.panels(title="a title_1 of 50 %")
    ax.plot([1, 2], [3, 4])
    plot.finish(ax, "x_1 [%]", "y & z", "#1")
    return figure
made = drawing(draw, ("png", "pdf", "svg"), lambda said: print("said", said))
assert all(len(content) > 5000 for content in made.files.values())
assert all(os.environ.get(name) == before.get(name) for name in ("MPLBACKEND", "MATPLOTLIBRC"))
"""


def picture():
    figure, ((ax,),) = plot.panels(title="a title_1 of 50 %")
    ax.plot([1, 2], [3, 4])
    return figure


def drawn(**environment: str) -> subprocess.CompletedProcess:
    """A drawing made in a process with some settings."""
    return subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_letters_are_embedded_as_truetype():
    """Journals refuse the Type 3 fonts that matplotlib writes by default."""
    files = drawing(picture, ("pdf", "ps", "eps"), print).files
    assert b"/FontFile2" in files["pdf"] and b"/Type3" not in files["pdf"]
    assert all(b"/FontType 42" in files[kind] for kind in ("ps", "eps"))
    with on_paper(PAPERS["column"]):
        assert b"/Type3" not in drawing(picture, ("pdf",), print, captioned=False).files["pdf"]
    with matplotlib.rc_context({"pdf.fonttype": 3}):  # whatever the user's settings
        assert b"/Type3" not in drawing(picture, ("pdf",), print).files["pdf"]


@pytest.mark.parametrize("backend", ["module://no_such_module.backend_inline", "nonsense", "TkAgg"])
def test_no_backend_is_needed(backend):
    done = drawn(MPLBACKEND=backend)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_settings_that_cannot_be_read_are_left_aside(tmp_path):
    file = tmp_path / "matplotlibrc"
    file.write_bytes(b"\xff\xfe\x00")
    done = drawn(MATPLOTLIBRC=str(file))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("said drawn with the default settings of matplotlib, as yours")
    assert done.stdout.count("\n") == 1


def test_without_latex_it_is_drawn_without_latex(monkeypatch):
    monkeypatch.setenv("PATH", "")
    said: list[str] = []
    with matplotlib.rc_context({"text.usetex": True}):
        rendering = drawing(picture, ("png", "svg"), said.append)
        assert matplotlib.rcParams["text.usetex"]  # as the user has it
    assert all(len(content) > 5000 for content in rendering.files.values())
    (line,) = said
    assert "default settings" in line and "latex" in line and "\n" not in line


def test_settings_that_work_are_the_user_s():
    said: list[str] = []
    plain = drawing(picture, ("png",), said.append)
    with matplotlib.rc_context({"axes.facecolor": "red"}):
        red = drawing(picture, ("png",), said.append)
    assert plain.files != red.files and said == []


def test_a_missing_font_is_told_of_once(caplog):
    with matplotlib.rc_context({"font.family": "No Such Font"}), caplog.at_level(logging.WARNING):
        drawing(picture, ("png", "svg", "pdf"), pytest.fail)
    said = [record.getMessage() for record in caplog.records]
    assert said and len(said) == len(set(said))


def test_a_fault_of_the_drawing_itself_is_raised():
    def wrong():
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        drawing(wrong, ("png",), pytest.fail)
    with pytest.raises(InputError, match="draw returns a NoneType"):
        drawing(lambda: None, ("png",), pytest.fail)


def test_panels_are_where_the_drawing_says():
    def pair():
        figure, axes = plot.panels(2, title="title")
        for ax in axes.ravel():
            ax.plot([0, 1], [0, 1])
            plot.finish(ax, "x", "y")
        return figure

    one, two = drawing(pair, ("png",), print, captioned=False).panels
    assert 0 <= one[0] < one[2] <= two[0] < two[2] <= 1
    assert all(0 <= bottom < top < 0.95 for _, bottom, _, top in (one, two))
