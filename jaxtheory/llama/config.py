"""The hyper-parameters of a Llama, read from and written to the config.json of a checkpoint."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxtheory.core.errors import InputError

ROPE_KINDS = ("default", "linear", "llama3")


class Rope(NamedTuple):
    """Rotary position encoding: base theta of the wave lengths and how they are stretched.

    kind "default": not at all; "linear": by `factor`; "llama3": wave lengths above
    original_length / low_frequency by `factor`, those below original_length / high_frequency not,
    those between by an interpolation.
    """

    theta: float = 10000.0
    kind: str = "default"
    factor: float = 1.0
    low_frequency: float = 1.0
    high_frequency: float = 4.0
    original_length: int = 8192


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
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} = {value!r}: must be an integer in [1, inf)")
        H, G = self.num_attention_heads, self.num_key_value_heads
        if H % G:
            raise InputError(
                f"num_attention_heads = {H}: must be a multiple of num_key_value_heads = {G}"
            )
        if self.head_dim % 2:
            raise InputError(
                f"head_dim = {self.head_dim}: must be even, rotary encodings turn pairs of entries"
            )
        if self.rope.kind not in ROPE_KINDS:
            raise InputError(
                f"rope_type = {self.rope.kind!r}: not supported, one of {', '.join(ROPE_KINDS)} is"
            )


def parse(text: str, origin: str) -> Config:
    """The Config that a config.json (of any version of transformers) says; origin: the file, for
    messages. Raises InputError for what is no Llama or differs from one (biases, other
    activations).
    """
    try:
        entries = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{origin}: no JSON ({error})") from None
    if not isinstance(entries, dict):
        raise InputError(f"{origin}: must be a JSON object, is a {type(entries).__name__}")
    for name, wanted in {
        "model_type": "llama",
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
    }.items():
        if entries.get(name, wanted) != wanted:
            raise InputError(
                f"{origin}: {name} = {entries[name]!r} is not supported, only {wanted!r} is"
            )
    if "model_type" not in entries:
        raise InputError(f"{origin}: has no model_type, so it may be no Llama; add it ('llama')")
    try:
        hidden, heads = entries["hidden_size"], entries["num_attention_heads"]
        given = entries.get("head_dim")
        if given is None and hidden % heads:
            raise InputError(
                f"{origin}: hidden_size = {hidden} must be a multiple of num_attention_heads = "
                f"{heads}, or head_dim be given"
            )
        return Config(
            vocab_size=entries["vocab_size"],
            hidden_size=hidden,
            intermediate_size=entries["intermediate_size"],
            num_hidden_layers=entries["num_hidden_layers"],
            num_attention_heads=heads,
            num_key_value_heads=entries.get("num_key_value_heads") or heads,
            head_dim=hidden // heads if given is None else given,
            rms_norm_eps=float(entries.get("rms_norm_eps", 1e-6)),
            rope=_rope(entries),
            tie_word_embeddings=bool(entries.get("tie_word_embeddings", False)),
            source=text,
        )
    except KeyError as missing:
        raise InputError(f"{origin}: has no {missing.args[0]}") from None
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"{origin}: not the config of a Llama ({error})") from None
    except InputError as error:
        raise InputError(str(error) if origin in str(error) else f"{origin}: {error}") from None


def _rope(entries: Mapping[str, Any]) -> Rope:
    """Rotary encodings of a config.json: `rope_theta` and `rope_scaling`, or both in
    `rope_parameters`.
    """
    given = {**(entries.get("rope_scaling") or {}), **(entries.get("rope_parameters") or {})}
    if given.get("partial_rotary_factor", 1.0) != 1.0:
        raise InputError("partial_rotary_factor is not supported, only 1.0 is")
    return Rope(
        theta=float(given.get("rope_theta", entries.get("rope_theta", 10000.0))),
        kind=given.get("rope_type", given.get("type", "default")),
        factor=float(given.get("factor", 1.0)),
        low_frequency=float(given.get("low_freq_factor", 1.0)),
        high_frequency=float(given.get("high_freq_factor", 4.0)),
        original_length=int(given.get("original_max_position_embeddings", 8192)),
    )


def dump(config: Config, dtype: str) -> str:
    """The config.json of a checkpoint: what was read, or else what transformers needs."""
    entries = json.loads(config.source)
    if not entries:
        entries = {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_act": "silu",
            "attention_bias": False,
            "mlp_bias": False,
            "max_position_embeddings": config.rope.original_length,
            "rope_theta": config.rope.theta,
        }
        if config.rope.kind != "default":
            entries["rope_scaling"] = {
                "rope_type": config.rope.kind,
                "factor": config.rope.factor,
                "low_freq_factor": config.rope.low_frequency,
                "high_freq_factor": config.rope.high_frequency,
                "original_max_position_embeddings": config.rope.original_length,
            }
        plain = (f for f in dataclasses.fields(config) if f.name not in ("rope", "source"))
        entries |= {f.name: getattr(config, f.name) for f in plain}
    for name in ("torch_dtype", "dtype"):
        if name in entries or name == "torch_dtype":
            entries[name] = dtype
    return json.dumps(entries, indent=2) + "\n"
