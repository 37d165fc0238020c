"""Versions of software that decide the bits of a result.

The versions under which a store was begun are compared with the present ones, and with those that a
user has accepted since.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from jaxtheory.core.errors import InputError
from jaxtheory.engine.results.environment import NAMES, minor, present
from jaxtheory.engine.results.store import Store, manifest_checksum
from jaxtheory.system.disk import synced
from jaxtheory.system.locks import locked
from jaxtheory.system.temporary import beside

_ACCEPTED = "accepted_versions"  # an entry of the manifest, and an attribute of the dataset

_Versions = dict[str, str]


def _begun_under(manifest: Mapping[str, Any]) -> _Versions:
    """Versions in a manifest that decide the bits."""
    stored = manifest["versions"]
    versions = {name: str(stored[name]) for name in NAMES if name in stored}
    return versions | ({"python": minor(str(stored["python"]))} if "python" in stored else {})


def _accepted(manifest: Mapping[str, Any]) -> list[_Versions]:
    """Versions, other than the first, under which a store was continued."""
    return list(manifest.get(_ACCEPTED, ()))


def require_versions(store: Store, accept: bool) -> dict[str, str]:
    """Compare the present versions with those under which a store was begun.

    If they differ and are accepted, the present ones are noted in the manifest.

    Args:
        store: A store with a manifest.
        accept: True to accept other versions.

    Returns:
        Attributes of the dataset: all versions that were accepted, as JSON, or none.

    Raises:
        InputError: The versions differ, and are accepted neither now nor before.
    """
    manifest = dict(store.manifest or {})
    here, stored = present(), _begun_under(manifest)
    others = [name for name in stored if stored[name] != here[name]]
    if not others or here in _accepted(manifest):
        return attribute(manifest)
    if not accept:
        changes = ", ".join(f"{name} {stored[name]}, now {name} {here[name]}" for name in others)
        raise InputError(
            f"{store.path} was begun under {changes}, which may compute other bits; install the "
            "stored version, choose another directory for store=, or accept the present version "
            "with --accept-versions (accept_versions=True)"
        )
    file = store.path / "manifest.json"
    try:
        with locked(store.path / ".lock"), beside(file) as temporary:
            whole = json.loads(file.read_text(encoding="utf-8"))
            accepted = _accepted(whole)
            whole[_ACCEPTED] = accepted if here in accepted else [*accepted, here]
            whole["digest"] = manifest_checksum({k: v for k, v in whole.items() if k != "digest"})
            synced(temporary, json.dumps(whole, indent=1).encode())
            os.replace(temporary, file)
    except OSError as error:
        raise InputError(
            f"store {store.path}: {error.strerror or error}; choose a writable directory"
        ) from None
    store.manifest = {**manifest, _ACCEPTED: whole[_ACCEPTED]}
    return attribute(store.manifest)


def joined(manifests: Sequence[Mapping[str, Any]], accept: bool) -> list[_Versions]:
    """Return the versions that a store made of several accepts, beside those of its first.

    Raises InputError if the stores were begun under different versions and these are not accepted.
    """
    if not manifests:
        return []
    first, *others = map(_begun_under, manifests)
    for versions in others:
        names = [name for name in {**first, **versions} if first.get(name) != versions.get(name)]
        if names and not accept:
            changes = " and ".join(
                ", ".join(f"{name} {of[name]}" for name in names if name in of)
                for of in (first, versions)
            )
            raise InputError(
                f"the sweeps were begun under {changes}, which may compute other bits; accept that "
                "with --accept-versions (accept_versions=True), and the dataset records it"
            )
    every = [*others, *(versions for manifest in manifests for versions in _accepted(manifest))]
    return [v for i, v in enumerate(every) if v != first and v not in every[:i]]


def noted(manifest: dict[str, Any], accepted: list[_Versions]) -> dict[str, Any]:
    """Return a manifest with a note of accepted versions, if there are any."""
    return manifest | ({_ACCEPTED: accepted} if accepted else {})


def attribute(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the attribute of a dataset with the accepted versions, if there are any."""
    accepted = _accepted(manifest)
    return {_ACCEPTED: json.dumps(accepted)} if accepted else {}
