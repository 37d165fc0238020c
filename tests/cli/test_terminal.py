"""What a command does with streams that are closed, full, missing, or of another encoding."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from jaxtheory.cli import terminal
from jaxtheory.cli.export import print_dataset, print_summary

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
FILE = ROOT / "docs" / "examples" / "linear_regression.py"
COMMANDS = [
    "--help",
    "list",
    "show random_walk",
    "doctor",
    f"verify {FILE} --seeds 1",
    f"sweep {FILE} --vary eta=.1,.2 --steps 2 --store kept",
]


def shell(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess:
    """A line of bash with `jaxtheory`, where a pipeline has the exit code of what failed in it."""
    command = f'set -o pipefail; jaxtheory() {{ "{sys.executable}" -m jaxtheory "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=ENVIRONMENT | variables,
        capture_output=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS, ids=lambda line: line.split()[0])
def test_a_reader_that_has_enough(command: str, tmp_path: Path) -> None:
    done = shell(f"jaxtheory {command} | true", tmp_path)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("command", ["list", "show random_walk"])
def test_a_full_device(command: str, tmp_path: Path) -> None:
    done = shell(f"jaxtheory {command} > /dev/full", tmp_path)
    assert done.returncode == 2
    assert b"No space left on device" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_streams_that_are_not_there(closed: str, tmp_path: Path) -> None:
    done = shell(f"jaxtheory {COMMANDS[-1]} {closed}", tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "kept" / "data.zarr").is_dir()
    again = shell(f"jaxtheory {COMMANDS[-1]}", tmp_path)  # nothing was written into the files
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full", "2>&1 | true"])
def test_a_mistake_has_its_code_where_nobody_reads_of_it(redirected: str, tmp_path: Path) -> None:
    done = shell(f"jaxtheory show nothing {redirected}", tmp_path)
    assert (done.returncode, done.stderr) == (2, b"")


OTHERS = [
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "latin1"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.parametrize("variables", OTHERS, ids=["ascii", "latin1", "locale"])
@pytest.mark.parametrize("command", ["list", "show random_walk"])
def test_signs_that_the_stream_cannot_show(
    command: str, variables: dict[str, str], tmp_path: Path
) -> None:
    done = shell(f"jaxtheory {command}", tmp_path, **variables)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.splitlines()) > 20 and b"?" in done.stdout


def test_a_sweep_says_all_where_signs_are_missing(tmp_path: Path) -> None:
    done = shell(f"jaxtheory {COMMANDS[-1]}", tmp_path, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"variables" in done.stdout and (tmp_path / "kept" / "data.zarr").is_dir()


ODD = "a\x1b]0;title\x07\x9b31m\rb\u202e"
SEEN = r"a\x1b]0;title\x07\x9b31m\rb\u202e"


def test_no_text_steers_the_terminal(capsys):
    terminal.put(ODD)
    terminal.say(ODD)
    terminal.table(ODD, [ODD], [[ODD]])
    terminal.table_of_lines(ODD, [ODD], [[ODD]])
    out, err = capsys.readouterr()
    assert out.count(SEEN) == 7 and err == f"{SEEN}\n"
    assert not {*"\x1b\x07\x9b\r\u202e"} & {*(out + err)}


def test_no_label_of_a_dataset_steers_the_terminal(capsys, tmp_path):
    grid = (("lab", "seed"), np.full((2, 1), -1))
    records = (("lab", "seed", "step"), np.zeros((2, 1, 1)))
    labels = {"lab": [ODD, "=b"], "seed": [0], "step": [1]}
    data = xr.Dataset({"diverged_at": grid, ODD: records}, labels)
    print_dataset(data, tmp_path / ODD)
    print_summary(data)
    out, _ = capsys.readouterr()
    assert SEEN in out and not {*"\x1b\x07\x9b\r\u202e"} & {*out}


def test_bars_show_texts_as_they_are(monkeypatch):
    monkeypatch.setattr(terminal.sys.stderr, "isatty", lambda: True, raising=False)
    with terminal.steps_progress("[/x] \x1b[2J[red]") as show:
        show("[/y]", 1, 2, 3.0)
