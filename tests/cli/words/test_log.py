"""The option --log of `jaxtheory sweep`: what it writes, and what it refuses before training."""

from pathlib import Path

import pandas as pd
import pytest
from helpers.worked_example import EXAMPLE

from jaxtheory.cli.main import main
from jaxtheory.cli.words.log import combine

SWEEP = ["sweep", str(EXAMPLE), "--vary", "eta=.1,.2", "--steps", "4", "--store", "out"]
OWN = """
import helper

def log(progress):
    if progress.metrics is not None:
        helper.write(progress.step)

def wrong(progress):
    raise KeyError("here")

def many(one, two): ...
"""
HELPER = "def write(step):\n    open('told', 'a', encoding='utf-8').write(f'{step} ')\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(OWN)
    Path("helper.py").write_text(HELPER)
    return tmp_path


def test_several_logs_of_one_sweep() -> None:
    logs = ["csv:log.csv", "tensorboard:events", "own.py:log"]
    assert main([*SWEEP, *(word for log in logs for word in ("--log", log))]) == 0
    table = pd.read_csv("log.csv")
    assert set(table.step) == {0, 1, 2, 3, 4} and table.loss.notna().all()
    assert len(Path("told").read_text().split()) == len(table)
    assert list(Path("events").glob("learning_rate=*/events*"))


def test_an_error_in_a_function_of_ones_own_is_told_with_its_line(
    capsys: pytest.CaptureFixture,
) -> None:
    assert main([*SWEEP, "--log", "own.py:wrong"]) == 2
    assert capsys.readouterr().err == "--log own.py:wrong: KeyError: 'here' (own.py, line 9)\n"


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("log.csv", "--log log.csv: must be csv:FILE, tensorboard:DIR, or FILE.py:NAME"),
        ("csv:", "--log csv:: must be csv:FILE"),
        ("csv:own.py/log.csv", "log own.py/log.csv: File exists; choose a writable file"),
        ("tensorboard:own.py", "own.py: File exists; choose a writable file or folder"),
        ("absent.py:log", "absent.py: no such file"),
        ("own.py:absent", "--log own.py:absent: own.py defines no function absent"),
        ("own.py:OWN", "defines no function OWN"),
        ("own.py:many", "many must take one argument, a jaxtheory.Progress"),
        ("broken.py:log", "broken.py, line 1: ZeroDivisionError: division by zero"),
    ],
)
def test_a_log_that_cannot_be_written_is_refused_before_training(
    log: str, message: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    Path("broken.py").write_text("1 / 0\n")
    assert main([*SWEEP, "--log", log]) == 2
    error = capsys.readouterr().err
    assert message in error and len(error.splitlines()) == 1
    assert not Path("out").exists()


def test_a_sweep_that_is_refused_leaves_no_log(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert (
        main([*SWEEP, "--seeds", "0", "--log", "csv:log.csv", "--log", "tensorboard:events"]) == 2
    )
    assert "seeds = 0" in capsys.readouterr().err
    assert {file.name for file in folder.iterdir()} <= {"own.py", "helper.py"}


@pytest.mark.parametrize("executor", ["dask", "slurm"])
def test_workers_of_a_cluster_do_not_report(executor: str, capsys: pytest.CaptureFixture) -> None:
    assert main([*SWEEP, "--log", "csv:log.csv", "--executor", executor]) == 2
    said = f"--log csv:log.csv does not apply to --executor {executor}, whose workers do not report"
    assert capsys.readouterr().err.startswith(said)


def test_functions_are_called_together() -> None:
    calls: list[str] = []
    one, two = (lambda event, name=name: calls.append(f"{name}{event}") for name in "ab")
    assert combine(None) is None and combine(None, one) is one
    call = combine(one, None, two)
    assert call is not None
    call(1)
    assert calls == ["a1", "b1"]
