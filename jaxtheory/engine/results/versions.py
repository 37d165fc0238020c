"""Versions of software that decide the bits of a result.

Each part tells the versions that computed it, and each rectangle those under which it was begun.
Reading never compares them; a sweep that computes more does.
"""

import json
from collections.abc import Iterable, Mapping

from jaxtheory.engine.results.environment import present
from jaxtheory.texts.errors import InputError

ACCEPTED = "accepted_versions"  # an attribute of the dataset

Versions = Mapping[str, str]


def require_present(path: object, stored: Iterable[Versions], accept: bool) -> None:
    """Raise InputError if parts that a sweep adds to were begun under other versions.

    Args:
        path: The store, for the message.
        stored: The versions of its rectangles and parts.
        accept: True to accept other versions. Those of this process are accepted, too, if a part
            was computed under them.
    """
    now, all_versions = present(), list(stored)
    mismatches = [versions for versions in all_versions if versions != now]
    if accept or not mismatches or now in all_versions:
        return
    first = mismatches[0]
    changes = ", ".join(
        f"{name} {first.get(name) or 'none'}, now {name} {now.get(name) or 'none'}"
        for name in {**first, **now}
        if first.get(name) != now.get(name)
    )
    raise InputError(
        f"{path} was begun under {changes}, which may compute other bits; install the stored "
        "version, choose another directory for store=, or accept the present version with "
        "--accept-versions (accept_versions=True)"
    )


def attribute(stored: Iterable[Versions]) -> dict[str, str]:
    """Return the attribute of a dataset whose parts were computed under several versions."""
    distinct: list[Versions] = []
    for versions in stored:
        if versions and versions not in distinct:
            distinct.append(versions)
    return {ACCEPTED: json.dumps(distinct[1:], sort_keys=True)} if len(distinct) > 1 else {}
