"""Drawings for a paper: their width, their letters, and PGF with and without LaTeX."""

import io
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.image import imread

from jaxtheory import plot
from jaxtheory.plotting.annotation.sizes import PAPERS, on_paper
from jaxtheory.plotting.drawing import for_paper

# what matplotlib asks a LaTeX for: a start, then the size of each text
LATEX = """#!{python}
import sys
print("*pgf_backend_query_start")
print("*", end="", flush=True)
for line in sys.stdin:
    if "@@end" in line:
        break
    if "wd0" in line:
        print("5.0pt,5.0pt,1.0pt\\n")
        print("*", end="", flush=True)
"""


def draw() -> plot.Drawing:
    figure, axes = plot.panels(3, title="a title of a figure that does not fit into a column")
    values = xr.DataArray(np.ones((6, 2)), {"step": [0, 1]}, dims=("seed", "step"))
    for ax in axes[0]:
        plot.series(ax, values, "step", "loss")
        plot.finish(ax, "step", "loss")
    return figure


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder with commands."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def command(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o755)


@pytest.mark.parametrize(("paper", "width"), [("column", 3.3), ("page", 6.8)])
def test_without_latex_there_is_no_pgf(paper: str, width: float, tools: Path) -> None:
    said: list[str] = []
    files = for_paper(draw, paper, said.append)
    assert said == ["no PGF file, as no LaTeX was found (lualatex, xelatex, pdflatex)"]
    assert sorted(files) == ["pdf", "png", "txt"]
    image = files["png"]
    assert isinstance(image, bytes)
    assert imread(io.BytesIO(image), "png").shape[1] == pytest.approx(300 * width, abs=1)
    title, caption = str(files["txt"]).splitlines()
    assert title.startswith("a title") and caption.startswith("Lines: means over n = 6 seeds")


@pytest.mark.skipif(os.name == "nt", reason="a script with #! is not a command of Windows")
def test_with_latex_there_is_a_pgf(tools: Path) -> None:
    command(tools / "xelatex", LATEX.format(python=sys.executable))
    said: list[str] = []
    files = for_paper(draw, "column", said.append)
    pgf = files["pgf"]
    assert said == [] and isinstance(pgf, bytes) and b"begin{pgfpicture}" in pgf


@pytest.mark.skipif(os.name == "nt", reason="a script with #! is not a command of Windows")
def test_a_latex_that_fails_is_told(tools: Path) -> None:
    command(tools / "pdflatex", f"#!{sys.executable}\nraise SystemExit(1)\n")
    said: list[str] = []
    assert "pgf" not in for_paper(draw, "column", said.append)
    assert len(said) == 1 and said[0].startswith("no PGF file, as pdflatex fails: ")


def test_letters_are_of_8_and_9_points_and_panels_below_each_other() -> None:
    with on_paper(PAPERS["column"]):
        figure = draw()
        plot.legend_below(figure, figure.axes[0])
    assert figure.get_figwidth() == 3.3
    assert figure.axes[0].get_subplotspec().get_geometry()[:2] == (3, 1)
    texts = [text for ax in figure.axes for text in (ax.xaxis.label, *ax.get_xticklabels())]
    texts += figure.legends[0].get_texts()
    assert {text.get_fontsize() for text in texts} == {8.0}
    assert figure.texts[0].get_fontsize() == figure.axes[0].title.get_fontsize() == 9.0
    assert draw().axes[0].xaxis.label.get_fontsize() == 7.0
