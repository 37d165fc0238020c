"""Copies of figures in one file: each stands alone, and runs the same sweep."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.some import some

import jaxtheory
from jaxtheory import InputError, figures
from jaxtheory.claims import arguments
from jaxtheory.cli.copied import one_file

FILES = figures.files()
TRICKY = (
    "network_patterns",
    "network_pruning",
    "bigram_stage_two",
    "groups_margin",
    "llama_table",
)


def plain(value):
    """A value that equal sweeps have in common: functions by name, arrays as lists."""
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "__array__"):
        return np.asarray(value).tolist()
    return getattr(value, "__name__", type(value).__name__) if callable(value) else repr(value)


@pytest.mark.parametrize("name", some(FILES, *figures.headlines(), *TRICKY))
def test_a_copy_is_the_same_figure_under_another_name(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(one_file(FILES[name], name, "mine"))
    text = file.read_text()
    assert "from ." not in text and text.startswith('"""') and text.endswith(")\n")
    copy, figure = jaxtheory.theories.load(file).FIGURE, figures.get(name)
    assert copy.name == "mine" and copy.source == figure.source
    for quick in (False, True):
        assert plain(arguments(copy, quick)) == plain(arguments(figure, quick))
    assert [(c.id, c.bound, c.statement) for c in copy.claims] == [
        (c.id, c.bound, c.statement) for c in figure.claims
    ]


@pytest.mark.slow
def test_copies_define_all_names_that_they_use(tmp_path: Path) -> None:
    """Also in the bodies of functions that no test calls; nothing is imported without a use."""
    for name, file in FILES.items():
        (tmp_path / f"my_{name}.py").write_text(one_file(file, name, f"my_{name}"))
    linter = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache"]
    rules = ["--select", "F,E9", "--ignore", "F722", str(tmp_path)]
    done = subprocess.run([*linter, *rules], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


SHARED = '''"""Shared."""

import math

from ._deep import base as foundation

LIMIT = 3


def twice(x):
    """2 x."""
    return math.ceil(2 * x) + foundation()


# how far
def unused():
    return LIMIT
'''
OWN = '''"""Is it so?"""

from . import twice as double
from ._deep import base

LIMIT = 5  # ours
FIGURE = ("name", double(LIMIT), base())
make = dict(name="own", other="own")
'''
DEEP = "import os.path\n\nLIMIT = 10\n\n\ndef base():\n    return LIMIT + len(os.path.sep)\n"


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return folder / "own.py"


def test_definitions_are_taken_from_file_to_file_and_keep_apart(tmp_path: Path) -> None:
    text = one_file(write(tmp_path, __init__=SHARED, _deep=DEEP, own=OWN), "own", "new")
    space: dict = {}
    exec(text, space)
    assert space["FIGURE"] == ("name", 21, 11) and space["make"] == {"name": "new", "other": "own"}
    assert "SHARED_LIMIT = 10" in text and "LIMIT = 5  # ours" in text and "unused" not in text
    assert text.index("def base") < text.index("def twice")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from . import nothing\n", "defines no nothing; copy the figure by hand"),
        ("from .missing import x\n", "missing.py: no such file"),
    ],
)
def test_what_is_not_there_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    file = write(tmp_path, __init__="x = 1\n", own=text)
    with pytest.raises(InputError, match=message):
        one_file(file, "own", "new")
