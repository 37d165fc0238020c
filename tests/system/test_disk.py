"""Paths are names of this machine, and only regular files are read."""

import os
import socket
from pathlib import Path

import pytest

from jaxtheory import InputError
from jaxtheory.system import disk, npz


@pytest.mark.parametrize("name", ["~no-such-user", "exp::v2", "s3://bucket/a", "memory://x", " ~"])
def test_a_name_is_a_name(name: str) -> None:
    assert disk.located(name) == Path(name)


def test_a_home_is_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert disk.located("~/run") == disk.located(Path("~/run")) == tmp_path / "run"


@pytest.mark.parametrize("wrong", [5, None, b"run", "a\0b"])
def test_what_is_not_a_path_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match="is not a path"):
        disk.located(wrong)


def irregular(folder: Path) -> list[Path]:
    """A pipe, a socket, a device and a folder."""
    os.mkfifo(folder / "pipe")
    (folder / "device").symlink_to("/dev/zero")
    (folder / "folder").mkdir()
    origin = Path.cwd()
    os.chdir(folder)  # the names of sockets are short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
    os.chdir(origin)
    return [folder / name for name in ("pipe", "device", "folder", "socket")]


@pytest.mark.timeout(60)
def test_only_regular_files_are_read(tmp_path: Path) -> None:
    for file in irregular(tmp_path):
        with pytest.raises(OSError, match="Not a regular file"):
            disk.read_bytes(file)
        with pytest.raises(InputError, match="Not a regular file"):
            npz.read_npz(file)
