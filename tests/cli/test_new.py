"""`jaxtheory new --from`: a figure in one file, and what a plain copy is told."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import jaxtheory
from jaxtheory.cli.main import main

PHASE = jaxtheory.figures.files()["walk_phase"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_copied_figure_is_shown_and_runs(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["new", "mine", "--from", "walk_phase"]) == 0
    assert "mine.py: try jaxtheory run mine.py --quick" in capsys.readouterr().out
    assert main(["show", "mine.py"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("mine: For which K and p does attention select the parent")
    assert "RW-20" in shown and "fields:" not in shown
    text = (folder / "mine.py").read_text()
    (folder / "mine.py").write_text(text.replace("{P: [0.5, 0.8]}", "{P: [0.5]}"))
    assert main(["run", "mine.py", "--quick", "--store", "out"]) == 0
    assert (folder / "out" / "mine-quick.png").is_file()
    assert main(["new", "again", "--from", "mine.py"]) == 0  # a copy of a copy
    copy = (folder / "again.py").read_text()
    assert 'name="again"' in copy and "{P: [0.5]}" in copy


@pytest.mark.parametrize("command", ["run", "show", "verify", "plan"])
def test_a_plain_copy_is_told_how_it_stands_alone(command: str, folder: Path, capsys) -> None:
    shutil.copy(PHASE, folder / "my_phase.py")
    assert main([command, "my_phase.py", *["--steps", "3"] * (command == "plan")]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("my_phase.py: imports from the files beside the one")
    advice = said.partition("jaxtheory ")[2].replace("NAME", "other")
    assert advice == "new other --from walk_phase" and main(advice.split()) == 0


def test_a_plain_copy_under_a_name_of_its_own_is_told_too(folder: Path, capsys) -> None:
    (folder / "mine.py").write_text(PHASE.read_text().replace('name="walk_phase"', 'name="mine"'))
    assert main(["run", "mine.py"]) == 2
    assert capsys.readouterr().err.endswith("with jaxtheory new NAME --from FIGURE\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--from walk_phas", "--from walk_phas: unknown figure; did you mean 'walk_phase'?"),
        ("--from low_rank", "--from low_rank: choose a figure of it: attention_start, "),
        ("--from own", "--from own: unknown figure; did you mean own.py, a file?"),
        ("--from walk_phase --flax", "--flax and --from exclude each other"),
    ],
)
def test_what_cannot_be_copied_is_one_line(words: str, message: str, folder: Path, capsys) -> None:
    (folder / "own.py").write_text("")
    assert main(["new", "mine", *words.split()]) == 2
    assert message in capsys.readouterr().err and not (folder / "mine.py").exists()


def test_a_figure_has_a_name_of_its_own(capsys: pytest.CaptureFixture) -> None:
    assert main(["new", "walk_phase"]) == 2
    assert "a theory, a figure or a file of this name exists" in capsys.readouterr().err


@pytest.mark.slow
def test_a_package_is_installed_with_tests_that_pass(folder: Path, capsys) -> None:
    assert main(["new", "means", "--package"]) == 0
    assert (
        "means: try cd means, pip install --editable '.[test]', pytest" in capsys.readouterr().out
    )
    project = tomllib.loads((folder / "means" / "pyproject.toml").read_text())["project"]
    offered = project["entry-points"]
    assert offered["jaxtheory.theories"] == {"means": "means:THEORY"}
    assert offered["jaxtheory.figures"] == {"means": "means:FIGURE"}
    path = os.pathsep.join([str(folder / "means"), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "tests"],
        cwd=folder / "means",
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert main(["new", "means", "--package"]) == 2
    assert "a theory, a figure or a file of this name exists" in capsys.readouterr().err


def test_a_package_is_no_copy(folder: Path, capsys) -> None:
    assert main(["new", "mine", "--package", "--flax"]) == 2
    assert "--package excludes --flax and --from" in capsys.readouterr().err
    assert not (folder / "mine").exists()
