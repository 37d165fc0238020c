"""The entries of the JSON record of a figure, and reading it from a folder with other files."""

import json
from pathlib import Path
from types import NoneType
from typing import Any

_BYTES = 16 << 20  # a record has about 20 KB, so a larger file is not a record
_Kinds = dict[str, tuple[type, ...]]
_ENTRIES: _Kinds = {
    **dict.fromkeys(("figure", "theory", "question", "source", "store"), (str,)),
    **dict.fromkeys(("command", "changes", "setup", "model", "drawn", "title", "caption"), (str,)),
    **dict.fromkeys(("runs", "versions", "claims", "files"), (dict,)),
    **dict.fromkeys(("stores", "panels"), (list,)),
    "key": (int,),
    "quick": (bool,),
    "seconds": (int, float),
    "gradient": (dict, NoneType),
}
_CLAIM: _Kinds = {
    **dict.fromkeys(("statement", "origin", "source", "expected"), (str,)),
    **dict.fromkeys(("bound", "finding", "outcome", "why", "decision", "number", "line"), (str,)),
    **dict.fromkeys(("measured", "q", "law"), (int, float, NoneType)),
    "rejects_law": (bool,),
    "interval": (list, NoneType),
    "numbers": (list,),
    "threshold": (int, float, str, NoneType),
    **dict.fromkeys(("n", "satisfied", "undefined", "equal", "seeds_needed"), (int, NoneType)),
}
_GRADIENT: _Kinds = {
    "error": (int, float, NoneType),
    "tolerance": (int, float),
    "agrees": (bool,),
    "code": (str,),
}
# which records of earlier versions lack
_LATER: dict[str, Any] = {
    **dict.fromkeys(("drawn", "title", "caption", "changes"), ""),
    "files": {},
    "stores": [],
    "panels": [],
}
_LATER_OF_CLAIM: dict[str, Any] = {
    **dict.fromkeys(("q", "satisfied", "undefined", "equal", "law", "interval", "seeds_needed")),
    **dict.fromkeys(("why", "number", "line"), ""),
    "numbers": [],
    "rejects_law": False,
    "decision": "not tested",
}


class NotARecordError(ValueError):
    """A file is not the record of a figure; the message is the reason."""


def read_record(file: Path) -> dict[str, Any]:
    """Read the record in a file, or raise NotARecordError."""
    try:
        if not file.is_file():
            raise NotARecordError("not a regular file")
        if file.stat().st_size > _BYTES:
            raise NotARecordError("too large for a record")
        parsed = json.loads(file.read_bytes())
        json.dumps(parsed, ensure_ascii=False).encode()  # fails for unpaired surrogates
    except OSError as error:
        raise NotARecordError(f"it cannot be read ({error.strerror or error})") from None
    except RecursionError:
        raise NotARecordError("it is nested too deeply") from None
    except NotARecordError:
        raise
    except ValueError:
        raise NotARecordError("it is not valid JSON") from None
    if not isinstance(parsed, dict) or not {"figure", "claims"} <= {*parsed}:
        raise NotARecordError("it is not a record of jaxtheory run")
    record = _LATER | parsed
    _require(record, _ENTRIES, "")
    for name, claim in record["claims"].items():
        if not isinstance(claim, dict):
            raise NotARecordError(f"its claims.{name} is not an object")
        record["claims"][name] = _LATER_OF_CLAIM | claim
        _require(record["claims"][name], _CLAIM, f"claims.{name}.")
        _require_interval(record["claims"][name]["interval"], name)
    if record["gradient"] is not None:
        _require(record["gradient"], _GRADIENT, "gradient.")
    return record


def _require_interval(ends: Any, name: str) -> None:
    """Raise NotARecordError unless it is None or two numbers, each of which may be None."""
    kinds = (int, float, NoneType)
    if ends is not None and (len(ends) != 2 or not all(isinstance(end, kinds) for end in ends)):
        raise NotARecordError(f"its claims.{name}.interval is not a pair of numbers")


def _require(entries: dict[str, Any], kinds: _Kinds, where: str) -> None:
    for name, kind in kinds.items():
        if name not in entries:
            raise NotARecordError(f"it has no {where}{name}")
        value = entries[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and bool not in kind):
            raise NotARecordError(f"its {where}{name} is a {type(value).__name__}")
