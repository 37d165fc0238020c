"""Theories whose results do not depend on padding, so that a sweep may pad their arrays."""

import os
from pathlib import Path

import jax

from jaxtheory.code.code_hash import code_hash
from jaxtheory.core.contract import ships
from jaxtheory.core.theory import Theory
from jaxtheory.texts.errors import InputError

_passed: set[str] = set()  # digests of theories that passed in this process


def trusted(theory: Theory) -> bool:
    """True if the results of a theory are known not to depend on padding.

    It is known for the theories of jaxtheory, and for those that passed in this process or left a
    note beside the compilation cache in an earlier one.
    """
    if ships(theory):
        return True
    digest = _digest_of(theory)
    return digest in _passed or ((place := _notes()) is not None and (place / digest).is_file())


def believe(theory: Theory) -> None:
    """Assume in this process that the results of a theory do not depend on padding."""
    _passed.add(_digest_of(theory))


def trust(theory: Theory) -> None:
    """Note for later processes that the results of a theory do not depend on padding.

    A theory whose code cannot be hashed is never noted.
    """
    try:
        digest = _digest_of(theory)
    except InputError:
        return
    _passed.add(digest)
    if (place := _notes()) is not None:
        try:
            place.mkdir(parents=True, exist_ok=True)
            (place / digest).touch()
        except OSError:  # the next process has to verify it again
            return


def _digest_of(theory: Theory) -> str:
    """Checksum of the functions of a theory that padding may affect."""
    return code_hash([theory._replace(checks=())])


def _notes() -> Path | None:
    """Folder of notes on theories that passed, or None without a compilation cache."""
    place = getattr(jax.config, "jax_compilation_cache_dir", None)
    return Path(os.fspath(place)) / "padding" if place else None
