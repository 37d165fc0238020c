"""What mypy and pyright say of a user's script, of the template, and of four mistakes."""

import collections
import json
import subprocess
import sys
from pathlib import Path

import pytest

import jaxtheory
from jaxtheory.cli.main import main

SCRIPT = Path(__file__).parent / "data" / "user_script.py"
WRONG = {
    "swapped": """
import jax
from jaxtheory import Theory
from user_script import Batch, Config, Params, gradient, init, metrics, problem, sample


def swapped(batch: Batch, params: Params, problem: tuple[()], config: Config) -> jax.Array:
    return batch.x


THEORY = Theory("mine", Config, problem, sample, init, swapped, gradient, {}, metrics)  # wrong
""",
    "misspelt": """
from user_script import Config

config = Config(width=8)
print(config.replace(rate=0.5).rate, Config(widht=8).width)  # wrong
""",
    "assigned": """
from user_script import Config

config = Config()
config.width = 8  # wrong
""",
    "word": """
import jaxtheory
from user_script import THEORY, Config

jaxtheory.sweep(THEORY, Config(), steps=5, buckets="exakt")  # wrong
""",
}
# the functions of the template carry no annotations, which --strict demands
MYPY = """
[mypy]
strict = True

[mypy-mine]
disallow_untyped_defs = False
disallow_untyped_calls = False
"""


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the script, the template and the mistakes."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "mine"]) == 0
    (tmp_path / SCRIPT.name).write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")
    for name, text in WRONG.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text(MYPY, encoding="utf-8")
    settings = {"typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    return tmp_path


def output_of(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 1, done.stdout + done.stderr  # 1: there are errors
    return done.stdout


def assert_mistakes(errors: list[tuple[str, int, str]]) -> None:
    """There is one error in the marked line of each wrong script, and no other."""
    marked = {
        f"{name}.py": text.splitlines().index(line) + 1
        for name, text in WRONG.items()
        for line in text.splitlines()
        if line.endswith("# wrong")
    }
    assert {file: line for file, line, _ in errors} == marked, errors
    assert set(collections.Counter(file for file, *_ in errors).values()) == {1}, errors


def test_mypy_accepts_the_scripts_and_finds_each_mistake(
    scripts: Path, pytestconfig: pytest.Config
) -> None:
    pytest.importorskip("mypy")
    cache = pytestconfig.cache.mkdir("types")  # of JAX's types, which are read in 20 s
    text = output_of(scripts, "mypy", "--cache-dir", str(cache), "--output", "json", ".")
    errors = [entry for entry in map(json.loads, text.splitlines()) if entry["severity"] == "error"]
    assert_mistakes([(Path(e["file"]).name, e["line"], e["message"]) for e in errors])


def test_pyright_accepts_the_scripts_and_finds_each_mistake(scripts: Path) -> None:
    pytest.importorskip("basedpyright")
    python = ["--pythonpath", sys.executable]
    report = json.loads(output_of(scripts, "basedpyright", *python, "--outputjson"))
    errors = [entry for entry in report["generalDiagnostics"] if entry["severity"] == "error"]
    assert_mistakes(
        [(Path(e["file"]).name, e["range"]["start"]["line"] + 1, e["message"]) for e in errors]
    )


def test_a_record_runs_without_its_parameters() -> None:
    """beartype refuses annotations by a NamedTuple that is generic when it runs."""
    for record in (jaxtheory.Theory, jaxtheory.Run):
        assert not hasattr(record, "__parameters__")
        assert record[int].__origin__ is record
