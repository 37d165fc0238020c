"""Arrays from an untrusted .npz file.

No pickle is loaded, and no more memory is allocated than the file has numbers for.
"""

import io
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from jaxtheory.system import disk, machine
from jaxtheory.texts.errors import InputError, line

_NPY, _SUFFIX = b"\x93NUMPY", ".npy"


def read_npz(file: Path) -> dict[str, np.ndarray]:
    """Read the arrays of an .npz file, as written by `numpy.savez`.

    Args:
        file: Path of the file.

    Returns:
        The arrays by name.

    Raises:
        InputError: The file cannot be read, is not an .npz file, or is damaged.

    Example:
        >>> np.savez("walks.npz", labels=[0, 1])
        >>> read_npz(Path("walks.npz"))["labels"].tolist()
        [0, 1]
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
    """Return the arrays of an open .npz file. Raises InputError."""
    begin = handle.read(len(_NPY))
    if not begin:
        raise InputError("it is empty")
    if begin == _NPY:
        raise InputError("it is an .npy file of one array; write an .npz file with numpy.savez")
    if not begin.startswith(b"PK"):
        raise InputError("write one with numpy.savez")
    handle.seek(0)
    try:
        with zipfile.ZipFile(handle) as archive:
            members = archive.infolist()
            needed, available = sum(member.file_size for member in members), machine.memory()
            if available and needed > available:
                raise InputError(
                    f"the arrays take {machine.bytes_text(needed)} and this machine has "
                    f"{machine.bytes_text(available)} of memory"
                )
            arrays = {}
            for member in members:
                name = member.filename.removesuffix(_SUFFIX)
                if name == member.filename or name in arrays:
                    raise InputError(f"its entry {member.filename} is not an array, or is repeated")
                with archive.open(member) as content:
                    arrays[name] = _array_of(content, name, member.file_size)
            return arrays
    except (InputError, OSError):
        raise
    except Exception as error:  # zipfile and NumPy raise many types for damaged bytes
        raise InputError(f"it is damaged: {line(error)}") from None


def _array_of(handle: Any, name: str, size: int) -> np.ndarray:
    """Return the array of an entry of `size` bytes. Raises InputError if its header disagrees."""
    begin = np.lib.format.read_magic(handle)
    header = np.lib.format.read_array_header_1_0
    if begin != (1, 0):
        header = np.lib.format.read_array_header_2_0
    shape, _, dtype = header(handle)
    if dtype.hasobject:
        raise InputError(f"its array {name} holds Python objects, which are not loaded")
    declared = math.prod(shape) * dtype.itemsize
    if declared != size - handle.tell():
        raise InputError(
            f"it is damaged: {name} declares {machine.bytes_text(declared)} but has "
            f"{machine.bytes_text(max(size - handle.tell(), 0))}"
        )
    handle.seek(0)
    array = np.lib.format.read_array(handle, allow_pickle=False)
    handle.read(1)  # at the end zipfile verifies the checksum
    return array
