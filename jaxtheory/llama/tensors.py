"""Names and places of the weights in the safetensors files of a checkpoint.

Files name weights as transformers does, "model.layers.0.mlp.up_proj.weight", or with another
prefix before "layers": none (a bare LlamaModel), "module.model." (torch's parallel wrappers),
"_orig_mod.model." (torch.compile), "base_model.model.model.", "language_model.model." and others.
"""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxtheory.llama import files
from jaxtheory.llama.config import Config
from jaxtheory.llama.model import shapes
from jaxtheory.texts.errors import InputError

SINGLE, _INDEX = "model.safetensors", "model.safetensors.index.json"
DTYPES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16", "F64": "float64"}
_LAYER = {
    "input_norm": "input_layernorm.weight",
    "query": "self_attn.q_proj.weight",
    "key": "self_attn.k_proj.weight",
    "value": "self_attn.v_proj.weight",
    "output": "self_attn.o_proj.weight",
    "mlp_norm": "post_attention_layernorm.weight",
    "gate": "mlp.gate_proj.weight",
    "up": "mlp.up_proj.weight",
    "down": "mlp.down_proj.weight",
    "query_bias": "self_attn.q_proj.bias",
    "key_bias": "self_attn.k_proj.bias",
    "value_bias": "self_attn.v_proj.bias",
    "query_norm": "self_attn.q_norm.weight",
    "key_norm": "self_attn.k_norm.weight",
}
"""The fields of a Layer, in order, with their names in a checkpoint."""
_EMBEDDING, _HEAD = "model.embed_tokens.weight", "lm_head.weight"
_FIRST = "layers.0.input_layernorm.weight"
_COMPUTED = re.compile(r"(.*\.)?rotary_emb\.(inv_freq|cos_cached|sin_cached)")
"""Arrays that old versions of transformers stored and new ones compute."""
_OTHER = re.compile(r".*\.(bin|pth?|ckpt|gguf|ggml|msgpack|h5|onnx|npz|safetensors)")
"""Files of weights with other names or in other formats."""
_SHARD = re.compile(r"shard-\d{5}-model-\d{5}-of-\d{5}\.safetensors")
"""Files of a distributed checkpoint, which transformers reads in place of the others."""
_CONVERT = (
    "convert them, for example by transformers: "
    "AutoModelForCausalLM.from_pretrained(FOLDER).save_pretrained(NEW)"
)


class Stored(NamedTuple):
    """An array of an open safetensors file, with its name there."""

    file: Any
    name: str

    def shape(self) -> list[int]:
        """Return the shape, from the header of the file."""
        return list(self.file.get_slice(self.name).get_shape())

    def dtype(self) -> str:
        """Return the type as safetensors names it, from the header of the file."""
        return str(self.file.get_slice(self.name).get_dtype())

    def read(self) -> np.ndarray:
        """Read the numbers."""
        array: np.ndarray = self.file.get_tensor(self.name)
        return array


def names(config: Config) -> Any:
    """Return the name of each weight in a checkpoint of transformers, as a Weights of strings."""
    count, layer = range(config.num_hidden_layers), shapes(config).layers[0]
    stored = [name for field, name in _LAYER.items() if getattr(layer, field) is not None]
    layers = [f"model.layers.{i}.{name}" for i in count for name in stored]
    head = [] if config.tie_word_embeddings else [_HEAD]
    all_names = [_EMBEDDING, *layers, "model.norm.weight", *head]
    return jax.tree.unflatten(jax.tree.structure(shapes(config)), all_names)


def transposed(name: str, array: Any) -> bool:
    """True if a weight is transposed in the file, as linear maps are and the embedding is not."""
    return len(array.shape) == 2 and name != _EMBEDDING


def find_weights(folder: Path, config: Config) -> tuple[dict[str, Stored], Config]:
    """Find each weight of a config, by its name in `names`, and correct tie_word_embeddings.

    tie_word_embeddings becomes False if a head is stored that differs from the embedding. The
    headers of the files are compared with the config, and no weight is read except these two.
    InputError is raised for a missing or broken file, a missing weight, a wrong shape or type, and
    arrays that the model would not use.
    """
    arrays = _arrays(folder)
    body = _prefix(arrays, folder)
    _check_layers(arrays, body, config)
    stored = {
        name: arrays[stored_name]
        for name in (_EMBEDDING, *jax.tree.leaves(names(config)))
        if (stored_name := body + name.removeprefix("model.")) in arrays and name != _HEAD
    }
    heads = [n for n in arrays if n.endswith(_HEAD) and body.startswith(n.removesuffix(_HEAD))]
    if heads:
        stored[_HEAD] = arrays[heads[0]]
    _check_unused(arrays, {array.name for array in stored.values()}, folder, config)
    if config.tie_word_embeddings:
        config = _tied(stored, config)
    jax.tree.map(lambda *pair: _fits(stored, *pair), names(config), shapes(config))
    return stored, config


