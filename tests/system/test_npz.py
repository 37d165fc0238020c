"""Arrays from .npz files, whatever their bytes are."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from jaxtheory import InputError
from jaxtheory.system import npz

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
    "text": (b"1,2,3\n4,5,6\n", "write one with numpy.savez"),
    "npy": (NPY.getvalue(), "an .npy file of one array; write an .npz"),
    "cut": (ONE[: len(ONE) // 2], "damaged"),
    "head": (ONE[:40], "damaged"),
    "flipped": (ONE[:150] + bytes([ONE[150] ^ 1]) + ONE[151:], "damaged"),
    "another zip": (zipped(text=b"hello"), "its entry text is not an array"),
    "objects": (saved(a=np.array([{}])), "holds Python objects"),
    "40 GiB": (declaring("(5368709120,)"), "a declares 40 GiB but has 64 B"),
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
        npz.read_npz(file)
    text = str(error.value)
    assert text.startswith(f"{file}: not an .npz file of arrays (") and said in text
    assert "\n" not in text and "allow_pickle" not in text


def test_every_cut_and_every_flipped_byte_is_read_or_refused(tmp_path: Path) -> None:
    file, original = tmp_path / "own.npz", npz.arrays_of(io.BytesIO(ONE))["a"]
    for at in range(len(ONE)):
        for data in (ONE[:at], ONE[:at] + bytes([ONE[at] ^ 16]) + ONE[at + 1 :]):
            file.write_bytes(data)
            try:
                contents = npz.read_npz(file)
            except InputError:
                continue
            assert all(np.array_equal(array, original) for array in contents.values())


def test_more_than_the_machine_holds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros that are packed a thousandfold, for instance."""
    np.savez_compressed(tmp_path / "own.npz", a=np.zeros(1 << 20))
    monkeypatch.setattr(npz.machine, "memory", lambda: 1 << 20)
    with pytest.raises(InputError, match=r"the arrays take 8 MiB and this machine has 1 MiB"):
        npz.read_npz(tmp_path / "own.npz")


def test_arrays_are_read_as_they_were_written(tmp_path: Path) -> None:
    arrays = {
        "a": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "b": np.array(3),
        "c": np.array(["x", "yz"]),
        "d": np.zeros((2, 0), ">i4"),
    }
    np.savez_compressed(tmp_path / "own.npz", **arrays)
    contents = npz.read_npz(tmp_path / "own.npz")
    assert contents.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(contents[name], array)
        assert contents[name].dtype == array.dtype
