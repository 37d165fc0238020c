"""A package from outside that offers theories and figures, some of which are broken."""

from pathlib import Path

import pytest

import jaxtheory

ENTRY_POINTS = """[jaxtheory.theories]
mean = strangers.mean:THEORY
sad = strangers.absent:THEORY
number = strangers.odd:NUMBER
lost = strangers.mean:NOTHING
quits = strangers.quits:THEORY

[jaxtheory.figures]
mean_figure = strangers.mean:FIGURE
sad_figure = strangers.absent:FIGURE
number_figure = strangers.odd:NUMBER
theory_figure = strangers.mean:THEORY
"""


@pytest.fixture
def strangers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with a theory and its figure, and a theory whose module is missing."""
    package, about = tmp_path / "strangers", tmp_path / "strangers-1.0.dist-info"
    package.mkdir()
    about.mkdir()
    template = (Path(jaxtheory.__file__).parent / "cli" / "templates" / "template.py").read_text()
    (package / "__init__.py").write_text("")
    (package / "odd.py").write_text("NUMBER = 3")
    (package / "quits.py").write_text("import sys\nsys.exit('two\\nlines')")
    (package / "mean.py").write_text(template.replace('"template"', '"mean"'))
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
