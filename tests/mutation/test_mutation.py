"""Wrong versions of formulas are caught: by the checks that name them, and by the references.

Here fixed samples of the mistakes written by hand (`mutants.py` says which) and of those made from
the source (`edits.py`); `make mutation` tries all, and every function times a factor.
"""

import ast
import sys
from pathlib import Path

import pytest

import jaxtheory
from jaxtheory.theories import get
from tests.reference.entries import THEORIES

sys.path.insert(0, str(Path(__file__).parent))
import edits
import mutants
import package

ROWS = [(name, *row) for name in jaxtheory.theories.names() for row in mutants.rows_of(name).ROWS]
OFTEN = 8  # of so many mistakes one is tried in every run, and two with --all
# whose survivors are all explained; those of the others `make mutation` prints
EXPLAINED = [name for name in THEORIES if edits.equivalent(name)]
# those of random_walk take minutes, and of causal_graph the comparisons alone, line by line, take
# more than one
SAMPLED = [name for name in EXPLAINED if name not in ("random_walk", "causal_graph")]
EVERY = 48  # of so many edits of the source one is tried with --all
PARAMS = [
    pytest.param(
        *row,
        id=f"{row[0]}-{row[3]}-{row[4].__name__}-{i}",
        marks=[pytest.mark.slow] * (i % OFTEN > 0),
    )
    for i, row in enumerate(ROWS)
    if i % (OFTEN // 2) == 0
]
KNOWN = [  # that once nothing noticed: module, function, edit; the first of each theory always
    pytest.param(name, *row, marks=[pytest.mark.slow] * (i > 0))
    for name in THEORIES
    for i, row in enumerate(mutants.rows_of(name).KNOWN)
]


@pytest.mark.parametrize(("name", "theory", "module", "function", "wrong"), PARAMS)
def test_caught(name, theory, module, function, wrong):
    assert theory == name
    mutant = mutants.try_row(get(theory), module, function, wrong)
    explained = getattr(mutants.rows_of(name), "EXPLAINED", {})
    assert mutant.killed_by or f"{mutant.function}: {mutant.change}" in explained


@pytest.mark.parametrize(("name", "module", "function", "change"), KNOWN)
def test_known_edits_are_caught(name, module, function, change):
    assert edits.try_known(name, module, function, change).killed_by


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLED)
def test_edits_are_caught(name):
    """One of EVERY."""
    explained = edits.equivalent(name)
    alive = [m for m in edits.try_edits(name, EVERY) if m.killed_by is None]
    names = [f"{m.function}: {m.change}" for m in alive]
    assert [key for key in names if key not in explained] == []


@pytest.mark.parametrize("name", EXPLAINED)
def test_explained_edits_exist(name):
    """An explanation names an edit that the source still has."""
    for key in edits.equivalent(name):
        place, _, change = key.partition(": ")
        module, _, function = place.rpartition(".")
        module = edits.importlib.import_module(f"jaxtheory.theories.{name}.{module}")
        assert change in [edit.change for edit in edits.edits(module, function)], key


@pytest.mark.parametrize("folder", package.FOLDERS)
def test_wrong_versions_of_the_package_are_python(folder):
    found = package.sample(folder, 30, 0)
    assert len({wrong.name for wrong in found}) == 30
    for wrong in found:
        text = (package.ROOT / wrong.file).read_bytes()
        new = text[: wrong.start] + wrong.new.encode() + text[wrong.stop :]
        assert ast.dump(ast.parse(new)) != ast.dump(ast.parse(text)), wrong.name


@pytest.mark.slow
def test_wrong_versions_of_the_package_are_noticed(tmp_path):
    package.copied(tmp_path)
    first = package.of_file("jaxtheory/claims/bound.py")[0]
    assert package.killer(first, tmp_path) == "default"
    assert not package.fails(tmp_path, ["tests/claims/test_bound.py"])  # what is right
