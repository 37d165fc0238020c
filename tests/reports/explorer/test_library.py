"""plotly.js as a page contains it, and what is said without it."""

import base64
import gzip
import hashlib
import importlib.util

import pytest

from jaxtheory import InputError
from jaxtheory.reports.explorer.library import allowed, library, require_library


def test_it_is_plotly_with_its_hash():
    script = library()
    source = gzip.decompress(base64.b64decode(script.text))
    assert b"plotly.js" in source[:200] and len(source) > 1_000_000
    digest = base64.b64encode(hashlib.sha256(source).digest()).decode()
    assert script.allowed == allowed(source) == f"'sha256-{digest}'"


def test_without_the_package_there_is_one_sentence(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "plotly" else find(name)
    )
    with pytest.raises(InputError) as refused:
        require_library()
    wanted = "explore needs the package plotly: pip install 'jaxtheory[explore]'"
    assert str(refused.value) == wanted
