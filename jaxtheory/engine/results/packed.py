"""Encode the part or the states of a chunk as bytes with a checksum.

The checksum covers the arrays, the mark of the store and the name of the file, so that a file of
another store, or one under another file's name, is recognized as damaged.
"""

import hashlib
import io

import numpy as np

from jaxtheory.core.errors import InputError
from jaxtheory.engine.records import Part
from jaxtheory.system.npz import arrays_of

_LENGTH = hashlib.sha256().digest_size


def encode(arrays: dict[str, np.ndarray], mark: str, name: str) -> bytes:
    """Return the bytes of arrays under a name in the store with this mark."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    data = buffer.getvalue()
    return _checksum(data, mark, name) + data


def encode_part(part: Part, mark: str, name: str) -> bytes:
    """Return the bytes of a part under a name in the store with this mark."""
    return encode({"point": part.point, "place": part.place, **part.values}, mark, name)


def whole(packed: bytes, mark: str, name: str) -> bool:
    """True if `encode` made these bytes for this name and mark."""
    return _checksum(packed[_LENGTH:], mark, name) == packed[:_LENGTH]


def decode(packed: bytes, mark: str, name: str) -> dict[str, np.ndarray] | None:
    """Return the arrays, or None unless `encode` made these bytes for this name and mark."""
    if not whole(packed, mark, name):
        return None
    try:
        return arrays_of(io.BytesIO(packed[_LENGTH:]))
    except InputError:
        return None


def decode_part(packed: bytes, mark: str, name: str) -> Part | None:
    """Return the part, or None unless `encode_part` made these bytes for this name and mark."""
    values = decode(packed, mark, name)
    if values is None or not {"point", "place"} <= values.keys():
        return None
    return Part(values.pop("point"), values.pop("place"), values)


def _checksum(data: bytes, mark: str, name: str) -> bytes:
    """SHA-256 of a store's mark, a part's name and its arrays."""
    checksum = hashlib.sha256(f"{mark} {name}\n".encode())
    checksum.update(data)
    return checksum.digest()
