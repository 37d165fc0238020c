"""Hyper-parameters of a model of the Llama family, as in the config.json of a checkpoint."""

import dataclasses
import json
import reprlib
from typing import Any, Literal

from jaxtheory.llama import files, rope, windows
from jaxtheory.llama.rope import Rope
from jaxtheory.texts.errors import InputError, notice

_LARGEST = 2**31 - 1  # of a size: JAX counts entries along an axis in 32 bits
_MOST_LAYERS = 2**16
_LENGTH = "max_position_embeddings"
_QWEN = {
    "num_key_value_heads": 32,
    "use_sliding_window": False,
    "sliding_window": 4096,
    "max_window_layers": 28,
    _LENGTH: 2**15,
}
_FAMILY: dict[str, dict[str, Any]] = {
    "llama": {_LENGTH: 2**11},
    "mistral": {"num_key_value_heads": 8, "sliding_window": 4096, _LENGTH: 2**17},
    "qwen2": _QWEN,
    "qwen3": {"head_dim": 128, **_QWEN},
}
"""The model types that are read, with their defaults."""
_ARCHITECTURES = {
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}
_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "model_type": tuple(_FAMILY),
    "hidden_act": ("silu", "swish"),
    "attention_bias": (False,),
    "mlp_bias": (False,),
    "quantization_config": (None,),
    "compression_config": (None,),
    "per_layer_config": (None, {}),
    # entries of related models, which change the logits
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
    # entries by which transformers reads another mask, cache, config, code or file of weights
    "is_causal": (True,),
    "configuration_files": (None, [], ["config.json"]),
    **dict.fromkeys(
        (
            "attribute_map",
            "auto_map",
            "decoder",
            "fusion_config",
            "generator",
            "kv_sharing_modes",
            "text_config",
            "transformers_weights",
        ),
        (None, {}),
    ),
}
"""Entries that affect the logits, with the supported values; the first one is the default."""


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes of a Llama, Mistral, Qwen2 or Qwen3 under the names of its config.json.

    A config is hashable, so it can be a static argument of `jit`. H = num_attention_heads query
    heads share G = num_key_value_heads key and value heads: H / G query heads share each of them.

    Args:
        vocab_size: The number of tokens of the vocabulary, V.
        hidden_size: The width of the residual stream, d.
        intermediate_size: The width of the MLP, m.
        num_hidden_layers: The number of layers.
        num_attention_heads: The number of query heads, H, a multiple of G.
        num_key_value_heads: The number of key and value heads, G.
        head_dim: The width of a head, e, an even number.
        rms_norm_eps: The epsilon of RMSNorm, in [0, 1e30).
        rope: The rotary position encoding.
        tie_word_embeddings: True if the embedding is also the output head.
        model_type: "llama"; "mistral", with a window; "qwen2", with a window and biases of
            queries, keys and values; or "qwen3", with a window and an RMSNorm of each query and
            key head.
        sliding_window: w: position i sees the positions j with i - w < j <= i, w >= 1. None: all
            j <= i.
        layer_types: "full_attention" or "sliding_attention" for each layer of a Mistral or Qwen of
            which only some have the window; empty if all layers are alike.
        source: The text of the config.json that was read. `save` writes back its other entries.

    Raises:
        InputError: A value is out of range.

    Example:
        >>> from jaxtheory import llama
        >>> sizes = dict(vocab_size=8, hidden_size=4, intermediate_size=4, num_hidden_layers=1)
        >>> heads = dict(num_attention_heads=2, num_key_value_heads=1, head_dim=2)
        >>> llama.Config(**sizes, **heads).rope.theta
        10000.0
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
    model_type: Literal["llama", "mistral", "qwen2", "qwen3"] = "llama"
    sliding_window: int | None = None
    layer_types: tuple[str, ...] = ()
    source: str = "{}"

    def __post_init__(self) -> None:
        if isinstance(self.layer_types, list):
            object.__setattr__(self, "layer_types", tuple(self.layer_types))
        sizes = (f.name for f in dataclasses.fields(self) if f.type is int)
        for name in sizes:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LARGEST:
                raise InputError(
                    f"{name} = {reprlib.repr(value)}: must be an integer in [1, {_LARGEST}]"
                )
        if self.num_hidden_layers > _MOST_LAYERS:
            raise InputError(
                f"num_hidden_layers = {self.num_hidden_layers}: must be at most {_MOST_LAYERS}"
            )
        H, G = self.num_attention_heads, self.num_key_value_heads
        if H % G:
            raise InputError(
                f"num_attention_heads = {H}: must be a multiple of num_key_value_heads = {G}"
            )
        if self.head_dim % 2:
            raise InputError(
                f"head_dim = {self.head_dim}: must be even, as rotary encodings rotate pairs"
            )
        eps = self.rms_norm_eps
        if isinstance(eps, bool) or not isinstance(eps, int | float) or not 0 <= eps < 1e30:
            raise InputError(f"rms_norm_eps = {reprlib.repr(eps)}: must be a number in [0, 1e30)")
        if not isinstance(self.tie_word_embeddings, bool):
            raise InputError(
                f"tie_word_embeddings = {reprlib.repr(self.tie_word_embeddings)}: must be true or "
                "false"
            )
        rope.check_rope(self.rope)
        if not isinstance(self.model_type, str) or self.model_type not in _FAMILY:
            raise InputError(
                f"model_type = {reprlib.repr(self.model_type)} is not supported, only "
                f"{' or '.join(map(repr, _FAMILY))} is"
            )
        windows.check_windows(
            self.model_type, self.sliding_window, self.layer_types, self.num_hidden_layers
        )

    def at(self, i: int) -> "Config":
        """Return the config of layer i, which is the same for all layers that are alike."""
        if not self.layer_types:
            return self
        window = self.sliding_window if self.layer_types[i] == windows.SLIDING else None
        return dataclasses.replace(self, sliding_window=window, layer_types=())


