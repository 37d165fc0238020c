"""Temporary files and folders have an owner, and those without one are removed."""

import subprocess
import sys
from pathlib import Path

import pytest

from jaxtheory.system import temporary

# what is temporary
OWNER = """
import os, socket, sys
from pathlib import Path
from jaxtheory.system.temporary import beside
os.getpid, socket.gethostname = lambda: 1, lambda: "node"
with beside(Path(sys.argv[1]) / "data") as temporary:
    temporary.mkdir()
    (temporary / "loss").write_text("")
    print(temporary, flush=True)
    sys.stdin.read()
"""


def test_a_living_owner_keeps_what_is_its_own(tmp_path: Path) -> None:
    """Also where process numbers and host names say nothing, as in two containers."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout
        temporary_ = Path(owner.stdout.readline().strip())
        temporary.tidy(tmp_path)
        assert (temporary_ / "loss").exists()
        owner.kill()
    assert (temporary_ / "loss").exists()
    temporary.tidy(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_threads_of_one_process_are_owners_too(tmp_path: Path) -> None:
    with temporary.beside(tmp_path / "data") as mine:
        mine.write_text("")
        temporary.tidy(tmp_path)
        assert mine.exists()
    assert list(tmp_path.iterdir()) == []


def test_only_temporary_folders_of_ours_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".tmp-of-mine").mkdir()
    (tmp_path / ".tmp-0123456789abcdef").mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / ".tmp-fedcba9876543210").symlink_to(tmp_path / "kept")
    temporary.tidy(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {".tmp-of-mine", ".tmp-fedcba9876543210", "kept"}


def test_an_owner_whose_folder_is_removed_before_it_locks_takes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, flock = [], temporary.flock

    def slow(file: int, wait: bool) -> None:
        if wait and not found:
            found.extend(tmp_path.iterdir())
            temporary.tidy(tmp_path)
        flock(file, wait)

    monkeypatch.setattr(temporary, "flock", slow)
    with temporary.beside(tmp_path / "data") as mine:
        mine.write_text("")
        assert found and not found[0].exists() and mine.parent != found[0]


def test_without_locks_nothing_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def none(*_: object) -> None:
        raise OSError("no locks here")

    monkeypatch.setattr(fcntl, "flock", none)
    with temporary.beside(tmp_path / "data") as mine:
        mine.write_text("")
        temporary.tidy(tmp_path)
        assert mine.exists()
