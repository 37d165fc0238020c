"""The first difference between the runs of a store and those of a request, in one line."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxtheory.texts.errors import InputError

_FEW = 6  # values that are listed one by one
_HASHES = ("start", "stop")  # entries of which only a hash is stored
_ELSEWHERE = "choose another directory for store="


def refuse(
    path: Path,
    stored: tuple[Mapping[str, Any], Mapping[str, Any]],
    requested: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> None:
    """Raise InputError with the first thing that differs between two kinds of runs.

    stored, requested: what decides the numbers of runs, and a grid of such runs.
    """
    (old, old_grid), (new, new_grid) = stored, requested
    words = sorted({*_swept(old), *_swept(new)})
    values = [(word, _values(old, old_grid, word), _values(new, new_grid, word)) for word in words]
    lines = [
        _sentence(word, old_value, new_value)
        for word, old_value, new_value in values
        if (word in _swept(old)) != (word in _swept(new))
    ]
    configs = old.get("config", {}), new["config"]
    for field in sorted({*configs[0], *configs[1]} - {*words}):
        if configs[0].get(field) != configs[1].get(field):
            lines.append(_sentence(field, *(_plain(config.get(field)) for config in configs)))
    skipped = {"config", "axes", "code", *(["algorithm"] if "algorithm" in words else [])}
    for entry in sorted({*old, *new} - skipped):
        old_value, new_value = old.get(entry), new.get(entry)
        if old_value != new_value:
            lines.append(_sentence(entry, _entry(entry, old_value), _entry(entry, new_value)))
    if not lines and _names(old) != _names(new):
        lines = [_sentence("axes", ", ".join(_names(old)), ", ".join(_names(new)))]
    if lines:
        raise InputError(f"{path} holds other runs, {lines[0]}; {_ELSEWHERE}")
    old_code, new_code = old.get("code") or {}, new["code"]
    edited = [name for name in new_code if name in old_code and old_code[name] != new_code[name]]
    if edited:
        raise InputError(
            f"{path}: the code of {new['theory']} has changed since ({', '.join(edited)}); "
            f"{_ELSEWHERE}"
        )


def _swept(runs: Mapping[str, Any]) -> list[str]:
    return [word for axis in runs.get("axes", ()) for word in axis["fields"]]


def _names(runs: Mapping[str, Any]) -> list[str]:
    return [str(axis["name"]) for axis in runs.get("axes", ())]


def _values(runs: Mapping[str, Any], grid: Mapping[str, Any], word: str) -> str:
    """The values of a field that is on an axis of one of two sweeps."""
    for axis in grid.get("axes", ()):
        if word in axis["values"]:
            return _plain(axis["values"][word])
    if word in ("algorithm", "steps"):
        return _plain(grid.get(word))
    return _plain(runs.get("config", {}).get(word))


def _entry(name: str, value: Any) -> str:
    if value is None:
        return "none"
    return "another one" if name in _HASHES else _plain(value)


def _sentence(name: str, stored: str, requested: str) -> str:
    if stored == requested:  # the one is on an axis
        return f"{name}, which is on an axis of one of them only"
    return f"{name}: stored {stored}; requested {requested}"


def _plain(value: Any) -> str:
    """A value in words; of a long list the first entries, the last one and the number."""
    if isinstance(value, dict) and value.keys() == {"n", "capacity"}:
        return str(value["n"])
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(entry)}" for name, entry in value.items()) or "none"
    if isinstance(value, list):
        if len(value) > _FEW:
            head = ", ".join(map(_plain, value[:3]))
            return f"{head}, ..., {_plain(value[-1])} ({len(value)} values)"
        return ", ".join(map(_plain, value)) or "none"
    return "none" if value is None else str(value)
