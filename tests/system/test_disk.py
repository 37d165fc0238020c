"""Paths, locks and foreign bytes: what is read never waits, and what is temporary has an owner."""

import io
import os
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from jaxtheory import InputError
from jaxtheory.system import disk, locks, npz, temporary


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
    here = Path.cwd()
    os.chdir(folder)  # the names of sockets are short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
    os.chdir(here)
    return [folder / name for name in ("pipe", "device", "folder", "socket")]


@pytest.mark.timeout(60)
def test_only_regular_files_are_read(tmp_path: Path) -> None:
    for file in irregular(tmp_path):
        with pytest.raises(OSError, match="Not a regular file"):
            disk.read(file)
        with pytest.raises(InputError, match="Not a regular file"):
            npz.read(file)


@pytest.mark.timeout(60)
def test_a_lock_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock")
    with locks.locked(tmp_path / "lock"):
        pass


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


# arrays


def saved(**arrays: object) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def declaring(shape: str, data: bytes = bytes(64)) -> bytes:
    """An .npz file whose array's header declares a shape."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    member = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.npy", member)
    return buffer.getvalue()


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


ONE = saved(a=np.arange(6.0).reshape(2, 3))
NPY = io.BytesIO()
np.save(NPY, np.arange(3))
WRONG = {
    "empty": (b"", "it is empty"),
    "text": (b"1,2,3\n4,5,6\n", "numpy.savez writes such files"),
    "npy": (NPY.getvalue(), "an .npy file of one array; numpy.savez"),
    "cut": (ONE[: len(ONE) // 2], "damaged"),
    "head": (ONE[:40], "damaged"),
    "flipped": (ONE[:150] + bytes([ONE[150] ^ 1]) + ONE[151:], "damaged"),
    "another zip": (zipped(text=b"hello"), "text in it is not an array"),
    "objects": (saved(a=np.array([{}])), "holds Python objects"),
    "40 GiB": (declaring("(5368709120,)"), "a declares 40 GiB and has 64 B"),
    "exabytes": (declaring("(1000000000, 1000000000, 1000000000)"), "damaged: a declares"),
    "negative": (declaring("(-8,)"), "damaged"),
    "nested": (declaring("(" * 3000 + ")" * 3000), "damaged"),
    "no header": (zipped(**{"a.npy": b"\x93NUMPY\x09\x09"}), "damaged"),
}


@pytest.mark.parametrize("name", WRONG)
def test_foreign_arrays_are_one_line(name: str, tmp_path: Path) -> None:
    data, said = WRONG[name]
    file = tmp_path / "own.npz"
    file.write_bytes(data)
    with pytest.raises(InputError) as error:
        npz.read(file)
    text = str(error.value)
    assert text.startswith(f"{file}: not an .npz file of arrays (") and said in text
    assert "\n" not in text and "allow_pickle" not in text


def test_every_cut_and_every_flipped_byte_is_read_or_refused(tmp_path: Path) -> None:
    file, whole = tmp_path / "own.npz", npz.arrays_of(io.BytesIO(ONE))["a"]
    for at in range(len(ONE)):
        for data in (ONE[:at], ONE[:at] + bytes([ONE[at] ^ 16]) + ONE[at + 1 :]):
            file.write_bytes(data)
            try:
                found = npz.read(file)
            except InputError:
                continue
            assert all(np.array_equal(array, whole) for array in found.values())


def test_more_than_the_machine_holds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros that are packed a thousandfold, for instance."""
    np.savez_compressed(tmp_path / "own.npz", a=np.zeros(1 << 20))
    monkeypatch.setattr(npz.machine, "memory", lambda: 1 << 20)
    with pytest.raises(InputError, match=r"it holds 8 MiB, and this machine has 1 MiB"):
        npz.read(tmp_path / "own.npz")


def test_arrays_are_read_as_they_were_written(tmp_path: Path) -> None:
    arrays = {
        "a": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "b": np.array(3),
        "c": np.array(["x", "yz"]),
        "d": np.zeros((2, 0), ">i4"),
    }
    np.savez_compressed(tmp_path / "own.npz", **arrays)
    found = npz.read(tmp_path / "own.npz")
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
