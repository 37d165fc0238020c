"""Files are whole or not there."""

import errno
import os

import pytest

from jaxtheory import InputError
from jaxtheory.system import atomic


def test_a_file_is_replaced_at_once(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("before")
    with atomic._replace_atomically(file) as temporary:
        temporary.write_text("after")
        assert file.read_text() == "before" and tmp_path in temporary.parents
        assert temporary.suffix == ".txt"
    assert file.read_text() == "after" and os.listdir(tmp_path) == ["a.txt"]


def test_an_error_leaves_the_file_as_it_was(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("before")
    with pytest.raises(KeyError), atomic._replace_atomically(file) as temporary:
        temporary.write_text("half")
        raise KeyError
    assert file.read_text() == "before" and os.listdir(tmp_path) == ["a.txt"]


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    file = tmp_path / "a.txt"
    file.write_text("before")

    def full(path, data):
        path.write_bytes(data[:2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic, "synced", full)
    with pytest.raises(InputError, match="No space left on device; choose a writable folder"):
        atomic.write(file, b"after")
    assert file.read_text() == "before" and os.listdir(tmp_path) == ["a.txt"]


def test_a_link_stays(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far" / "file")
    digest = atomic.write(tmp_path / "link", "text é")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "file").read_bytes() == "text é".encode()
    assert atomic.file_hash(tmp_path / "far" / "file") == digest != ""


def test_devices_pipes_and_folders_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place, said in (("pipe", "not a regular file"), (".", "a folder")):
        with pytest.raises(InputError, match=said):
            atomic.write(tmp_path / place, "text")
    assert atomic.file_hash(tmp_path / "pipe") == atomic.file_hash(tmp_path / "none") == ""
