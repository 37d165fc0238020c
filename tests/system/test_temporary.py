"""Temporary files and folders have an owner, and those without one are removed."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxtheory.system import temporary

# what is temporary
OWNER = """
import os, socket, sys
from pathlib import Path
from jaxtheory.system.temporary import temporary_sibling
os.getpid, socket.gethostname = lambda: 1, lambda: "node"
with temporary_sibling(Path(sys.argv[1]) / "data") as temporary:
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
    with temporary.temporary_sibling(tmp_path / "data") as mine:
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
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {".tmp-of-mine", ".tmp-fedcba9876543210", "kept"}


def test_an_owner_whose_folder_is_removed_before_it_locks_takes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders, flock = [], temporary.flock

    def slow(file: int, wait: bool) -> None:
        if wait and not folders:
            folders.extend(tmp_path.iterdir())
            temporary.tidy(tmp_path)
        flock(file, wait)

    monkeypatch.setattr(temporary, "flock", slow)
    with temporary.temporary_sibling(tmp_path / "data") as mine:
        mine.write_text("")
        assert folders and not folders[0].exists() and mine.parent != folders[0]


def test_without_locks_nothing_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def none(*_: object) -> None:
        raise OSError("no locks here")

    monkeypatch.setattr(fcntl, "flock", none)
    with temporary.temporary_sibling(tmp_path / "data") as mine:
        mine.write_text("")
        temporary.tidy(tmp_path)
        assert mine.exists()


@pytest.mark.parametrize("name", ["open", "fstat", "stat", "scandir", "unlink"])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("work", ["owned", "tidy"])
def test_an_interruption_leaves_nothing_that_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, late: bool, work: str
) -> None:
    """Not even in the process that was interrupted, before or after each operation of `os`."""
    (tmp_path / ".tmp-0123456789abcdef").mkdir()
    real = getattr(os, name)

    def interrupted(*args: Any, **options: Any) -> Any:
        if pending:
            pending.clear()
            if late and name != "open":  # between `open` and its number nothing can be done
                real(*args, **options)
            raise KeyboardInterrupt
        return real(*args, **options)

    pending = [True]
    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr(os, name, interrupted)
        if work == "tidy":
            temporary.tidy(tmp_path)
        else:
            with temporary.owned(tmp_path):
                pass
    temporary.tidy(tmp_path)
    assert list(tmp_path.iterdir()) == []
