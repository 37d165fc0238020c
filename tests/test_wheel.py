"""The wheel: what travels in it, and that it works in an empty environment of each Python."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.13")  # the oldest and the newest; hosted CI has those between
TRIAL = """
from importlib.resources import files
import jaxtheory, jaxtheory._sweeps
assert "site-packages" in jaxtheory.__file__, jaxtheory.__file__
assert files("jaxtheory").joinpath("py.typed").is_file()
assert jaxtheory.figures.get("walk_phase").name == "walk_phase"
theory = jaxtheory.theories.get("random_walk")
data = jaxtheory.sweep(theory, theory.Config(num_states=3, length=4), vary={"p": [.5, .9]}, steps=2)
assert bool((data.loss.isel(step=-1) < data.loss.isel(step=0)).all()), data.loss
print("tried", jaxtheory.__version__)
"""
pytestmark = pytest.mark.slow


def run(*words, cwd, timeout=550):
    """What a command prints, all of it; it must end well."""
    hidden = ("PYTHONPATH", "XLA_FLAGS", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    env |= {"PYTHONNOUSERSITE": "1", "JAX_PLATFORMS": "cpu", "XDG_CACHE_HOME": cwd / "cache"}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={name: str(value) for name, value in env.items()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def interpreter(version):
    """A Python of that version on this machine, or None."""
    names = [shutil.which(f"python{version}"), sys.executable]
    homes = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for place in filter(None, (*names, *homes)):
        says = "import sys; print('{}.{}'.format(*sys.version_info))"
        done = subprocess.run([place, "-c", says], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == version:
            return place
    return None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    place = tmp_path_factory.mktemp("wheel")
    words = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", place, ROOT)
    run(*words, cwd=place)
    (file,) = place.glob("jaxtheory-*.whl")
    return file


def test_everything_travels(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        file.relative_to(ROOT).as_posix().replace("sweeps/", "jaxtheory/_sweeps/", 1)
        for folder in ("jaxtheory", "sweeps")
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert {"jaxtheory/py.typed", "jaxtheory/cli/templates/template.py"} < expected
    assert {name for name in inside if name.startswith("jaxtheory/")} == expected


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_environment(version, wheel, tmp_path):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    run(python, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    mine = tmp_path / "env" / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    words = (mine, "-m", "pip", "install", "--constraint", constraints, wheel)
    said = run(*words, cwd=tmp_path, timeout=1500)
    lines = [line for line in said.lower().splitlines() if "jaxtheory" in line]
    assert lines and not any("error" in line or "warning" in line for line in lines), said
    listed = run(mine, "-m", "jaxtheory", "list", cwd=tmp_path)
    assert "random_walk" in listed and "walk_phase" in listed
    assert "tried" in run(mine, "-c", TRIAL, cwd=tmp_path)
    run(tmp_path / "env" / "bin" / "jaxtheory", "new", "mine", cwd=tmp_path)
    assert "THEORY" in (tmp_path / "mine.py").read_text()
