"""The theory that a user means: a record, a module, a name or a file."""

import hashlib
import importlib
import os
from pathlib import Path

import pytest
from helpers.worked_example import EXAMPLE, MODULE, THEORY, Config

from jaxtheory import InputError
from jaxtheory.cli.templates import template
from jaxtheory.core import plugins
from jaxtheory.core.resolve import file_of, named_theory, python_of, recorded_theory, theory_of
from jaxtheory.theories import random_walk


def test_a_record_a_module_and_a_name_mean_the_same_theory():
    assert theory_of(THEORY) is theory_of(MODULE) is THEORY
    assert theory_of(random_walk) is theory_of("random_walk") is random_walk.THEORY


def test_a_file_without_its_suffix_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    for name in ("modular", "own/modular"):
        (tmp_path / f"{name}.py").write_text("THEORY = 3\n")
        with pytest.raises(InputError, match=f"unknown theory '{name}'; did you mean {name}.py"):
            theory_of(name)
    with pytest.raises(InputError, match="the nearest of"):
        theory_of("m" * 5000)
    (tmp_path / "own" / "__init__.py").touch()
    with pytest.raises(InputError, match=r"did you mean own/__init__.py\? A package is known by"):
        theory_of("own")


def test_a_file_is_loaded_anew_but_for_a_config_of_its_loaded_module(monkeypatch):
    monkeypatch.setattr(plugins, "_texts", {})
    for path in (EXAMPLE, str(EXAMPLE)):
        assert theory_of(path).Config is not Config
        monkeypatch.setitem(__import__("sys").modules, MODULE.__name__, MODULE)
        assert theory_of(path, Config()) is THEORY


def test_what_is_not_a_theory_is_refused(tmp_path):
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(InputError, match=r"empty\.py: defines no THEORY"):
        theory_of(tmp_path / "empty.py")
    with pytest.raises(InputError, match="numpy: defines no THEORY"):
        theory_of(__import__("numpy"))
    with pytest.raises(InputError, match="theory is a int"):
        theory_of(3)
    with pytest.raises(InputError, match=r"nowhere\.py: no such file"):
        theory_of("nowhere.py")
    with pytest.raises(InputError, match="unknown theory 'random_wak'; did you mean 'random_walk'"):
        named_theory("random_wak")


OWN = "from jaxtheory.cli.templates.template import THEORY\nTHEORY = THEORY._replace(name='own')\n"


@pytest.fixture
def user_theory(tmp_path):
    """A user's file, its theory and its record."""
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return (
        file,
        theory_of(file),
        {"file": str(file), "sha256": hashlib.sha256(OWN.encode()).hexdigest()},
    )


def test_the_file_of_a_theory_is_known_with_its_contents(user_theory):
    _, theory, record = user_theory
    assert file_of(theory) == record
    assert file_of(theory._replace(problem=lambda key, config: None)) == record
    assert recorded_theory("own", record).name == "own"
    assert recorded_theory("random_walk") is random_walk.THEORY


def test_other_theories_have_no_file(user_theory):
    _, theory, _ = user_theory
    assert file_of(random_walk.THEORY) is None
    assert file_of(theory._replace(loss=lambda params, batch, problem, config: 0.0)) is None
    assert file_of(theory._replace(name="other")) is None


def test_a_file_that_imports_a_theory_of_the_catalog_is_not_its_home(tmp_path):
    file = tmp_path / "figure_of_mine.py"
    file.write_text("from jaxtheory.theories.random_walk import THEORY\n")
    theory = theory_of(file)
    assert theory is random_walk.THEORY and file_of(theory) is None
    assert python_of(theory) == "jaxtheory.theories.get('random_walk')"


def test_a_module_that_a_script_imports_has_its_file(tmp_path, monkeypatch):
    (tmp_path / "imported_one.py").write_text(Path(template.__file__).read_text())
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("imported_one")
    record = file_of(module.THEORY)
    assert record is not None and record["file"] == str(tmp_path / "imported_one.py")


@pytest.mark.parametrize(
    ("edit", "phrase"),
    [
        (lambda file: file.write_text(OWN + "\n"), "which has changed since (its SHA-256 was "),
        (lambda file: file.unlink(), "which does not exist here"),
        (lambda file: (file.unlink(), file.mkdir()), "which does not exist here"),
        (lambda file: (file.unlink(), os.mkfifo(file)), "which does not exist here"),
        (lambda file: (file.unlink(), file.symlink_to("no")), "which does not exist here"),
    ],
)
def test_a_file_that_is_not_the_recorded_one_is_not_executed(user_theory, edit, phrase):
    file, _, record = user_theory
    edit(file)
    with pytest.raises(InputError) as caught:
        recorded_theory("own", record)
    message = str(caught.value)
    assert f"the theory 'own' is defined in {file}, {phrase}" in message and "\n" not in message
    assert "theory= in Python" in message and "--theory FILE.py" in message


@pytest.mark.parametrize(
    "record",
    [
        {},
        [],
        "x",
        3,
        {"file": 3, "sha256": "a"},
        {"file": "own.py", "sha256": "a"},
        {"file": "/a\0b", "sha256": "a"},
        {"file": "/" + "x" * 5000, "sha256": "a"},
    ],
)
def test_a_damaged_record_is_one_line(record):
    with pytest.raises(InputError, match=r"\A[^\n]*pass the theory as theory=[^\n]*\Z"):
        recorded_theory("own", record)


def test_a_file_of_another_user_is_not_executed(user_theory, monkeypatch):
    _, _, record = user_theory
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    status = os.stat_result((0o100644, 1, 1, 1, 999, 0, 9, 0, 0, 0))
    monkeypatch.setattr(Path, "stat", lambda self, **_: status)
    with pytest.raises(InputError, match="belongs to another user and is not executed"):
        recorded_theory("own", record)


def test_a_name_with_another_theory_in_the_file_and_a_name_that_is_a_path_are_refused(user_theory):
    file, _, record = user_theory
    with pytest.raises(InputError, match="whose THEORY is 'own'"):
        recorded_theory("other", record)
    with pytest.raises(InputError, match=r"neither ships nor is installed.*--theory FILE\.py"):
        recorded_theory(str(file))


def test_python_code_gives_the_theory(user_theory):
    file, theory, _ = user_theory
    assert python_of(theory) == f"jaxtheory.theories.load('{file}').THEORY"
    assert python_of(random_walk.THEORY) == "jaxtheory.theories.get('random_walk')"
    changed = random_walk.THEORY._replace(loss=lambda params, batch, problem, config: 0.0)
    assert python_of(changed).startswith("THEORY  # ")
