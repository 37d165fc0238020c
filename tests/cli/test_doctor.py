"""`jaxtheory doctor`: the installation, also where JAX cannot start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jaxtheory
from jaxtheory.cli.main import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_list_and_doctor(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    assert all(
        name in printed for name in (*jaxtheory.theories.names(), *jaxtheory.figures.entries())
    )
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert all(
        word in printed for word in ("jaxlib", "side by side", "compilation cache", "writable")
    )
    assert list(folder.iterdir()) == []


ROOT = Path(__file__).parents[2]


def python(*words: str, **variables: str) -> subprocess.CompletedProcess:
    """A Python process of a user, with these variables in its environment."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("JAX")}
    return subprocess.run(
        [sys.executable, *words],
        env=own | {"PYTHONPATH": str(ROOT)} | variables,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


REFUSED = [
    ("JAX_PLATFORMS", "cuda", "it finds no device of JAX_PLATFORMS=cuda"),
    ("JAX_PLATFORMS", "gpu", "it finds no device of JAX_PLATFORMS=gpu"),
    ("JAX_PLATFORMS", "nonsense", "it finds no device of JAX_PLATFORMS=nonsense"),
    ("JAX_ENABLE_X64", "maybe", "correct or unset JAX_ENABLE_X64=maybe"),
    ("JAX_NUM_CPU_DEVICES", "two", "correct or unset JAX_NUM_CPU_DEVICES=two"),
    ("JAX_TRANSFER_GUARD", "never", "correct or unset JAX_TRANSFER_GUARD=never"),
]


@pytest.mark.parametrize(("name", "value", "message"), REFUSED[::3])
def test_doctor_says_that_jax_cannot_start_and_goes_on(name: str, value: str, message: str) -> None:
    done = python("-m", "jaxtheory", "doctor", **{name: value})
    assert (done.returncode, done.stderr) == (2, "")
    assert "JAX cannot start: " in done.stdout
    assert all(row in done.stdout for row in ("python", "jaxlib", "results", "theories"))
