"""Theories whose numbers are known not to depend on the padding of their arrays, which a sweep may
therefore pad.
"""

import os
from pathlib import Path

import jax

from jaxtheory.core.code_hash import code_hash
from jaxtheory.core.contract import ships
from jaxtheory.core.theory import Theory

_passed: set[str] = set()  # digests, of this process


def trusted(theory: Theory) -> bool:
    """Whether a theory's numbers are known not to depend on padding: by this process, or one before
    that left a note beside the compilation cache.
    """
    if ships(theory):
        return True
    digest = _digest_of(theory)
    return digest in _passed or ((place := _notes()) is not None and (place / digest).is_file())


def believe(theory: Theory) -> None:
    """Take it, in this process, that a theory's numbers do not depend on padding."""
    _passed.add(_digest_of(theory))


def trust(theory: Theory) -> None:
    """Remember that a theory's numbers do not depend on padding."""
    digest = _digest_of(theory)
    _passed.add(digest)
    if (place := _notes()) is not None:
        try:
            place.mkdir(parents=True, exist_ok=True)
            (place / digest).touch()
        except OSError:  # the next process compares again
            return


def _digest_of(theory: Theory) -> str:
    """A checksum of the functions of a theory that padding may touch."""
    return code_hash([theory._replace(checks=())])


def _notes() -> Path | None:
    """Where the digests of theories lie that have passed, or None without a compilation cache."""
    place = getattr(jax.config, "jax_compilation_cache_dir", None)
    return Path(os.fspath(place)) / "padding" if place else None
