"""Faults planted in a store, which the programs of `attack` must find."""

import contextlib
from collections.abc import Iterator

PLANTS: dict = {}


@contextlib.contextmanager
def planted(name: str | None) -> Iterator[None]:
    yield
