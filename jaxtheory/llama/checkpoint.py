"""Checkpoints in the folder format of Hugging Face.

A folder has config.json, safetensors files (one, or several with an index) and a tokenizer. Weights
are read and written one array at a time. They are stored as (outputs, inputs); in memory rows are
inputs. A folder is written beside its place and moved there when it is complete.
"""

import math
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.llama import config as configs
from jaxtheory.llama import files, tensors
from jaxtheory.llama.config import Config
from jaxtheory.llama.model import Weights, shapes
from jaxtheory.llama.tensors import Stored
from jaxtheory.system import machine
from jaxtheory.system.locks import locked
from jaxtheory.texts.errors import InputError

_CONFIG, _ADAPTER = "config.json", "adapter_config.json"
_BELOW = ("*", "*/*", "*/snapshots/*", "*/*/snapshots/*")  # checkpoints in a folder or a hub cache
_BELONGS = re.compile(
    r"(generation_config|tekken|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab"
    r"|chat_template)\.json|merges\.txt|vocab\.txt|chat_template\.jinja"
    r"|(tokenizer|spiece|sentencepiece\.bpe)\.model(\.v\d+)?"
    r"|(LICEN[CS]E|NOTICE|USE_POLICY)(\.(txt|md))?"
)
"""Files of a checkpoint that a pruned one needs too: tokenizer, generation settings, license."""
_TEMPLATES = "additional_chat_templates"  # a folder of .jinja files


def load(
    folder: str | Path,
    dtype: Literal["float32", "bfloat16", "float16", "float64"] | None = None,
) -> tuple[Weights, Config]:
    """Load the weights and the config of a checkpoint, with the same logits as in transformers.

    config.json and model.safetensors are read, or the files that model.safetensors.index.json
    names. tie_word_embeddings of the config follows the weights: it is False if a head is stored
    that differs from the embedding.

    Args:
        folder: The folder of the checkpoint.
        dtype: "float32", "bfloat16", "float16", "float64", or None for the stored type.

    Returns:
        The weights and the config.

    Raises:
        InputError: A file is missing or broken; a weight is missing or has a wrong shape or a type
            that is not a float; the weights do not fit into memory; an adapter lies beside them; or
            the model is none of Llama, Mistral, Qwen2 and Qwen3, or has parts that are not
            supported (docs/real-models.md).
            These errors come before any weight is read.

    Example:
        >>> from jaxtheory import llama
        >>> weights, config = llama.load("FOLDER")  # doctest: +SKIP
    """
    wanted = tuple(tensors.DTYPES.values())
    if dtype not in (None, *wanted):
        raise InputError(f"dtype = {dtype!r}: must be one of {', '.join(wanted)}")
    stored, config = tensors.find_weights(Path(folder), read_config(folder))
    name = tensors.names(config)
    _check_memory(stored, config, dtype)

    def read(name: str) -> jax.Array:
        array = stored[name].read()
        array = array.T if tensors.transposed(name, array) else array
        return jnp.asarray(array, jax.dtypes.canonicalize_dtype(dtype or array.dtype))

    return jax.tree.map(read, name), config


