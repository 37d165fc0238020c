"""Text as windows of tokens of equal length: UTF-8 files and the tokenizer of a checkpoint."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxtheory.core.errors import InputError
from jaxtheory.llama import files
from jaxtheory.llama.tokenizer import encode

__all__ = ["Windows", "encode", "read", "windows"]

_HELDOUT = 5  # one in so many tokens, the last ones, is kept for evaluation


class Windows(NamedTuple):
    """Calibration windows (samples, length) and windows of other text (num, length), integers."""

    calibration: np.ndarray
    heldout: np.ndarray


def read(path: str | Path) -> str:
    """The text of a file, or of all files of a folder and those below it, by name, joined by
    newlines; each exactly as its bytes say, CRLF and a byte order mark included.

    Raises InputError for what is missing, empty, no regular file or no UTF-8.
    """
    path = Path(path)
    if path.is_dir():
        found = sorted(f for f in path.rglob("*") if f.is_file())
        if not found:
            raise InputError(f"{path}: a folder without files; name one with text")
    elif not path.exists():
        raise InputError(f"{path}: no such file or folder; name a text")
    else:
        found = [path]
    return "\n".join(map(files.text, found))


def windows(tokens: np.ndarray, samples: int, length: int, evaluated: int, key: int) -> Windows:
    """`samples` windows from anywhere in the first four fifths of the tokens, and at most
    `evaluated` windows that lie side by side in the rest, at equal distances.

    Raises InputError where a part is shorter than one window, or samples, length or evaluated are
    too small.
    """
    for name, value, least in (
        ("samples", samples, 1),
        ("window", length, 2),
        ("evaluate", evaluated, 1),
    ):
        if value < least:
            raise InputError(f"{name} = {value}: must be an integer in [{least}, inf)")
    border = len(tokens) - len(tokens) // _HELDOUT
    first, rest = tokens[:border], tokens[border:]
    if min(len(first), len(rest)) < length:
        raise InputError(
            f"the text has {len(tokens)} tokens: a window of {length} needs {_HELDOUT * length} "
            f"(one in {_HELDOUT} is kept for evaluation); give more text or a shorter window"
        )
    if samples > len(first):
        raise InputError(
            f"samples = {samples}: the text has {len(first)} tokens to calibrate on; give more "
            "text or fewer windows"
        )
    starts = np.random.default_rng(key).integers(0, len(first) - length + 1, samples)
    count = min(evaluated, len(rest) // length)
    side_by_side = np.linspace(0, len(rest) // length - 1, count).astype(int) * length
    steps = np.arange(length)
    return Windows(first[starts[:, None] + steps], rest[side_by_side[:, None] + steps])
