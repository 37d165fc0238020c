"""The hyper-parameters of a Llama, read from and written to the config.json of a checkpoint."""

import dataclasses
import json
import reprlib
from typing import Any

from jaxtheory.core.errors import InputError
from jaxtheory.llama import files, rope
from jaxtheory.llama.rope import Rope

_LARGEST = 2**31 - 1  # of a size: JAX counts entries along an axis in 32 bits
_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "model_type": ("llama",),
    "hidden_act": ("silu", "swish"),
    "attention_bias": (False,),
    "mlp_bias": (False,),
    "quantization_config": (None,),
    "compression_config": (None,),
    "per_layer_config": (None, {}),
    # of relatives of the Llama, which change its logits
    **dict.fromkeys(
        (
            "embedding_multiplier",
            "residual_multiplier",
            "logits_scaling",
            "logit_scale",
            "scale_emb",
        ),
        (None, 1.0),
    ),
    **dict.fromkeys(
        (
            "attention_multiplier",
            "query_pre_attn_scalar",
            "attn_logit_softcapping",
            "final_logit_softcapping",
            "clip_qkv",
            "scale_depth",
        ),
        (None,),
    ),
    **dict.fromkeys(("use_qk_norm", "qk_norm", "qk_layernorm"), (None, False)),
    "no_rope_layers": (None, []),
}
"""Entries that decide the logits -> the values that are supported; the first one if missing."""


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes of a Llama under the names of its config.json; hashable, so static under `jit`.

    H = num_attention_heads query heads share G = num_key_value_heads key and value heads, H / G
    each. source: the config.json that was read, whose other entries `save` writes back.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rms_norm_eps: float = 1e-5
    rope: Rope = Rope()  # noqa: RUF009  (immutable)
    tie_word_embeddings: bool = False
    source: str = "{}"

    def __post_init__(self) -> None:
        sizes = (f.name for f in dataclasses.fields(self) if f.type is int)
        for name in sizes:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LARGEST:
                raise InputError(
                    f"{name} = {reprlib.repr(value)}: must be an integer in [1, {_LARGEST}]"
                )
        H, G = self.num_attention_heads, self.num_key_value_heads
        if H % G:
            raise InputError(
                f"num_attention_heads = {H}: must be a multiple of num_key_value_heads = {G}"
            )
        if self.head_dim % 2:
            raise InputError(
                f"head_dim = {self.head_dim}: must be even, rotary encodings turn pairs of entries"
            )
        eps = self.rms_norm_eps
        if isinstance(eps, bool) or not isinstance(eps, int | float) or not 0 <= eps < 1e30:
            raise InputError(f"rms_norm_eps = {reprlib.repr(eps)}: must be a number in [0, 1e30)")
        if not isinstance(self.tie_word_embeddings, bool):
            raise InputError(
                f"tie_word_embeddings = {reprlib.repr(self.tie_word_embeddings)}: must be true or "
                "false"
            )
        rope.check(self.rope)


def parse(text: str, origin: str) -> Config:
    """The Config that a config.json (of transformers 4.40 to 5) says; origin: the file, for
    messages.

    Raises InputError, with the entry and its value, for a model that is not a Llama, for entries
    that are missing, of another type or out of range, and for each that would change the logits
    in a way this package does not compute (biases, quantization, scalings, other activations).
    """
    try:
        return _config(files.entries(text, origin), text)
    except InputError as error:
        raise InputError(str(error) if origin in str(error) else f"{origin}: {error}") from None


def _config(entries: dict[str, Any], source: str) -> Config:
    if "model_type" not in entries:
        raise InputError("has no model_type, so it may be no Llama; add it ('llama')")
    for name, values in _SUPPORTED.items():
        value = entries.get(name, values[0])
        if value not in values:
            raise InputError(
                f"{name} = {reprlib.repr(value)} is not supported, only "
                f"{' or '.join(map(repr, values))} is"
            )

    def size(name: str) -> Any:
        if name not in entries:
            raise InputError(f"has no {name}")
        return entries[name]

    hidden, heads = size("hidden_size"), size("num_attention_heads")
    groups, width = entries.get("num_key_value_heads"), entries.get("head_dim")
    config = Config(
        vocab_size=size("vocab_size"),
        hidden_size=hidden,
        intermediate_size=size("intermediate_size"),
        num_hidden_layers=size("num_hidden_layers"),
        num_attention_heads=heads,
        num_key_value_heads=heads if groups is None else groups,
        head_dim=2 if width is None else width,
        rms_norm_eps=entries.get("rms_norm_eps", 1e-6),
        rope=rope.read(entries),
        tie_word_embeddings=entries.get("tie_word_embeddings", False),
        source=source,
    )
    if width is None and hidden % heads:
        raise InputError(
            f"hidden_size = {hidden} must be a multiple of num_attention_heads = {heads}, or "
            "head_dim be given"
        )
    return dataclasses.replace(
        config,
        head_dim=hidden // heads if width is None else width,
        rms_norm_eps=float(config.rms_norm_eps),
    )


def dump(config: Config, dtype: str) -> str:
    """The config.json of a checkpoint: the entries that were read, or else what transformers
    needs, with every entry in which the Config differs from them.
    """
    entries = json.loads(config.source)
    plain = [f.name for f in dataclasses.fields(config) if f.name not in ("rope", "source")]
    if entries:
        read = _config(entries, config.source)
        changed = [name for name in plain if getattr(read, name) != getattr(config, name)]
        moved = read.rope != config.rope
    else:
        entries = {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_act": "silu",
            "attention_bias": False,
            "mlp_bias": False,
            "max_position_embeddings": config.rope.original_length,
        }
        changed, moved = plain, True
    entries |= {name: getattr(config, name) for name in changed}
    if moved:
        for name in ("rope_parameters", "original_max_position_embeddings"):
            entries.pop(name, None)
        entries |= rope.written(config.rope)
    for name in ("torch_dtype", "dtype"):
        if name in entries or name == "torch_dtype":
            entries[name] = dtype
    return json.dumps(entries, indent=2) + "\n"
