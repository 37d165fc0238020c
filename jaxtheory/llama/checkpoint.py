"""Checkpoints in the folder format of Hugging Face: config.json, safetensors (one file, or several
with an index), tokenizer.

Weights are read and written one array at a time, and stored as (outputs, inputs); in memory rows
are inputs. A folder is written beside its place and moved there when it is whole.
"""

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.errors import InputError
from jaxtheory.core.locks import locked
from jaxtheory.llama import config as configs
from jaxtheory.llama.config import Config
from jaxtheory.llama.model import Weights, shapes

CONFIG, SINGLE, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
DTYPES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16", "F64": "float64"}
LAYER = {
    "input_norm": "input_layernorm",
    "query": "self_attn.q_proj",
    "key": "self_attn.k_proj",
    "value": "self_attn.v_proj",
    "output": "self_attn.o_proj",
    "mlp_norm": "post_attention_layernorm",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}
"""Field of a Layer, in order -> its name in a checkpoint."""


def names(config: Config) -> Any:
    """The name of each weight in a checkpoint, as a Weights of strings."""
    count = range(config.num_hidden_layers)
    layers = [f"model.layers.{i}.{name}.weight" for i in count for name in LAYER.values()]
    head = [] if config.tie_word_embeddings else ["lm_head.weight"]
    found = ["model.embed_tokens.weight", *layers, "model.norm.weight", *head]
    return jax.tree.unflatten(jax.tree.structure(shapes(config)), found)


def load(folder: str | Path, dtype: str | None = None) -> tuple[Weights, Config]:
    """Weights and config of the checkpoint in a folder; dtype: "float32", "bfloat16", ..., or None
    for the type that is stored.

    Reads config.json and model.safetensors, or the files that model.safetensors.index.json names.
    Raises InputError for a missing or broken file, a missing weight, one of another shape or of no
    float type, and for what is no Llama; all before any weight is read.
    """
    if dtype not in (None, *DTYPES.values()):
        raise InputError(f"dtype = {dtype!r}: must be one of {', '.join(DTYPES.values())}")
    folder = Path(folder)
    config = read_config(folder)
    tensors = _tensors(folder)
    name = names(config)
    jax.tree.map(lambda *pair: _fits(tensors, *pair), name, shapes(config))

    def read(name: str) -> jax.Array:
        array = tensors[name].get_tensor(name)
        array = array.T if _transposed(name, array) else array
        return jnp.asarray(array, dtype or array.dtype)

    return jax.tree.map(read, name), config


def read_config(folder: Path) -> Config:
    """The config of the checkpoint in a folder."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder (a checkpoint is a folder with {CONFIG})")
    path = folder / CONFIG
    with _readable(path):
        return configs.parse(path.read_text(encoding="utf-8"), str(path))


def _transposed(name: str, array: Any) -> bool:
    """Whether memory and file hold a weight transposed: linear maps, not the embedding."""
    return array.ndim == 2 and "embed" not in name


def _tensors(folder: Path) -> dict[str, Any]:
    """The open safetensors file that holds each weight."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise InputError(
            "checkpoints need the package safetensors: pip install 'jaxtheory[llama]'"
        ) from None
    index = folder / INDEX
    if index.exists() and not (folder / SINGLE).exists():
        with _readable(index):
            try:
                stated = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
            except (ValueError, KeyError, TypeError, AttributeError):
                raise InputError(f"{index}: no index of safetensors files") from None
    else:
        stated = {SINGLE}
    tensors: dict[str, Any] = {}
    for path in sorted(folder / str(name) for name in stated):
        with _readable(path):
            path.open("rb").close()
            try:
                opened = safe_open(path, framework="numpy")
            except SafetensorError as error:
                raise InputError(f"{path}: no safetensors file, or cut short ({error})") from None
        tensors |= dict.fromkeys(opened.keys(), opened)
    return tensors


def _fits(tensors: dict[str, Any], name: str, weight: jax.ShapeDtypeStruct) -> None:
    if name not in tensors:
        raise InputError(f"{name}: no file of the checkpoint has this weight")
    found = tensors[name].get_slice(name)
    wanted = list(weight.shape[::-1] if _transposed(name, weight) else weight.shape)
    if found.get_shape() != wanted:
        raise InputError(f"{name}: has the shape {found.get_shape()}, {CONFIG} says {wanted}")
    if found.get_dtype() not in DTYPES:
        raise InputError(
            f"{name}: has the type {found.get_dtype()}, must be one of {', '.join(DTYPES)}"
        )


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Missing or unreadable files as one line."""
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason})") from None


def save(
    folder: str | Path, weights: Weights, config: Config, like: str | Path | None = None
) -> None:
    """Write a checkpoint that `load` and transformers read; like: a checkpoint whose other files
    (tokenizer, generation settings) are copied.

    The folder appears when it is whole: a process that is killed leaves nothing under its name.
    Raises InputError if it exists and is not empty.
    """
    folder = Path(folder)
    free(folder)
    from safetensors.numpy import save_file

    stored = {}

    def put(name: str, array: jax.Array) -> None:
        host = np.asarray(array)
        stored[name] = np.ascontiguousarray(host.T if _transposed(name, host) else host)

    jax.tree.map(put, names(config), weights)
    partial = folder.with_name(f".{folder.name}-{uuid.uuid4().hex[:8]}")
    try:
        partial.mkdir(parents=True)
        if like is not None:
            for path in sorted(Path(like).iterdir()):
                if path.is_file() and not path.name.endswith((".safetensors", ".bin", INDEX)):
                    shutil.copy(path, partial / path.name)
        (partial / CONFIG).write_text(
            configs.dump(config, str(weights.embedding.dtype)), encoding="utf-8"
        )
        save_file(stored, partial / SINGLE, metadata={"format": "pt"})
        for path in partial.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        if folder.exists():
            folder.rmdir()  # empty
        partial.rename(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def cached(
    folder: str | Path, make: Callable[[], tuple[Weights, Config]]
) -> tuple[Weights, Config]:
    """The checkpoint in a folder; where there is none, what make() gives, saved there. Of several
    processes one makes it, and the others wait. Raises InputError as `save` and `load` do.
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
        lock.unlink(missing_ok=True)  # whoever waits for it finds the folder
    return load(folder)


def free(folder: Path) -> None:
    """InputError unless a checkpoint can be written there."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: exists and is not empty; name a new folder")
