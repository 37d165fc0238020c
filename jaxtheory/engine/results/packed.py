"""A part as bytes: its arrays behind a checksum of them, of the store's mark and of the part's
name, so that a part of another store, or under another part's name, does not read back.
"""

import hashlib
import io

import numpy as np

from jaxtheory.core.errors import InputError
from jaxtheory.engine.compute.part import Part
from jaxtheory.system.npz import arrays_of

_LENGTH = hashlib.sha256().digest_size


def encode_part(part: Part, mark: str, name: str) -> bytes:
    """The bytes of a part for its place in a store."""
    buffer = io.BytesIO()
    np.savez(
        buffer, allow_pickle=False, **{"point": part.point, "place": part.place, **part.values}
    )
    data = buffer.getvalue()
    return _checksum(data, mark, name) + data


def whole(packed: bytes, mark: str, name: str) -> bool:
    """True for bytes that `encode_part` made for this place in this store."""
    return _checksum(packed[_LENGTH:], mark, name) == packed[:_LENGTH]


def decode_part(packed: bytes, mark: str, name: str) -> Part | None:
    """The part, or None for other bytes than those that `encode_part` made for this place."""
    if not whole(packed, mark, name):
        return None
    try:
        values = arrays_of(io.BytesIO(packed[_LENGTH:]))
        return Part(values.pop("point"), values.pop("place"), values)
    except (InputError, KeyError):
        return None


def _checksum(data: bytes, mark: str, name: str) -> bytes:
    """SHA-256 of a store's mark, a part's name and its arrays."""
    found = hashlib.sha256(f"{mark} {name}\n".encode())
    found.update(data)
    return found.digest()
