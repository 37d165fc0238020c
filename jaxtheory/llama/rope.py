"""Rotary position encodings, as a config.json may write them and transformers 5 reads them."""

import reprlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxtheory.core.errors import InputError

_REQUIRED = {
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
}
"""Each kind that is supported -> the entries it cannot do without."""
_LARGEST = 1e300


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


def check(rope: Rope) -> None:
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


def read(entries: Mapping[str, Any]) -> Rope:
    """The encoding that the entries of a config.json say, by the rules of transformers 5.

    `rope_scaling`, where it says anything, replaces `rope_parameters`; `rope_theta` inside either
    goes before the one outside. For llama3 the original length outside goes before the one inside;
    where there is none, `max_position_embeddings` is taken. Raises InputError for what is missing,
    out of range or not supported.
    """
    place = "rope_scaling" if entries.get("rope_scaling") else "rope_parameters"
    given = entries.get(place) or {}
    if not isinstance(given, dict):
        raise InputError(f"{place} = {reprlib.repr(given)}: must be an object")
    for name, value in given.items():
        if isinstance(value, dict):
            raise InputError(
                f"{place}: {reprlib.repr(name)} has entries of its own: rotary encodings that "
                "differ from layer to layer are not supported"
            )
    partial = [given.get("partial_rotary_factor", 1.0)]
    partial += [found for found in [entries.get("partial_rotary_factor")] if found is not None]
    for factor in partial:
        if factor != 1.0:
            raise InputError(
                f"partial_rotary_factor = {reprlib.repr(factor)} is not supported, only 1.0 is"
            )
    kind: Any = given.get("rope_type", given.get("type", "default"))
    theta: Any = given.get("rope_theta", entries.get("rope_theta", 10000.0))
    check(Rope(kind=kind))
    for name in _REQUIRED[kind]:
        if name not in given:
            raise InputError(f"{place}: rope_type = {kind!r} needs {name}; add it")
    rope = Rope(theta, kind)
    if kind != "default":
        rope = rope._replace(factor=given["factor"])
    if kind == "llama3":
        name = "original_max_position_embeddings"
        inside = given.get(name, entries.get("max_position_embeddings", 2048))
        rope = rope._replace(
            low_frequency=given["low_freq_factor"],
            high_frequency=given["high_freq_factor"],
            original_length=entries.get(name, inside),
        )
    check(rope)
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


def written(rope: Rope) -> dict[str, Any]:
    """The entries of a config.json that say a Rope, to transformers 4 and 5."""
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