def _tied(stored: dict[str, Stored], config: Config) -> Config:
    """Correct the config and the embedding of a model with tied embeddings by its weights."""
    embedding, head = stored.get(_EMBEDDING), stored.get(_HEAD)
    if head is None:
        return config
    if embedding is None:
        stored[_EMBEDDING] = head
        return config
    for name in (_EMBEDDING, _HEAD):
        _fits(
            stored, name, jax.ShapeDtypeStruct((config.vocab_size, config.hidden_size), "f"), True
        )
    if np.array_equal(embedding.read(), head.read()):
        return config
    return dataclasses.replace(config, tie_word_embeddings=False)


def _arrays(folder: Path) -> dict[str, Stored]:
    """Return all arrays of the safetensors files of a folder, by name."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise InputError(
            "checkpoints need the package safetensors: pip install 'jaxtheory[llama]'"
        ) from None
    arrays: dict[str, Stored] = {}
    for path in _paths(folder):
        files.regular(path)
        try:
            opened = safe_open(path, framework="numpy")
        except SafetensorError as error:
            raise InputError(f"{path}: not a safetensors file, or truncated ({error})") from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
        for name in opened.keys():  # noqa: SIM118  (the file is not a mapping)
            if name in arrays:
                raise InputError(f"{path}: {name} is also in another file; keep one of the two")
            arrays[name] = Stored(opened, name)
    return arrays


def _paths(folder: Path) -> Iterator[Path]:
    """Yield the safetensors files of a folder."""
    shards = [path for path in folder.iterdir() if _SHARD.fullmatch(path.name)]
    if shards:
        raise InputError(f"{min(shards)}: distributed checkpoints are not read; {_CONVERT}")
    index = folder / _INDEX
    if (folder / SINGLE).exists():
        yield folder / SINGLE
    elif index.exists():
        try:
            stated = files.parse_object(files.text(index, files.LARGEST), str(index)).get(
                "weight_map"
            )
        except InputError as error:
            raise InputError(f"{error}; it is not an index of safetensors files") from None
        if not isinstance(stated, dict) or not all(isinstance(v, str) for v in stated.values()):
            raise InputError(
                f"{index}: not an index of safetensors files (weight_map must name them)"
            )
        for name in sorted(set(stated.values())):
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise InputError(f"{index}: names {name!r}, must name files of this folder")
            yield folder / name
    else:
        weight_files = sorted(path.name for path in folder.iterdir() if _OTHER.fullmatch(path.name))
        hint = f"; {', '.join(weight_files[:3])} cannot be read: {_CONVERT}" if weight_files else ""
        raise InputError(f"{folder / SINGLE}: cannot be read (no such file, nor {_INDEX}){hint}")


def _prefix(arrays: dict[str, Stored], folder: Path) -> str:
    """Return the prefix before "layers" in the names of a checkpoint."""
    prefixes = [name.removesuffix(_FIRST) for name in arrays if f".{name}".endswith(f".{_FIRST}")]
    if len(prefixes) > 1:
        raise InputError(
            f"{folder}: holds the layers of several models, {', '.join(map(repr, prefixes[:3]))}; "
            "keep those of one"
        )
    return prefixes[0] if prefixes else "model."


def _check_layers(arrays: dict[str, Stored], body: str, config: Config) -> None:
    """Raise InputError unless the files have as many layers as the config."""
    layer = re.compile(re.escape(body) + r"layers\.(\d{1,9})\.")
    indices = {int(match[1]) for match in map(layer.match, arrays) if match}
    count = config.num_hidden_layers
    missing = next((i for i in range(count) if i not in indices), None)
    if missing is not None:
        raise InputError(
            f"{body}layers.{missing}.{_LAYER['input_norm']}: no file of the checkpoint has "
            f"this weight, and num_hidden_layers = {count}"
        )
    if len(indices) > count:
        raise InputError(
            f"num_hidden_layers = {count}: the files hold {len(indices)} layers; remove those that "
            "should not be used"
        )


def _check_unused(arrays: dict[str, Stored], used: set[str], folder: Path, config: Config) -> None:
    """Raise InputError if a checkpoint has arrays that the model would not use."""
    unused = [name for name in arrays if name not in used and not _COMPUTED.fullmatch(name)]
    if unused:
        raise InputError(
            f"{folder}: holds {min(unused)}, which model_type = {config.model_type!r} without "
            f"adapters and quantization does not use ({len(unused)} such arrays); merge or remove "
            "them"
        )


def _fits(
    stored: dict[str, Stored], name: str, weight: jax.ShapeDtypeStruct, straight: bool = False
) -> None:
    if name not in stored:
        reason = ""
        if name == _HEAD:
            reason = ", and tie_word_embeddings = False (set it to true if the embedding is it)"
        raise InputError(f"{name}: no file of the checkpoint has this weight{reason}")
    array = stored[name]
    turn = not straight and transposed(name, weight)
    wanted = list(weight.shape[::-1] if turn else weight.shape)
    if array.dtype() not in DTYPES:
        raise InputError(
            f"{name}: has the type {array.dtype()}, must be one of {', '.join(DTYPES)}"
        )
    if array.shape() != wanted:
        raise InputError(f"{name}: has the shape {array.shape()}, config.json says {wanted}")
