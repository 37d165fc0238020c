"""Windows of tokens of equal length from UTF-8 files, by the tokenizer of a checkpoint."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxtheory.core.errors import InputError
from jaxtheory.llama import files
from jaxtheory.llama.tokenizer import encode

__all__ = ["Windows", "encode", "read_corpus", "windows"]

_HELDOUT = 5  # the last 1/_HELDOUT of the tokens is kept for evaluation


class Windows(NamedTuple):
    """Calibration windows (samples, length) and held-out windows (count, length), integers."""

    calibration: np.ndarray
    heldout: np.ndarray


def read_corpus(path: str | Path) -> str:
    """Read a file, or all files in a folder and below it, sorted by name and joined by newlines.

    Line ends and byte order marks are not changed. InputError is raised for a path that is missing,
    an empty folder, and files that are not regular or not UTF-8.
    """
    path = Path(path)
    if path.is_dir():
        paths = sorted(f for f in path.rglob("*") if f.is_file())
        if not paths:
            raise InputError(f"{path}: is a folder without files; choose one with text")
    elif not path.exists():
        raise InputError(f"{path}: no such file or folder; choose a text")
    else:
        paths = [path]
    return "\n".join(map(files.text, paths))


def windows(tokens: np.ndarray, samples: int, length: int, evaluated: int, key: int) -> Windows:
    """Draw windows for calibration and choose windows for evaluation.

    `samples` windows start at random places in the first four fifths of the tokens. At most
    `evaluated` windows, which do not overlap, are evenly spread over the rest. InputError is raised
    if a part is shorter than one window, or an argument is too small.
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
            f"(1/{_HELDOUT} is kept for evaluation); use more text or a shorter window"
        )
    if samples > len(first):
        raise InputError(
            f"samples = {samples}: the text has {len(first)} tokens for calibration; use more "
            "text or fewer windows"
        )
    starts = np.random.default_rng(key).integers(0, len(first) - length + 1, samples)
    count = min(evaluated, len(rest) // length)
    side_by_side = np.linspace(0, len(rest) // length - 1, count).astype(int) * length
    steps = np.arange(length)
    return Windows(first[starts[:, None] + steps], rest[side_by_side[:, None] + steps])
