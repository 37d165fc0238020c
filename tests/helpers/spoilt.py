"""The template of `jaxtheory new` with one line changed, and the line that a command ends in."""

from pathlib import Path

import pytest

import jaxtheory
from jaxtheory.cli.main import main

SOURCE = (Path(jaxtheory.__file__).parent / "cli" / "templates" / "template.py").read_text()
EXAMPLE = "Settings(dimension=3, batch_size=2)"


def refused(words: list[str], said: str, capsys: pytest.CaptureFixture) -> None:
    """Hold that a command ends in one line that says so."""
    assert main(words) == 2
    errors = capsys.readouterr().err
    assert said in errors and "mine" in errors and len(errors.splitlines()) == 1


def spoilt(right: str, wrong: str) -> str:
    """The template with one line changed."""
    assert right in SOURCE
    return SOURCE.replace(right, wrong).replace('name="template"', 'name="mine"')
