"""A corpus that lies wherever Python does: the sources of its standard library, as bytes.

Files by path; about one in seven is held out. Tests, encodings and the text of the help system are
left out. A token is a byte below 128; any other byte is read as "?".
"""

import functools
import sysconfig
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

VOCABULARY = 128
LEFT_OUT = {"test", "tests", "idle_test", "encodings", "pydoc_data", "site-packages"}


class Corpus(NamedTuple):
    """Tokens to train and calibrate on, tokens of other files to evaluate on."""

    train: np.ndarray
    heldout: np.ndarray


@functools.cache
def corpus() -> Corpus:
    """The standard library of the running Python."""
    root = Path(sysconfig.get_paths()["stdlib"])
    parts: tuple[list[bytes], list[bytes]] = ([], [])
    for file in sorted(root.rglob("*.py")):
        relative = file.relative_to(root)
        if not LEFT_OUT.intersection(relative.parts):
            parts[zlib.crc32(relative.as_posix().encode()) % 7 == 0].append(file.read_bytes())
    return Corpus(*(tokens(b"\n".join(part)) for part in parts))


def tokens(text: bytes) -> np.ndarray:
    """Bytes as tokens below 128."""
    values = np.frombuffer(text, np.uint8)
    return np.where(values < VOCABULARY, values, ord("?")).astype(np.int32)


def windows(stream: np.ndarray, count: int, length: int, seed: int) -> np.ndarray:
    """(count, length) windows that start anywhere."""
    starts = np.random.default_rng(seed).integers(0, len(stream) - length + 1, count)
    return stream[starts[:, None] + np.arange(length)]


def evenly(stream: np.ndarray, count: int, length: int) -> np.ndarray:
    """(count, length) windows at equal distances."""
    starts = np.linspace(0, len(stream) - length, count).astype(int)
    return stream[starts[:, None] + np.arange(length)]
