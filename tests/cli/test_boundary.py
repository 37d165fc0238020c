"""`jaxtheory boundary`: what it prints and writes, and what it refuses."""

import re
from pathlib import Path

import pandas as pd
import pytest

from jaxtheory.cli.main import main

QUADRATIC = str(Path(__file__).parents[1] / "helpers" / "quadratic.py")
ASKED = ["boundary", QUADRATIC, "--along", "eta", "--between", "0.1:30", "--steps", "5"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_table_for_each_point_and_a_row_for_each_run(capsys):
    words = ["--when", "distance < 1", "--over", "s=0.5,2", "--seeds", "3", "--to", "eta.csv"]
    assert main([*ASKED, *words]) == 0
    printed = capsys.readouterr().out
    assert "eta at which distance < 1 changes" in printed and "3 of 3" in printed
    rows = pd.read_csv("eta.csv")
    assert list(rows.columns[:2]) == ["scale", "seed"] and len(rows) == 6
    wide, narrow = (rows[rows.scale == s].boundary.to_numpy() for s in (0.5, 2.0))
    assert (abs(wide / narrow / 4 - 1) < 0.03).all()
    assert Path("eta.png").read_bytes().startswith(b"\x89PNG")


def test_a_property_of_ones_own(folder, capsys):
    (folder / "own.py").write_text("def far(data):\n    return data.distance.isel(step=-1) > 1\n")
    assert main([*ASKED, "--when", "own.py:far", "--seeds", "2"]) == 0
    assert "eta at which far changes" in capsys.readouterr().out


def test_runs_without_a_boundary_are_told(capsys):
    words = ["--when", "distance < 1", "--between", "0.01:0.1", "--seeds", "2"]
    assert main([*ASKED, *words]) == 0
    printed = capsys.readouterr()
    assert "2 of 2 runs have no boundary between eta = 0.01 and 0.1: 2 have" in printed.err
    assert "widen the interval" in printed.err and "none" in printed.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--when", "often"], 'must be diverged, "METRIC < NUMBER", "METRIC > NUMBER" or FILE.py'),
        (["--when", "distance < x"], "'x' is not a number"),
        (["--when", "distanc < 1"], "no metric has this name; did you mean 'distance'"),
        (["--when", "own.py:far"], "own.py"),
        (["--when", "diverged", "--between", "1"], "--between 1: must be two numbers LOW:HIGH"),
        (["--when", "diverged", "--tolerance", "0"], "tolerance = 0.0: must be a number in"),
        (["--when", "diverged", "--over", "eta=1,2"], "is an axis of over too"),
        (["--when", "diverged", "--over", "sc=1,2"], "unknown field 'sc'"),
        (["--when", "diverged", "--along", "etta"], "unknown field 'etta'; did you mean 'eta'"),
        (["--when", "diverged", "--along", "kind"], "kind is a static field"),
        (["--when", "diverged", "--between", "-2:1"], "must be positive for scale='log'"),
        (["--when", "diverged", "--between=-2:1", "--scale", "linear"], "eta"),
        (["--when", "bad.py:far"], "bad.py defines no function far"),
        (["--when", "bad.py:number"], "must return a truth value for each run"),
        (["--when", "bad.py:fails"], "when: ZeroDivisionError"),
    ],
)
def test_a_mistake_is_one_line(folder, words, message, capsys):
    (folder / "bad.py").write_text(
        "def number(data):\n    return 3\n\n\ndef fails(data):\n    return 1 / 0\n"
    )
    assert main([*ASKED, *words]) == 2
    errors = capsys.readouterr().err
    assert re.search(re.escape(message), errors.replace("\n", " ")), errors
    assert "Traceback" not in errors
