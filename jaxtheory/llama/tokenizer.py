"""Tokenization by the tokenizer.json of a checkpoint, in a separate process.

The package `tokenizers` is native code and the file may come from anywhere: it can panic, request
more memory than there is, or never end. In a separate process with limits, each of these becomes an
error message.
"""

import importlib.util
import json
import os
import reprlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxtheory.llama import files
from jaxtheory.system import machine
from jaxtheory.texts.errors import InputError

_NAME, _SETTINGS = "tokenizer.json", "tokenizer_config.json"
_MAP, _ADDED = "special_tokens_map.json", "added_tokens.json"
_DECODER = "added_tokens_decoder"
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
_WRITE = "transformers' AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER) writes it"
_MEMORY = (2**32, 2**10)  # limit in bytes: a constant, and an amount per byte of text
_SECONDS = (60, 60 / 2**20)  # limit likewise; tokenizers need about one second per MiB
_REFUSED = 3  # exit code if the output is an error message in place of tokens
_PROGRAM = f"""
import array, json, sys
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
    tokenizer.encode_special_tokens = sys.argv[5] == "split"
    text = sys.stdin.buffer.read().decode("utf-8")
    found = tokenizer.encode(text, add_special_tokens=False)
    numbers = array.array("I", found.ids)
    if sys.argv[4] == "ends":
        numbers.extend(end for _, end in found.offsets)
    added = {{
        token.content: {{flag: getattr(token, flag) for flag in {_FLAGS}}}
        for token in tokenizer.get_added_tokens_decoder().values()
    }}
except BaseException as error:
    sys.stdout.buffer.write(" ".join(str(error).split())[:300].encode("utf-8", "replace"))
    sys.stdout.flush()
    sys.exit({_REFUSED})
sys.stdout.buffer.write(json.dumps(added).encode() + b"\\n" + numbers.tobytes())
"""


def encode(text: str, folder: str | Path) -> np.ndarray:
    """Tokenize a text by the tokenizer.json of a checkpoint.

    The tokens are those of transformers for one long text: no special tokens are added, and
    truncation, padding and random merges (dropout) that were saved with the tokenizer are off. Of
    the settings in tokenizer_config.json, split_special_tokens is followed; tokens of the text
    that it adds to those of tokenizer.json, and code of its own, are refused.

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
            f"format: {_WRITE})"
        )
    files.regular(path)
    if importlib.util.find_spec("tokenizers") is None:
        raise InputError("text needs the package tokenizers: pip install 'jaxtheory[llama]'")
    settings = _settings(path.parent)
    split = "split" if settings.get("split_special_tokens") else "whole"
    content = text.encode("utf-8")
    memory = _MEMORY[0] + _MEMORY[1] * len(content)
    memory = min(memory, machine.memory() or memory)
    seconds = int(_SECONDS[0] + _SECONDS[1] * len(content))
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-P", "-c", _PROGRAM, str(path), str(memory), str(seconds), wanted, split],
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
    added, _, tokens = done.stdout.partition(b"\n")
    _check_added(settings, json.loads(added), text, path)
    numbers = np.frombuffer(tokens, np.uint32)
    if len(numbers) and numbers.max() > np.iinfo(np.int32).max:
        raise InputError(f"{path}: returned the token {numbers.max()}, must be below 2^31")
    return numbers


def _settings(folder: Path) -> dict[str, Any]:
    """Read tokenizer_config.json; InputError is raised for entries that name other files."""
    settings = _object(folder / _SETTINGS)
    file_names = settings.get("fast_tokenizer_files") or [_NAME]
    for name, value, valid in (
        ("split_special_tokens", settings.get("split_special_tokens"), (None, False, True)),
        ("auto_map", settings.get("auto_map") or None, (None,)),
        ("fast_tokenizer_files", file_names, ([_NAME],)),
    ):
        if value not in valid:
            raise InputError(
                f"{folder / _SETTINGS}: {name} = {reprlib.repr(value)} is not supported; remove it "
                f"if the tokens are those of {_NAME}"
            )
    if _DECODER not in settings:  # then transformers reads the older files too
        added = {"added_tokens": [*_object(folder / _ADDED)]}
        settings = settings | _object(folder / _MAP) | added
    return settings


def _object(path: Path) -> dict[str, Any]:
    """Read a JSON object, {} if there is no such file."""
    return files.parse_object(files.text(path, files.LARGEST), str(path)) if path.exists() else {}


def _check_added(
    settings: Mapping[str, Any],
    token_flags: Mapping[str, Mapping[str, bool]],
    text: str,
    path: Path,
) -> None:
    """Raise InputError if the text has a token that only the settings add or change.

    token_flags: the flags of each added token of tokenizer.json.
    """
    entries = [entry for name, entry in settings.items() if name.endswith(("_token", "_tokens"))]
    added: dict[str, dict[str, bool]] = {
        token: {} for entry in entries for token, _ in _tokens(entry)
    }
    added |= _tokens(settings.get(_DECODER))
    extra_tokens = {
        token
        for token, flags in added.items()
        if token not in token_flags or not flags.items() <= token_flags[token].items()
    }
    if matches := sorted(token for token in extra_tokens if token and token in text):
        raise InputError(
            f"{path}: the text has {reprlib.repr(matches[0])}, a token by {_SETTINGS}, {_MAP} or "
            f"{_ADDED} and not, or with other flags, by {_NAME}; {_WRITE} anew"
        )


def _tokens(entry: Any) -> Iterator[tuple[str, dict[str, bool]]]:
    """Yield the tokens of an entry with their flags.

    An entry is a text, an object with its content, or several of these.
    """
    if isinstance(entry, str):
        yield entry, {}
    elif isinstance(entry, dict) and isinstance(entry.get("content"), str):
        yield entry["content"], {flag: entry[flag] for flag in _FLAGS if flag in entry}
    elif isinstance(entry, dict | list):
        for one in entry.values() if isinstance(entry, dict) else entry:
            yield from _tokens(one)
