"""The versions that pyproject.toml asks for, and those of constraints.txt."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINNED = {
    canonicalize_name(name): Version(version)
    for name, version in re.findall(
        r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
}


def requirements() -> list[Requirement]:
    """What the package and its extras need, accelerators and itself aside."""
    extras = PROJECT["optional-dependencies"]
    texts = [t for name, group in extras.items() if name not in ("cuda", "tpu") for t in group]
    entries = [Requirement(text) for text in (*PROJECT["dependencies"], *texts)]
    return [one for one in entries if one.name != "jaxtheory"]


def test_the_tested_set_has_what_is_asked_for() -> None:
    for one in requirements():
        assert PINNED[canonicalize_name(one.name)] in one.specifier, one


def test_no_numcodecs_that_runs_pickles() -> None:
    """Before 0.16.6 a Zarr store of the second format could name a pickle as a filter."""
    (bound,) = (one for one in requirements() if one.name == "numcodecs")
    assert Version("0.16.5") not in bound.specifier and Version("0.16.6") in bound.specifier
