"""Files and folders that a command cannot read: one line, whatever is wrong with them."""

import os
from pathlib import Path

import pytest

from jaxtheory.cli.main import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


KINDS = [
    "",
    "x" * 300,
    "x" * 5000,
    "a\0b",
    "folder.py",
    "pipe.py",
    "loop.py",
    "file/x.py",
    "\udcff",
]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    "words",
    [
        *("plan {} --steps 2", "verify {} --seeds 1", "run {}", "show {}", "report {}"),
        *("export {} --format csv", "explore {}", "merge {} {} --to m", "rerun {}"),
        *("rerun folder.py --theory {}", "prune {} --to p --text file", "explore {} --to e.html"),
        *("plan random_walk --steps 2 --data {}", "plan random_walk --steps 2 --stop {}.py:f"),
        *("plan random_walk --steps 2 --observe {}.py:f", "prune folder.py --to {} --text file"),
        *("prune folder.py --to p --text {}", "new {}"),
    ],
)
def test_a_place_that_cannot_be_read_is_refused_in_one_line(
    words: str, name: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    (folder / "folder.py").mkdir()
    (folder / "file").touch()
    os.mkfifo(folder / "pipe.py")
    (folder / "loop.py").symlink_to("loop.py")
    assert main([word.replace("{}", name) for word in words.split()]) == 2
    errors = capsys.readouterr().err
    assert len(errors.splitlines()) == 1 and "\0" not in errors and "OSError" not in errors
