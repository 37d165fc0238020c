"""Sliding windows of the attention and their entries in a config.json, as in transformers 5.

With a window of w, position i sees the positions j with i - w < j <= i.
"""

import reprlib
from collections.abc import Mapping
from typing import Any

from jaxtheory.texts.errors import InputError

FULL, SLIDING = "full_attention", "sliding_attention"
_LARGEST = 2**31 - 1


def check_windows(
    model_type: str, sliding_window: Any, layer_types: tuple[str, ...], layers: int
) -> None:
    """Raise InputError unless a model of this type can have these windows."""
    if sliding_window is not None:
        number = isinstance(sliding_window, int) and not isinstance(sliding_window, bool)
        if not number or not 1 <= sliding_window <= _LARGEST:
            raise InputError(
                f"sliding_window = {reprlib.repr(sliding_window)}: must be null or an integer in "
                f"[1, {_LARGEST}]"
            )
        if model_type == "llama":
            raise InputError(f"sliding_window = {sliding_window}: a Llama must have None")
    if layer_types:
        _check_types(layer_types, layers)
        if model_type == "llama":
            raise InputError("layer_types: must be empty if model_type = 'llama'")
        if sliding_window is None:
            raise InputError(f"layer_types: {SLIDING} needs sliding_window")


def _check_types(types: Any, layers: int) -> None:
    """Raise InputError unless there is one known type for each layer."""
    if not isinstance(types, list | tuple) or len(types) != layers:
        raise InputError(
            f"layer_types = {reprlib.repr(types)}: must have one entry for each of the "
            f"num_hidden_layers = {layers} layers"
        )
    for kind in types:
        if kind not in (FULL, SLIDING):
            raise InputError(
                f"layer_types: {reprlib.repr(kind)} is not supported, only {FULL} and {SLIDING} are"
            )


def parse_windows(entries: Mapping[str, Any], layers: int) -> tuple[int | None, tuple[str, ...]]:
    """Return sliding_window and layer_types of a Config from the entries of a config.json.

    The second is empty if all layers are alike. The entries have their defaults. A Mistral without
    layer_types has the window in all layers; transformers takes one with layer_types for a
    Ministral.
    """
    model_type, types = entries["model_type"], entries.get("layer_types")
    if model_type == "llama":
        return None, ()
    window: Any = entries["sliding_window"]
    if model_type == "mistral" and types is None:
        return window, ()
    used = model_type == "mistral" or entries["use_sliding_window"]
    if not isinstance(used, bool):
        raise InputError(f"use_sliding_window = {reprlib.repr(used)}: must be true or false")
    window = window if used else None
    if types is None and window is None:
        return None, ()
    if types is None:
        first = entries["max_window_layers"]
        if isinstance(first, bool) or not isinstance(first, int):
            raise InputError(f"max_window_layers = {reprlib.repr(first)}: must be an integer")
        first = min(max(first, 0), layers)
        types = [FULL] * first + [SLIDING] * (layers - first)
    _check_types(types, layers)
    if SLIDING not in types:
        return None, ()
    if window is None:
        raise InputError(
            f"layer_types: {SLIDING} needs a number as sliding_window (and, in a Qwen, "
            "use_sliding_window = true)"
        )
    return window, tuple(types) if FULL in types else ()


def to_entries(
    model_type: str, sliding_window: int | None, layer_types: tuple[str, ...], layers: int
) -> dict[str, Any]:
    """Return the entries of a config.json for windows."""
    if model_type == "llama":
        return {}
    alike = FULL if sliding_window is None else SLIDING
    types = {"layer_types": list(layer_types) or [alike] * layers}
    if model_type == "mistral":
        return {"sliding_window": sliding_window} | (types if layer_types else {})
    return {
        "use_sliding_window": sliding_window is not None,
        "sliding_window": sliding_window,
        **types,
    }
