"""Versions that decide the bits of a result: those that a store was begun under, compared with the
present ones, and those that a user has accepted since.
"""

import json
import os
import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import jax

from jaxtheory.core.errors import InputError
from jaxtheory.engine.results.store import Store, manifest_checksum
from jaxtheory.system.disk import synced
from jaxtheory.system.locks import locked
from jaxtheory.system.temporary import beside

_PACKAGES = ("jax", "jaxlib", "numpy", "optax")
_ACCEPTED = "accepted_versions"  # an entry of the manifest, and an attribute of the dataset

_Versions = dict[str, str]


def _present() -> _Versions:
    """The versions of this process, and the backend that JAX computes on. The minor version of
    Python counts: its `sum` of floats changed in 3.12.
    """
    python = _minor(platform.python_version())
    packages = {name: metadata.version(name) for name in _PACKAGES}
    return {"python": python, "backend": jax.default_backend(), **packages}


def _minor(version: str) -> str:
    """The first two numbers of a version."""
    return ".".join(version.split(".")[:2])


def _begun_under(manifest: Mapping[str, Any]) -> _Versions:
    """Those of the versions in a manifest that decide the bits."""
    stored = manifest["versions"]
    found = {name: str(stored[name]) for name in ("backend", *_PACKAGES) if name in stored}
    return found | ({"python": _minor(str(stored["python"]))} if "python" in stored else {})


def _accepted(manifest: Mapping[str, Any]) -> list[_Versions]:
    """The versions other than the first under which a store was continued."""
    return list(manifest.get(_ACCEPTED, ()))


def require_versions(store: Store, accept: bool) -> dict[str, str]:
    """Compare the present versions with those that a store was begun under. Where they differ, keep
    the present ones in the manifest if they are accepted.

    Args:
        store: a store with a manifest.
        accept: whether other versions are accepted.

    Returns:
        What the dataset says of it: all versions that were accepted, as JSON; empty for none.

    Raises:
        InputError: the versions differ, and are neither accepted now nor were before.
    """
    manifest = dict(store.manifest or {})
    here, stored = _present(), _begun_under(manifest)
    others = [name for name in stored if stored[name] != here[name]]
    if not others or here in _accepted(manifest):
        return _told(manifest)
    if not accept:
        said = ", ".join(f"{name} {stored[name]}, now {name} {here[name]}" for name in others)
        raise InputError(
            f"{store.path} was begun under {said}, which may compute other bits; install the "
            "stored version, choose another store directory, or accept the present one by "
            "--accept-versions (accept_versions=True)"
        )
    file = store.path / "manifest.json"
    try:
        with locked(store.path / ".lock"), beside(file) as temporary:
            whole = json.loads(file.read_text(encoding="utf-8"))
            kept = _accepted(whole)
            whole[_ACCEPTED] = kept if here in kept else [*kept, here]
            whole["digest"] = manifest_checksum({k: v for k, v in whole.items() if k != "digest"})
            synced(temporary, json.dumps(whole, indent=1).encode())
            os.replace(temporary, file)
    except OSError as error:
        raise InputError(
            f"store {store.path}: {error.strerror or error}; choose a directory that can be written"
        ) from None
    store.manifest = {**manifest, _ACCEPTED: whole[_ACCEPTED]}
    return _told(store.manifest)


def _told(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The attribute of a dataset that holds the accepted versions, where there are any."""
    found = _accepted(manifest)
    return {_ACCEPTED: json.dumps(found)} if found else {}