def read_config(folder: str | Path) -> Config:
    """Read the config.json of a checkpoint without an adapter."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder (a checkpoint is a folder with {_CONFIG})")
    path, adapter = folder / _CONFIG, folder / _ADAPTER
    if adapter.exists():
        raise InputError(
            f"{adapter}: transformers adds this adapter to the weights, which is not done here; "
            "merge it (merge_and_unload in peft) or move it to another folder"
        )
    if not path.exists():
        folders = {place.parent for below in _BELOW for place in folder.glob(f"{below}/{_CONFIG}")}
        if folders:
            raise InputError(
                f"{path}: no such file; choose a checkpoint in this folder, such as {min(folders)} "
                f"({len(folders)} found)"
            )
    return configs.parse(files.text(path, files.LARGEST), str(path))


def _check_memory(stored: dict[str, Stored], config: Config, dtype: str | None) -> None:
    """Raise InputError if the weights would not fit into the memory of the machine."""
    if jax.default_backend() != "cpu" or not (available := machine.memory()):
        return

    def size(name: str, weight: jax.ShapeDtypeStruct) -> int:
        element_type = jnp.dtype(dtype or tensors.DTYPES[stored[name].dtype()])
        return math.prod(weight.shape) * jax.dtypes.canonicalize_dtype(element_type).itemsize

    total = sum(jax.tree.leaves(jax.tree.map(size, tensors.names(config), shapes(config))))
    if total > available:
        raise InputError(
            f"the weights take {total / 2**30:.1f} GiB, this machine has "
            f"{available / 2**30:.1f} GiB; load a smaller model or use a machine with more memory"
        )


def save(
    folder: str | Path, weights: Weights, config: Config, like: str | Path | None = None
) -> None:
    """Write a checkpoint that `load` and transformers can read.

    The folder appears when it is complete: a process that is killed leaves nothing under its name.

    Args:
        folder: The folder to write, which must be empty or not exist yet.
        weights: The weights.
        config: The config.
        like: A checkpoint whose tokenizer, generation settings and license are copied. Its weights
            are not copied.

    Raises:
        InputError: The folder exists and is not empty, or cannot be written.

    Example:
        >>> import tempfile
        >>> import jax
        >>> from jaxtheory import llama
        >>> sizes = dict(vocab_size=8, hidden_size=4, intermediate_size=4, num_hidden_layers=1)
        >>> heads = dict(num_attention_heads=2, num_key_value_heads=1, head_dim=2)
        >>> config = llama.Config(**sizes, **heads)
        >>> weights = llama.init(jax.random.key(0), config)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     llama.save(folder, weights, config)
        ...     read, _ = llama.load(folder)
        >>> bool((read.embedding == weights.embedding).all())
        True
    """
    folder = Path(folder)
    require_free(folder)
    from safetensors.numpy import save_file

    stored = dict(file_arrays(weights, config))
    partial = folder.with_name(f".{folder.name}-{uuid.uuid4().hex[:8]}")
    try:
        partial.mkdir(parents=True)
        if like is not None:
            for name in _belonging(Path(like)):
                (partial / name).parent.mkdir(exist_ok=True)
                shutil.copy(Path(like) / name, partial / name)
        text = configs.dump(config, str(weights.embedding.dtype))
        (partial / _CONFIG).write_text(text, encoding="utf-8")
        save_file(stored, partial / tensors.SINGLE, metadata={"format": "pt"})
        for path in partial.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        if folder.exists():
            folder.rmdir()  # empty
        partial.rename(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def file_arrays(weights: Weights, config: Config) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and the array of each weight, as a checkpoint stores them."""
    names = jax.tree.leaves(tensors.names(config))
    for name, array in zip(names, jax.tree.leaves(weights), strict=True):
        host = np.asarray(array)
        yield name, np.ascontiguousarray(host.T if tensors.transposed(name, host) else host)


def _belonging(folder: Path) -> Iterator[Path]:
    """Yield the files of a checkpoint other than weights and config, relative to it."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and _BELONGS.fullmatch(path.name):
            yield path.relative_to(folder)
    for path in sorted((folder / _TEMPLATES).glob("*.jinja")):
        if path.is_file():
            yield path.relative_to(folder)


def cached(
    folder: str | Path, make: Callable[[], tuple[Weights, Config]]
) -> tuple[Weights, Config]:
    """Load the checkpoint in a folder, after making and saving it if the folder does not exist.

    If several processes call this function at once, one makes the checkpoint and the others wait.

    Args:
        folder: The folder of the checkpoint.
        make: A function that returns the weights and the config.

    Returns:
        The weights and the config.

    Raises:
        InputError: The folder cannot be written or read, as in `save` and `load`.

    Example:
        >>> import pathlib, tempfile
        >>> import jax
        >>> from jaxtheory import llama
        >>> sizes = dict(vocab_size=8, hidden_size=4, intermediate_size=4, num_hidden_layers=1)
        >>> heads = dict(num_attention_heads=2, num_key_value_heads=1, head_dim=2)
        >>> def make():
        ...     config = llama.Config(**sizes, **heads)
        ...     return llama.init(jax.random.key(0), config), config
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     weights, config = llama.cached(pathlib.Path(folder) / "model", make)
        >>> weights.embedding.shape
        (8, 4)
    """
    folder = Path(folder)
    if not folder.exists():
        lock = folder.with_name(f"{folder.name}.lock")
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            lock.touch()
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None
        with locked(lock):
            if not folder.exists():
                save(folder, *make())
        lock.unlink(missing_ok=True)  # processes that wait for the lock find the folder
    return load(folder)


def require_free(folder: Path) -> None:
    """Raise InputError unless a folder is new or empty and can be written."""
    if folder.is_symlink() or folder.name in ("", ".."):
        raise InputError(f"{folder}: must be neither a link nor . or ..; choose a new folder")
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder}: exists and is not empty; choose a new folder")
        place = next(path for path in folder.absolute().parents if path.exists())
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written ({place} is not a writable folder)")
