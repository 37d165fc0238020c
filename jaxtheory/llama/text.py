"""Text as windows of tokens of equal length: UTF-8 files and the tokenizer of a checkpoint."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxtheory.core.errors import InputError

HELDOUT = 5  # one in so many tokens, the last ones, is kept for evaluation


class Windows(NamedTuple):
    """Calibration windows (samples, length) and windows of other text (num, length), integers."""

    calibration: np.ndarray
    heldout: np.ndarray


def read(path: str | Path) -> str:
    """The text of a file, or of all files of a folder and those below it, by name, joined by
    newlines. Raises InputError for what is missing, empty or no UTF-8.
    """
    path = Path(path)
    files = [path] if path.is_file() else sorted(f for f in path.rglob("*") if f.is_file())
    if not files:
        raise InputError(f"{path}: no such file, or a folder without files")
    parts = []
    for file in files:
        try:
            parts.append(file.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise InputError(
                f"{file}: is no UTF-8 text ({error.reason} at byte {error.start})"
            ) from None
        except OSError as error:
            raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    return "\n".join(parts)


def encode(text: str, folder: str | Path) -> np.ndarray:
    """The tokens of a text by the tokenizer.json of a checkpoint, without special tokens."""
    path = Path(folder) / "tokenizer.json"
    if not path.is_file():
        raise InputError(f"{path}: no such file; a checkpoint's tokenizer turns text into tokens")
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise InputError(
            "text needs the package tokenizers: pip install 'jaxtheory[llama]'"
        ) from None
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises no narrower type
        raise InputError(f"{path}: no tokenizer ({error})") from None
    return np.asarray(tokenizer.encode(text, add_special_tokens=False).ids, np.int32)


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
    border = len(tokens) - len(tokens) // HELDOUT
    first, rest = tokens[:border], tokens[border:]
    if min(len(first), len(rest)) < length:
        raise InputError(
            f"the text has {len(tokens)} tokens: a window of {length} needs {HELDOUT * length} "
            f"(one in {HELDOUT} is kept for evaluation); give more text or a shorter window"
        )
    starts = np.random.default_rng(key).integers(0, len(first) - length + 1, samples)
    count = min(evaluated, len(rest) // length)
    side_by_side = np.linspace(0, len(rest) // length - 1, count).astype(int) * length
    steps = np.arange(length)
    return Windows(first[starts[:, None] + steps], rest[side_by_side[:, None] + steps])
