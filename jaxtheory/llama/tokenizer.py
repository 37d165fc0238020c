"""Tokenization by the tokenizer.json of a checkpoint, in a separate process.

The package `tokenizers` is native code and the file may come from anywhere: it can panic, request
more memory than there is, or never end. In a separate process with limits, each of these becomes an
error message.
"""

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

from jaxtheory.core.errors import InputError
from jaxtheory.llama import files
from jaxtheory.system import machine

_NAME = "tokenizer.json"
_MEMORY = (2**32, 2**10)  # limit in bytes: a constant, and an amount per byte of text
_SECONDS = (60, 60 / 2**20)  # limit likewise; tokenizers need about one second per MiB
_REFUSED = 3  # exit code if the output is an error message in place of tokens
_PROGRAM = f"""
import array, sys
path, memory, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
try:
    import resource
    for kind, most in (("RLIMIT_AS", memory), ("RLIMIT_CPU", seconds), ("RLIMIT_CORE", 0)):
        try:
            resource.setrlimit(getattr(resource, kind), (most, most))
        except (AttributeError, ValueError, OSError):
            pass
except ImportError:
    pass
try:
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if getattr(tokenizer.model, "dropout", None):
        tokenizer.model.dropout = None
    text = sys.stdin.buffer.read().decode("utf-8")
    found = tokenizer.encode(text, add_special_tokens=False)
    numbers = array.array("I", found.ids)
    if sys.argv[4] == "ends":
        numbers.extend(end for _, end in found.offsets)
except BaseException as error:
    sys.stdout.buffer.write(" ".join(str(error).split())[:300].encode("utf-8", "replace"))
    sys.stdout.flush()
    sys.exit({_REFUSED})
sys.stdout.buffer.write(numbers.tobytes())
"""


def encode(text: str, folder: str | Path) -> np.ndarray:
    """Tokenize a text by the tokenizer.json of a checkpoint.

    The tokens are those of transformers for one long text: no special tokens are added, and
    truncation, padding and random merges (dropout) that were saved with the tokenizer are off.

    Args:
        text: The text, whose line ends are not converted.
        folder: A checkpoint with a tokenizer.json.

    Returns:
        The tokens, int32, of one dimension.

    Raises:
        InputError: There is no tokenizer.json, it cannot be read, or it fails on the text.
    """
    return _numbers(text, folder, "ids").astype(np.int32)


def encode_sizes(text: str, folder: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Tokenize a text as `encode` does, and count the bytes of the text in each token.

    The bytes of token i are those after the end of token i - 1 up to the end of token i, so that
    the bytes of consecutive tokens add up. Characters that the tokenizer drops count for the token
    behind them. If a character is split into several tokens, its bytes count for the first.

    Args:
        text: The text.
        folder: A checkpoint with a tokenizer.json.

    Returns:
        The tokens, int32, and the number of UTF-8 bytes of each, int64, both of one dimension.

    Raises:
        InputError: As for `encode`.
    """
    tokens, ends = np.split(_numbers(text, folder, "ends"), 2)
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    sizes = sum(((codes >= first).astype(int) for first in (0x80, 0x800, 0x10000)), 1)
    places = np.concatenate([[0], np.cumsum(sizes)])[np.maximum.accumulate(ends)]
    return tokens.astype(np.int32), np.diff(places, prepend=0)


def _numbers(text: str, folder: str | Path, wanted: str) -> np.ndarray:
    """Return the tokens and, if "ends" are wanted, then the end of each in characters."""
    path = Path(folder) / _NAME
    if not path.exists():
        raise InputError(
            f"{path}: no such file; a checkpoint's tokenizer turns text into tokens (from another "
            "format: transformers' AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER))"
        )
    files.regular(path)
    if importlib.util.find_spec("tokenizers") is None:
        raise InputError("text needs the package tokenizers: pip install 'jaxtheory[llama]'")
    content = text.encode("utf-8")
    memory = _MEMORY[0] + _MEMORY[1] * len(content)
    memory = min(memory, machine.memory() or memory)
    seconds = int(_SECONDS[0] + _SECONDS[1] * len(content))
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-P", "-c", _PROGRAM, str(path), str(memory), str(seconds), wanted],
        input=content,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths, "TOKENIZERS_PARALLELISM": "false"},
        check=False,
    )
    if done.returncode == _REFUSED:
        raise InputError(f"{path}: cannot process this text ({done.stdout.decode()})")
    if done.returncode:
        code = done.returncode
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        raise InputError(
            f"{path}: the tokenizer stopped ({name}); it needs more than {memory / 2**30:.1f} "
            f"GiB or {seconds} s, or is damaged"
        )
    numbers = np.frombuffer(done.stdout, np.uint32)
    if len(numbers) and numbers.max() > np.iinfo(np.int32).max:
        raise InputError(f"{path}: returned the token {numbers.max()}, must be below 2^31")
    return numbers
