"""The template of `jaxtheory new` with one line changed, and the line that a command ends in."""

from pathlib import Path

import pytest

import jaxtheory
from jaxtheory.cli.main import main

SOURCE = (Path(jaxtheory.__file__).parent / "cli" / "templates" / "template.py").read_text()
EXAMPLE = "Settings(dimension=3, batch_size=2)"


def refused(words: list[str], message: str, capsys: pytest.CaptureFixture) -> None:
    """Assert that a command fails with a one-line error."""
    assert main(words) == 2
    errors = capsys.readouterr().err
    assert message in errors and "mine" in errors and len(errors.splitlines()) == 1


def spoilt(right: str, wrong: str) -> str:
    """The template with one line changed."""
    assert right in SOURCE
    return SOURCE.replace(right, wrong).replace('name="template"', 'name="mine"')