def parse(text: str, origin: str) -> Config:
    """Parse a config.json of transformers 4.40 to 5; origin: the file, for messages.

    InputError, with the entry and its value, is raised for another model_type, for entries that are
    missing, out of range or of a wrong type, and for entries that change the logits in a way that
    is not supported (other biases, quantization, scalings, other activations).
    """
    try:
        return _config(files.parse_object(text, origin), text)
    except InputError as error:
        raise InputError(str(error) if origin in str(error) else f"{origin}: {error}") from None


def _config(entries: dict[str, Any], source: str) -> Config:
    if "model_type" not in entries:
        raise InputError(f"has no model_type; add it ({' or '.join(map(repr, _FAMILY))})")
    for name, values in _SUPPORTED.items():
        value = entries.get(name, values[0])
        if value not in values:
            raise InputError(
                f"{name} = {reprlib.repr(value)} is not supported, only "
                f"{' or '.join(map(repr, values))} is"
            )

    entries = _FAMILY[entries["model_type"]] | entries

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
        rope=rope.parse_rope(entries),
        tie_word_embeddings=entries.get("tie_word_embeddings", False),
        model_type=entries["model_type"],
        source=source,
    )
    if width is None and hidden % heads:
        raise InputError(
            f"hidden_size = {hidden}: must be a multiple of num_attention_heads = {heads} unless "
            "head_dim is set"
        )
    if not isinstance(length := entries[_LENGTH], int) or isinstance(length, bool) or length < 1:
        raise InputError(f"{_LENGTH} = {reprlib.repr(length)}: must be a positive integer")
    window, types = windows.parse_windows(entries, config.num_hidden_layers)
    return dataclasses.replace(
        config,
        sliding_window=window,
        layer_types=types,
        head_dim=hidden // heads if width is None else width,
        rms_norm_eps=float(config.rms_norm_eps),
    )


def notice_length(length: int, config: Config) -> None:
    """Warn if windows of tokens are longer than the config.json that was read allows."""
    if entries := json.loads(config.source):
        most = (_FAMILY[config.model_type] | entries)[_LENGTH]
        if length > most:
            notice(
                f"windows of {length} tokens exceed {_LENGTH} = {most}: the model was not trained "
                f"at later positions, and perplexities there mean little; use a window "
                f"(--window) of at most {most}"
            )


def dump(config: Config, dtype: str) -> str:
    """Write the config.json of a checkpoint.

    It has the entries that were read, or else those that transformers needs, updated where the
    Config differs from them.
    """
    entries = json.loads(config.source)
    special = ("rope", "sliding_window", "layer_types", "source")
    plain = [f.name for f in dataclasses.fields(config) if f.name not in special]
    window = windows.to_entries(
        config.model_type, config.sliding_window, config.layer_types, config.num_hidden_layers
    )
    if entries:
        read = _config(entries, config.source)
        changed = [name for name in plain if getattr(read, name) != getattr(config, name)]
        moved = read.rope != config.rope
        window_fields = ("model_type", "num_hidden_layers", "sliding_window", "layer_types")
        if all(getattr(read, name) == getattr(config, name) for name in window_fields):
            window = {}
        else:
            entries.pop("layer_types", None)
    else:
        entries = {
            "architectures": [_ARCHITECTURES[config.model_type]],
            "hidden_act": "silu",
            "attention_bias": False,
            "mlp_bias": False,
            _LENGTH: config.rope.original_length,
        }
        changed, moved = plain, True
    entries |= {name: getattr(config, name) for name in changed} | window
    if moved:
        for name in ("rope_parameters", "original_max_position_embeddings"):
            entries.pop(name, None)
        entries |= rope.to_entries(config.rope)
    for name in ("torch_dtype", "dtype"):
        if name in entries or name == "torch_dtype":
            entries[name] = dtype
    return json.dumps(entries, indent=2) + "\n"
