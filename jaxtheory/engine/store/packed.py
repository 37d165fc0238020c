"""Encode the part or the states of a chunk as bytes with a checksum.

    SHA-256 of what follows, of the mark and of the name | a note as one line of JSON | .npz

The mark is that of the rectangle of runs, so that a file of another rectangle, or one under another
file's name, is recognized as damaged. The note tells the software that computed the arrays.
"""

import hashlib
import io
import json
from typing import Any, NamedTuple

import numpy as np

from jaxtheory.system.npz import arrays_of
from jaxtheory.texts.errors import InputError

_LENGTH = hashlib.sha256().digest_size


class Packed(NamedTuple):
    """Arrays by name, and the note that was encoded with them."""

    arrays: dict[str, np.ndarray]
    note: dict[str, str]


def encode(arrays: dict[str, np.ndarray], mark: str, name: str, note: dict[str, str]) -> bytes:
    """Return the bytes of arrays under a name in the rectangle with this mark."""
    buffer = io.BytesIO()
    buffer.write(json.dumps(note, sort_keys=True).encode() + b"\n")
    np.savez(buffer, allow_pickle=False, **arrays)
    data = buffer.getvalue()
    return _checksum(data, mark, name) + data


def is_intact(packed: bytes, mark: str, name: str) -> bool:
    """True if `encode` made these bytes for this name and mark."""
    return _checksum(packed[_LENGTH:], mark, name) == packed[:_LENGTH]


def note_of(packed: bytes) -> dict[str, str]:
    """Return the note of intact bytes, {} if it is not one."""
    try:
        return dict(json.loads(packed[_LENGTH:].partition(b"\n")[0]))
    except (ValueError, TypeError):
        return {}


def decode(packed: bytes, mark: str, name: str) -> Packed | None:
    """Return the arrays, or None unless `encode` made these bytes for this name and mark."""
    if not is_intact(packed, mark, name):
        return None
    try:
        arrays = arrays_of(io.BytesIO(packed[_LENGTH:].partition(b"\n")[2]))
    except InputError:
        return None
    return Packed(arrays, note_of(packed))


def _checksum(data: Any, mark: str, name: str) -> bytes:
    """SHA-256 of a mark, the name of a file and its data."""
    checksum = hashlib.sha256(f"{mark} {name}\n".encode())
    checksum.update(data)
    return checksum.digest()
