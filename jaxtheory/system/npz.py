"""Arrays by name from an .npz file, whatever its bytes are: no pickle is loaded, and no more memory
is taken than the file has numbers for.
"""

import io
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from jaxtheory.core.errors import InputError, line
from jaxtheory.system import disk, machine

_NPY, _SUFFIX = b"\x93NUMPY", ".npy"


def read_npz(file: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, which `numpy.savez` writes.

    Args:
        file: Path of the file.

    Returns:
        The arrays by name.

    Raises:
        InputError: if the file cannot be read, is not an .npz file, or is damaged.

    Example:
        >>> numpy.savez("walks.npz", labels=labels)
        >>> jaxtheory.system.npz.read_npz(Path("walks.npz"))["labels"]
    """
    try:
        with disk.open_regular(file) as handle:
            return arrays_of(handle)
    except OSError as error:
        why = error.strerror or str(error)
    except InputError as error:
        why = str(error)
    raise InputError(f"{file}: not an .npz file of arrays ({why})")


def arrays_of(handle: io.BufferedIOBase) -> dict[str, np.ndarray]:
    """The arrays of an open .npz file. Raises InputError."""
    begin = handle.read(len(_NPY))
    if not begin:
        raise InputError("it is empty")
    if begin == _NPY:
        raise InputError("it is an .npy file of one array; numpy.savez writes arrays by name")
    if not begin.startswith(b"PK"):
        raise InputError("numpy.savez writes such files")
    handle.seek(0)
    try:
        with zipfile.ZipFile(handle) as archive:
            members = archive.infolist()
            held, room = sum(member.file_size for member in members), machine.memory()
            if room and held > room:
                raise InputError(
                    f"the arrays take {machine.bytes_text(held)} and this machine has "
                    f"{machine.bytes_text(room)} of memory"
                )
            found = {}
            for member in members:
                name = member.filename.removesuffix(_SUFFIX)
                if name == member.filename or name in found:
                    raise InputError(f"{member.filename} in it is not an array of its own")
                with archive.open(member) as opened:
                    found[name] = _array_of(opened, name, member.file_size)
            return found
    except (InputError, OSError):
        raise
    except Exception as error:  # whatever zipfile and NumPy raise of damaged bytes
        raise InputError(f"it is damaged: {line(error)}") from None


def _array_of(handle: Any, name: str, size: int) -> np.ndarray:
    """The array of a member of so many bytes. Raises InputError where its header says otherwise."""
    begin = np.lib.format.read_magic(handle)
    header = np.lib.format.read_array_header_1_0
    if begin != (1, 0):
        header = np.lib.format.read_array_header_2_0
    shape, _, dtype = header(handle)
    if dtype.hasobject:
        raise InputError(f"{name} in it holds Python objects, which are not loaded")
    declared = math.prod(shape) * dtype.itemsize
    if declared != size - handle.tell():
        raise InputError(
            f"it is damaged: {name} declares {machine.bytes_text(declared)} and has "
            f"{machine.bytes_text(max(size - handle.tell(), 0))}"
        )
    handle.seek(0)
    array = np.lib.format.read_array(handle, allow_pickle=False)
    handle.read(1)  # the end, where zipfile compares the checksum
    return array
