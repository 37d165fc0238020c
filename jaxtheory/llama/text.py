"""Windows of tokens of equal length from UTF-8 files, by the tokenizer of a checkpoint."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxtheory.llama import files
from jaxtheory.llama.tokenizer import encode, encode_sizes
from jaxtheory.texts.errors import InputError

__all__ = [
    "Scored",
    "Windows",
    "encode",
    "encode_sizes",
    "read_corpus",
    "scored_windows",
    "windows",
]

_HELDOUT = 5  # the last 1/_HELDOUT of the tokens is kept for evaluation


class Windows(NamedTuple):
    """Calibration windows (samples, length) and held-out windows (count, length), integers."""

    calibration: np.ndarray
    heldout: np.ndarray


class Scored(NamedTuple):
    """Windows (count, length) of which the last `last` tokens are scored, `size` bytes of text."""

    windows: np.ndarray
    last: int
    size: int


def read_corpus(path: str | Path) -> str:
    """Read a file, or all files in a folder and below it, sorted by name and joined by newlines.

    Files and folders below it whose names begin with a dot, such as .git, are left out. Line ends
    and byte order marks are not changed. InputError is raised for a path that is missing,
    an empty folder, and files that are not regular or not UTF-8.
    """
    path = Path(path)
    if path.is_dir():
        paths = sorted(
            file
            for file in path.rglob("*")
            if file.is_file()
            and not any(part.startswith(".") for part in file.relative_to(path).parts)
        )
        if not paths:
            raise InputError(
                f"{path}: is a folder without files (names that begin with a dot do not count); "
                "choose one with text"
            )
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
    calibration, heldout = tokens[:border], tokens[border:]
    if min(len(calibration), len(heldout)) < length:
        raise InputError(
            f"the text has {len(tokens)} tokens: a window of {length} needs {_HELDOUT * length} "
            f"(1/{_HELDOUT} is kept for evaluation); use more text or a shorter window"
        )
    if samples > len(calibration):
        raise InputError(
            f"samples = {samples}: the text has {len(calibration)} tokens for calibration; use "
            "more text or fewer windows"
        )
    starts = np.random.default_rng(key).integers(0, len(calibration) - length + 1, samples)
    count = min(evaluated, len(heldout) // length)
    side_by_side = np.linspace(0, len(heldout) // length - 1, count).astype(int) * length
    steps = np.arange(length)
    return Windows(calibration[starts[:, None] + steps], heldout[side_by_side[:, None] + steps])


def scored_windows(
    tokens: np.ndarray,
    sizes: np.ndarray,
    length: int,
    stride: int | None = None,
    most: int | None = None,
) -> Scored:
    """Choose the windows of a text on which a perplexity is measured.

    Windows start at tokens 0, S, 2S, ... as long as a whole window of T tokens fits; the rest of
    the text is not used. The last S tokens of each window are scored, and the ones before them
    are context. If S = T, windows do not overlap and T - 1 tokens of each are scored, since the
    first one has no context. If S < T, every scored token has at least T - S tokens of context.

    Args:
        tokens: The tokens of the text, of one dimension.
        sizes: The bytes of each token, from `encode_sizes`.
        length: T, the number of tokens per window, at least 2.
        stride: S, in [1, T]; None: T.
        most: The number of windows, from the start of the text; None: all that fit.

    Returns:
        The windows, the number of scored tokens per window, min(S, T - 1), and the number of bytes
        of all scored tokens.

    Raises:
        InputError: A number is out of range, the text is shorter than one window, or the scored
            tokens have 0 bytes.

    Example:
        >>> import numpy as np
        >>> from jaxtheory.llama import text
        >>> scored = text.scored_windows(np.arange(6), np.ones(6, int), 4, stride=2)
        >>> scored.windows.tolist(), scored.last, scored.size
        ([[0, 1, 2, 3], [2, 3, 4, 5]], 2, 4)
    """
    stride = length if stride is None else stride
    if length < 2:
        raise InputError(f"window = {length}: must be an integer in [2, inf)")
    if not 1 <= stride <= length:
        raise InputError(f"stride = {stride}: must be an integer in [1, window = {length}]")
    if most is not None and most < 1:
        raise InputError(f"eval_windows = {most}: must be an integer in [1, inf)")
    if len(tokens) < length:
        raise InputError(
            f"eval_text: has {len(tokens)} tokens, fewer than a window of {length}; use more text "
            "or a shorter window"
        )
    last = min(stride, length - 1)
    chosen, bytes_of = (
        np.lib.stride_tricks.sliding_window_view(a, length)[::stride][:most]
        for a in (tokens, sizes)
    )
    size = int(bytes_of[:, -last:].sum())
    if size == 0:
        raise InputError("eval_text: the scored tokens have 0 bytes; use more windows")
    return Scored(chosen, last, size)
