"""Rotary position encodings and their entries in a config.json, by the rules of transformers 5."""

import reprlib
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxtheory.texts.errors import InputError

_REQUIRED = {
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
}
"""The supported kinds with their required entries."""
_LARGEST = 1e300


class Rope(NamedTuple):
    """Rotary position encoding: the base of its wavelengths and their scaling.

    Args:
        theta: The base of the wavelengths: pair i of a head of width e has the wavelength
            2 pi theta^(2 i / e), in positions.
        kind: "default" does not scale; "linear" scales by `factor`; "llama3" scales wavelengths
            above original_length / low_frequency by `factor`, leaves those below original_length /
            high_frequency unchanged, and interpolates between the two.
        factor: The factor of "linear" and "llama3".
        low_frequency: The divisor of original_length for the upper wavelength of "llama3".
        high_frequency: The divisor of original_length for the lower wavelength of "llama3".
        original_length: The number of positions of the original training, for "llama3".

    Example:
        >>> from jaxtheory import llama
        >>> llama.Rope(theta=500000.0, kind="llama3", factor=8.0).original_length
        8192
    """

    theta: float = 10000.0
    kind: Literal["default", "linear", "llama3"] = "default"
    factor: float = 1.0
    low_frequency: float = 1.0
    high_frequency: float = 4.0
    original_length: int = 8192


def frequencies(rope: Rope, width: int) -> Float[np.ndarray, " half"]:
    """Return theta^(-2i/e), i < e/2, in radians per position, scaled; width: e."""
    base = rope.theta ** (-np.arange(0, width, 2) / width)
    if rope.kind == "linear":
        return base / rope.factor
    if rope.kind == "llama3":
        turns = rope.original_length * base / (2 * np.pi)  # over the original length
        low, high = rope.low_frequency, rope.high_frequency
        between = (high >= turns) & (turns >= low) & (high > low)
        share = np.where(between, (turns - low) / (high - low or 1.0), turns >= low)
        return share * base + (1 - share) * base / rope.factor
    return base


def check_rope(rope: Rope) -> None:
    """Raise InputError for a kind that is not supported or a number out of range."""
    if not isinstance(rope.kind, str) or rope.kind not in _REQUIRED:
        raise InputError(
            f"rope_type = {reprlib.repr(rope.kind)} is not supported, only "
            f"{', '.join(_REQUIRED)} are"
        )
    for name, value in {
        "rope_theta": rope.theta,
        "factor": rope.factor,
        "low_freq_factor": rope.low_frequency,
        "high_freq_factor": rope.high_frequency,
        "original_max_position_embeddings": rope.original_length,
    }.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value < _LARGEST:
            raise InputError(f"{name} = {reprlib.repr(value)}: must be a positive number")


def parse_rope(entries: Mapping[str, Any]) -> Rope:
    """Parse the encoding from the entries of a config.json and their defaults, as transformers 5.

    A non-empty `rope_scaling` replaces `rope_parameters`. `rope_theta` inside either takes
    precedence over the one outside. For llama3 the original length outside takes precedence over
    the one inside; the default is `max_position_embeddings`. Entries that are missing, out of range
    or not supported raise InputError.
    """
    place = "rope_scaling" if entries.get("rope_scaling") else "rope_parameters"
    scaling = entries.get(place) or {}
    if not isinstance(scaling, dict):
        raise InputError(f"{place} = {reprlib.repr(scaling)}: must be an object")
    for name, value in scaling.items():
        if isinstance(value, dict):
            raise InputError(
                f"{place}: {reprlib.repr(name)} is an object: rotary encodings that differ from "
                "layer to layer are not supported"
            )
    partial = [scaling.get("partial_rotary_factor", 1.0)]
    partial += [x for x in [entries.get("partial_rotary_factor")] if x is not None]
    for factor in partial:
        if factor != 1.0:
            raise InputError(
                f"partial_rotary_factor = {reprlib.repr(factor)} is not supported, only 1.0 is"
            )
    kind: Any = scaling.get("rope_type", scaling.get("type", "default"))
    theta: Any = scaling.get("rope_theta", entries.get("rope_theta", 10000.0))
    check_rope(Rope(kind=kind))
    for name in _REQUIRED[kind]:
        if name not in scaling:
            raise InputError(f"{place}: rope_type = {kind!r} needs {name}; add it")
    rope = Rope(theta, kind)
    if kind != "default":
        rope = rope._replace(factor=scaling["factor"])
    if kind == "llama3":
        name = "original_max_position_embeddings"
        inside = scaling.get(name, entries["max_position_embeddings"])
        rope = rope._replace(
            low_frequency=scaling["low_freq_factor"],
            high_frequency=scaling["high_freq_factor"],
            original_length=entries.get(name, inside),
        )
    check_rope(rope)
    if rope.original_length != int(rope.original_length):
        raise InputError(f"{name} = {rope.original_length!r}: must be an integer")
    return Rope(
        theta=float(rope.theta),
        kind=kind,
        factor=float(rope.factor),
        low_frequency=float(rope.low_frequency),
        high_frequency=float(rope.high_frequency),
        original_length=int(rope.original_length),
    )


def to_entries(rope: Rope) -> dict[str, Any]:
    """Return the entries of a config.json for an encoding, for transformers 4 and 5."""
    scaling: dict[str, Any] = {"rope_type": rope.kind, "factor": rope.factor}
    if rope.kind == "llama3":
        scaling |= {
            "low_freq_factor": rope.low_frequency,
            "high_freq_factor": rope.high_frequency,
            "original_max_position_embeddings": rope.original_length,
        }
    return {
        "rope_theta": rope.theta,
        "rope_scaling": None if rope.kind == "default" else scaling,
    }
