"""Encode the part of a chunk as bytes with a checksum.

The checksum covers the arrays, the mark of the store and the name of the part, so that a part of
another store, or one under another part's name, is recognized as damaged.
"""

import hashlib
import io

import numpy as np

from jaxtheory.core.errors import InputError
from jaxtheory.engine.compute.part import Part
from jaxtheory.system.npz import arrays_of

_LENGTH = hashlib.sha256().digest_size


def encode_part(part: Part, mark: str, name: str) -> bytes:
    """Return the bytes of a part under a name in the store with this mark."""
    buffer = io.BytesIO()
    np.savez(
        buffer, allow_pickle=False, **{"point": part.point, "place": part.place, **part.values}
    )
    data = buffer.getvalue()
    return _checksum(data, mark, name) + data


def whole(packed: bytes, mark: str, name: str) -> bool:
    """True if `encode_part` made these bytes for this name and mark."""
    return _checksum(packed[_LENGTH:], mark, name) == packed[:_LENGTH]


def decode_part(packed: bytes, mark: str, name: str) -> Part | None:
    """Return the part, or None unless `encode_part` made these bytes for this name and mark."""
    if not whole(packed, mark, name):
        return None
    try:
        values = arrays_of(io.BytesIO(packed[_LENGTH:]))
        return Part(values.pop("point"), values.pop("place"), values)
    except (InputError, KeyError):
        return None


def _checksum(data: bytes, mark: str, name: str) -> bytes:
    """SHA-256 of a store's mark, a part's name and its arrays."""
    checksum = hashlib.sha256(f"{mark} {name}\n".encode())
    checksum.update(data)
    return checksum.digest()
