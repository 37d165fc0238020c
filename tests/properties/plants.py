"""Faults planted in the store, each of which a program of `attack` must find."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from jaxtheory.engine import cover
from jaxtheory.engine.store import packed, store
from jaxtheory.engine.store.states import PriorRuns
from jaxtheory.engine.store.store import Store

Plant = tuple[Any, str, Callable[[Any], Any]]  # where, what, and the wrong version of it


def _seeds(right: Any) -> Any:
    """The places of seeds are off by one."""

    def places(part: Any, content: Any) -> Any:
        if (at := right(part, content)) is not None:
            at[-1] = np.where(at[-1] < 0, -1, (at[-1] + 1) % len(content["seeds"]))
        return at

    return places


def _early(_right: Any) -> Any:
    """Records before the step from which a run went on are lost."""
    return lambda _before, part: part


def _outputs(right: Any) -> Any:
    """A rectangle of other steps is taken."""
    return lambda content, identity: right(
        {**content, "steps": identity["steps"]}, {**identity, "record": content["record"]}
    )


def _name(right: Any) -> Any:
    """The part of a chunk is published under the name of the first."""

    def write(self: Any, rectangle: Any, chunk: str, *arguments: Any) -> None:
        right(self, rectangle, chunk if arguments[2:] else rectangle.chunks[0], *arguments)

    return write


def _overwrites(_right: Any) -> Any:
    """Published files are overwritten."""

    def publish(file: Path, data: bytes, _intact: Any = None) -> None:
        with store.temporary_sibling(file) as temporary:
            temporary.write_bytes(data)
            os.replace(temporary, file)

    return publish


def _intact(_right: Any) -> Any:
    """A damaged part counts as intact."""
    return lambda *_: True


def _finished(_right: Any) -> Any:
    """Runs of an unfinished rectangle count as finished."""
    return lambda _store, piece, shape: cover._mask(shape, piece.places)


def _states(right: Any) -> Any:
    """Runs go on from the states of other seeds."""
    return lambda self, kind, points, seeds: right(
        self, kind, points, np.roll(seeds, 1) if kind == "state" else seeds
    )


def _code(_right: Any) -> Any:
    """Code is not compared."""
    drop = lambda runs: {name: value for name, value in runs.items() if name != "code"}
    return lambda stored, runs: drop(stored) == drop(runs)


PLANTS: dict[str, list[Plant]] = {
    "seeds": [(cover, "places", _seeds)],
    "early": [(PriorRuns, "prepend_records", _early)],
    "outputs": [(cover, "has_outputs", _outputs)],
    "name": [(Store, "write", _name)],
    "overwrites": [(store, "publish", _overwrites)],
    "intact": [(packed, "is_intact", _intact)],
    "finished": [(cover, "_finished", _finished)],
    "states": [(PriorRuns, "_entries", _states)],
    "code": [(cover, "is_same", _code), (store, "is_same", _code)],
}


@contextlib.contextmanager
def planted(name: str | None) -> Iterator[None]:
    """Within: the store has this fault."""
    with contextlib.ExitStack() as stack:
        for owner, attribute, wrong in PLANTS[name] if name else []:
            version = wrong(getattr(owner, attribute))
            stack.enter_context(mock.patch.object(owner, attribute, version))
        yield
