"""The compilation cache: whose it is, and damaged entries. Sweeps on such a cache: test_faults."""

import os
import subprocess
import sys
import zlib
from pathlib import Path

import jax
import numcodecs.zstd
import pytest

from jaxtheory.cli.main import main
from jaxtheory.system import compilation_cache as cache

ROOT = Path(__file__).parents[2]
WHOLE = {"zlib": zlib.compress(bytes(999)), "zstd": numcodecs.zstd.compress(bytes(999))}


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE)
def test_truncated_entries_are_damaged(data):
    assert not cache._damaged(data)
    assert all(cache._damaged(data[:n]) for n in range(len(data)))


@pytest.fixture
def folder(tmp_path):
    """A cache with a damaged and a whole entry of jit_f, and a damaged one of jit_g."""
    for name, data in {"f-1": b"", "f-2": WHOLE["zlib"], "g-1": b""}.items():
        (tmp_path / f"jit_{name}-cache").write_bytes(data)
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    yield tmp_path
    jax.config.update("jax_compilation_cache_dir", before)


def test_repair_removes_what_is_damaged(folder, capsys):
    assert main(["doctor", "--repair"]) == 0
    assert "2 damaged programs removed" in capsys.readouterr().out
    names = {file.name for file in folder.iterdir()}
    assert "jit_f-2-cache" in names and not names & {"jit_f-1-cache", "jit_g-1-cache"}
    assert cache.repair(folder) == 0


IMPORTED = """
import os, warnings
before = dict(os.environ), warnings.showwarning
import jax
settings = dict(jax.config.values)
import jaxtheory
jaxtheory.Config, jaxtheory.sweep, jaxtheory.verify, jaxtheory.theories.get("random_walk")
assert (dict(os.environ), warnings.showwarning) == before
assert dict(jax.config.values) == settings
"""


def test_importing_changes_nothing_in_the_process():
    own = {k: v for k, v in os.environ.items() if not k.startswith(("JAX", "XDG"))}
    code = [sys.executable, "-c", IMPORTED]
    subprocess.run(code, env=own | {"PYTHONPATH": str(ROOT)}, check=True, timeout=300)


USED = """
import os, sys
if sys.argv[2] == "after":
    import jax
import jaxtheory, jax
jaxtheory.simulate(*(lambda t: (t, t.Config()))(jaxtheory.theories.get("attention_pruning")),
    jaxtheory.run_key(0, 0), steps=1)
print(jax.config.jax_enable_compilation_cache, len(os.listdir(sys.argv[1])) > 0)
"""


def used(folder, order="before", **variables):
    """What a process says of its cache in a folder: whether it uses it, and wrote into it."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("JAX", "XDG"))}
    own |= {"PYTHONPATH": str(ROOT), "JAX_COMPILATION_CACHE_DIR": str(folder)}
    words = [sys.executable, "-c", USED, str(folder), order]
    return subprocess.run(
        words, env=own | variables, capture_output=True, text=True, check=True, timeout=300
    )


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_cache_that_others_can_write_is_not_used(mode, tmp_path):
    tmp_path.chmod(mode)
    done = used(tmp_path)
    assert done.stdout.split() == ["False", "False"]
    assert len(done.stderr.splitlines()) == 1
    assert f"compilation cache {tmp_path}: other users can write to it" in done.stderr


def test_a_cache_of_ones_own_is_used_whenever_jax_is_imported(tmp_path):
    tmp_path.chmod(0o700)
    done = used(tmp_path)
    assert (done.stdout.split(), done.stderr) == (["True", "True"], "")
    tmp_path.chmod(0o770)
    done = used(tmp_path, "after")
    assert done.stdout.split()[0] == "False" and "other users can write to it" in done.stderr


def test_a_cache_of_another_user_is_not_used(tmp_path, monkeypatch):
    tmp_path.chmod(0o755)
    assert cache._distrusted(tmp_path) is None
    owner = tmp_path.stat().st_uid
    if owner:
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    else:
        try:
            os.chown(tmp_path, 12345, -1)
        except PermissionError:
            pytest.skip("this user cannot give a folder away")
    assert "it belongs to another user" in str(cache._distrusted(tmp_path))


def test_the_cache_is_made_for_its_user_alone(tmp_path):
    place = tmp_path / "cache" / "jaxtheory"
    own = {k: v for k, v in os.environ.items() if not k.startswith(("JAX", "XDG"))}
    code = "import os; os.umask(0); import jaxtheory; jaxtheory.verify; "
    code += "from jaxtheory.engine.request import settings\nwith settings.numerics(): pass"
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=own | {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache")},
            capture_output=True,
            check=True,
            timeout=300,
        )
        assert done.stderr == b"" and place.stat().st_mode & 0o777 == 0o700
