"""Damaged entries of the compilation cache; whole sweeps on such a cache stand in test_faults."""

import warnings
import zlib

import jax
import numcodecs.zstd
import pytest

from jaxtheory.engine import cache

WHOLE = {"zlib": zlib.compress(bytes(999)), "zstd": numcodecs.zstd.compress(bytes(999))}
SAID = "Error reading persistent compilation cache entry for 'jit_f': error: incomplete"


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE)
def test_truncated_entries_are_damaged(data):
    assert not cache.damaged(data)
    assert all(cache.damaged(data[:n]) for n in range(len(data)))


@pytest.fixture
def folder(tmp_path):
    """A cache with a damaged and a whole entry of jit_f, and a damaged one of jit_g."""
    for name, data in {"f-1": b"", "f-2": WHOLE["zlib"], "g-1": b""}.items():
        (tmp_path / f"jit_{name}-cache").write_bytes(data)
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    yield tmp_path
    jax.config.update("jax_compilation_cache_dir", before)


def test_a_warning_mends_the_program_it_names(folder, monkeypatch):
    shown = []
    monkeypatch.setattr(warnings, "showwarning", lambda *given, **_: shown.append(str(given[0])))
    cache.watch()
    for said in ("another", SAID, SAID, SAID.replace("incomplete", "again")):
        warnings.showwarning(UserWarning(said), UserWarning, "file", 1)
    assert sorted(file.name for file in folder.iterdir()) == ["jit_f-2-cache", "jit_g-1-cache"]
    assert shown[0] == "another" and len(shown) == 2  # mended without a word; then one line, once
    assert shown[1].startswith(f"compilation cache {folder}: error: incomplete; without it")
