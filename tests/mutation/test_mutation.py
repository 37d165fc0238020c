"""Wrong versions of formulas are caught, by checks and by references.

Here fixed samples; `make mutation` tries all.
"""

import ast
import sys
from pathlib import Path

import pytest

import jaxtheory
from jaxtheory.theories import get

sys.path.insert(0, str(Path(__file__).parent))
import edits
import mutants
import package

THEORIES = jaxtheory.theories.names()
FUNCTIONS = [(name, function) for name in THEORIES for function in mutants.guarded(get(name))]
OFTEN = 16  # of so many functions one is tried, in `make test` one of the first theory alone
# Whose survivors are all explained; `make mutation` prints those of the others. The edits of
# random_walk take minutes, and of causal_graph the comparisons alone take more than one.
SAMPLED = (
    *("factual_recall", "group_sparse", "in_context_regression", "nearest_neighbor"),
    "task_diversity",
)
EVERY = 96  # of so many edits of the source one is tried with --all


@pytest.mark.parametrize(
    ("name", "function"),
    [
        pytest.param(*pair, marks=[pytest.mark.slow] * (i > 0))
        for i, pair in enumerate(FUNCTIONS[::OFTEN])
    ],
)
def test_factors_are_caught(name, function):
    explained = edits.equivalent(name)
    alive = [m for m in mutants.try_scaled(get(name), function) if m.killed_by is None]
    assert [m for m in alive if f"{m.function}: {m.change}" not in explained] == []


@pytest.mark.parametrize(
    ("name", "module", "function", "change"),
    [
        pytest.param(*edit, marks=[pytest.mark.slow] * (i % 6 > 0))
        for i, edit in enumerate(edits.past_survivors())
    ],
)
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


@pytest.mark.parametrize("name", THEORIES)
def test_explained_edits_exist(name):
    """An explanation names an edit that the source still has, or a factor of a function."""
    for key in edits.equivalent(name):
        place, _, change = key.partition(": ")
        module, dot, function = place.rpartition(".")
        if not dot:
            assert function in mutants.guarded(get(name)), key
            continue
        module = edits.importlib.import_module(f"jaxtheory.theories.{name}.{module}")
        assert change in [edit.change for edit in edits.edits(module, function)], key


@pytest.mark.parametrize("folder", package.FOLDERS)
def test_wrong_versions_of_the_package_are_python(folder):
    versions = package.sample(folder, 30, 0)
    assert len({wrong.name for wrong in versions}) == 30
    for wrong in versions:
        text = (package.ROOT / wrong.file).read_bytes()
        new = text[: wrong.start] + wrong.new.encode() + text[wrong.stop :]
        assert ast.dump(ast.parse(new)) != ast.dump(ast.parse(text)), wrong.name


@pytest.mark.slow
def test_wrong_versions_of_the_package_are_noticed(tmp_path):
    package.copied(tmp_path)
    first = package.of_file("jaxtheory/claims/bound.py")[0]
    assert package.killer(first, tmp_path) == "default"
    assert not package.fails(tmp_path, ["tests/claims/test_bound.py"])  # what is right
