"""Real data for the same layer: windows of bytes from two kinds of text, a random vector for each byte.

A source is a pair of folders, or a file with lines label<TAB>text of two labels; without one, the packages asyncio and email of the running
Python. Windows start anywhere in the first four fifths of a class's bytes for training, in the last fifth for testing. Of the fields of the
data law only the sizes count: L, N and Nt. Nothing of the pattern theory is predicted.

Part of the data law, this file stands beside `data`: it may import `model` and `data`, and nothing that comes after them.
"""

import functools
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core import draws
from jaxtheory.core.config import InputError, Size
from jaxtheory.core.positions import indices
from jaxtheory.theories.low_rank import data, model
from jaxtheory.theories.low_rank.model import Batch, Config, Problem

Corpus = tuple[np.ndarray, np.ndarray]  # bytes of each class
PACKAGES = ("asyncio", "email")
TRAIN = 0.8


def read(source: Any = None) -> Corpus:
    """The bytes of both classes: a pair of folders (class 0, class 1), one label<TAB>text file (labels sorted), or None.

    Raises InputError where nothing can be read.
    """
    if source is None:
        library = Path(sysconfig.get_paths()["stdlib"])
        source = tuple(library / name for name in PACKAGES)
    places = source if isinstance(source, tuple | list) else (source,)
    if not all(isinstance(place, str | Path) for place in places):
        raise InputError(f"source = {source!r}: give two folders, or a file with lines label<TAB>text")
    if not isinstance(source, tuple | list):
        return _labelled(Path(source))
    if len(source) != 2:
        raise InputError(f"source has {len(source)} folders: give two, one for each class")
    return _folder(Path(source[0])), _folder(Path(source[1]))


@functools.cache
def default() -> Corpus:
    """The bytes of the two packages of the running Python."""
    return read(None)


def _folder(folder: Path) -> np.ndarray:
    """All files below a folder that are UTF-8 text, in order of their paths."""
    texts = []
    for path in sorted(folder.rglob("*")) if folder.is_dir() else []:
        if path.is_file() and "__pycache__" not in path.parts:
            raw = path.read_bytes()
            try:
                raw.decode()
            except UnicodeDecodeError:
                continue
            texts.append(raw)
    if not texts:
        raise InputError(f"{folder}: no folder with text files")
    return np.frombuffer(b"\n".join(texts), np.uint8)


def _labelled(file: Path) -> Corpus:
    """The texts of each label in one file."""
    if not file.is_file():
        raise InputError(
            f"{file}: {'a folder' if file.is_dir() else 'no such file'}; give two folders, or a file with lines label<TAB>text"
        )
    texts: dict[str, list[str]] = {}
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")  # universal newlines
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 ({error.reason} at byte {error.start})") from None
    for number, line in enumerate(lines, start=1):
        label, tab, text = line.partition("\t")
        if not line:
            continue
        if not tab:
            raise InputError(f"{file}, line {number}: no tab between label and text")
        texts.setdefault(label, []).append(text)
    if len(texts) != 2:
        raise InputError(f"{file}: {len(texts)} labels ({', '.join(sorted(texts))}), expected two")
    first, second = (np.frombuffer("\n".join(texts[label]).encode(), np.uint8) for label in sorted(texts))
    return first, second


def problem_of(corpus: Corpus | None = None) -> Callable[[Array, Config], Problem]:
    """The function `problem` of a corpus (None: the default one, read at the first use). No token is relevant; L is as configured."""

    def problem(key: Array, config: Config) -> Problem:
        """Windows of both classes in turn, each byte a vector of N(0, 1/d) entries, the same all over a run."""
        texts = default() if corpus is None else corpus
        for_vectors, for_train, for_test, for_model = jax.random.split(key, 4)
        L, d = model.length(config), config.dimension
        if config.task != "binary" or config.num_classes.cap != 2:
            raise InputError(
                f"task (task) = {config.task}, num_classes (C) = {config.num_classes.cap}: two texts make two classes, task=binary"
            )
        if min(len(part) for part in texts) * (1 - TRAIN) < 2 * L.cap:
            raise InputError(f"the smaller class has {min(map(len, texts))} bytes: windows of L = {L.cap} need at least {10 * L.cap}")
        vectors = draws.normal(for_vectors, 256, d) / jnp.sqrt(jnp.asarray(d.real, float))

        def windows(key: Array, n: Size | int, low: float, high: float) -> Batch:
            label = indices(n.cap) % 2
            share = draws.uniform(key, n)
            at = jnp.arange(L.cap)[None, :]
            found = []
            for text in texts:
                cut = text[int(low * len(text)) : int(high * len(text))]
                begin = (share * (len(cut) - L.cap)).astype(int)
                found.append(jnp.asarray(cut)[begin[:, None] + at])
            chosen = jnp.where(label[:, None] == 0, found[0], found[1])
            tokens = draws.masked(vectors[chosen.astype(jnp.int32)], n, L)
            pattern = jnp.full((n.cap, L.cap), config.num_patterns.cap, jnp.int32)
            return Batch(tokens, label, pattern, n.weights())

        train = windows(for_train, config.num_samples, 0.0, TRAIN)
        test = windows(for_test, config.num_test, TRAIN, 1.0)
        return Problem(train, test, data.patterns(config), *data.start(for_model, config))

    return problem
