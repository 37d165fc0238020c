"""Libraries count by their names, code of a user by its contents."""

import subprocess
import sys

import pandas as pd
import pytest

import jaxtheory
from jaxtheory.code import libraries
from jaxtheory.code.code_hash import code_hash


@pytest.mark.parametrize("name", ["os", "sys", "math", "jax.numpy", "flax.linen", "pandas.core"])
def test_libraries_are_recognized(name):
    assert libraries.is_outside(name) and libraries.is_library(name)


@pytest.mark.parametrize(
    "name", ["__main__", "mine", "", "jaxtheory.theories.low_rank", "helpers.worked_example"]
)
def test_code_of_users_is_no_library(name):
    assert not libraries.is_library(name)


def test_modules_of_jaxtheory_are_one():
    assert libraries.is_ours("jaxtheory.code.source")
    assert not libraries.is_outside("jaxtheory.code.source")


def test_a_package_counts_with_its_version():
    assert libraries.release("jax.numpy") == libraries.release("os") == ""
    assert libraries.release("pandas.core").startswith(pd.__version__)


SHADOW = """
import sys
sys.path.insert(0, sys.argv[1])
import sched
from jaxtheory.code.code_hash import code_hash
print(code_hash(sched.rate))
"""


def test_a_file_with_the_name_of_a_standard_module_is_the_user_s(tmp_path):
    def digest(text):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        (folder / "sched.py").write_text(text, encoding="utf-8")
        return subprocess.run(
            [sys.executable, "-c", SHADOW, str(folder)],
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout

    assert digest("def rate(x): return x") != digest("def rate(x): return 2 * x")


PACKAGE = """
import sys
import jaxtheory
from jaxtheory.code import libraries
libraries._INSTALLED.add(sys.argv[1])
sys.path.insert(0, sys.argv[1])
import mine, other
print(libraries.is_library("mine"), libraries.is_library("other"))
"""


def test_an_installed_theory_is_the_user_s(tmp_path):
    for name, needs in {"mine": "Requires-Dist: jaxtheory>=0.1\n", "other": ""}.items():
        (tmp_path / f"{name}.py").write_text("", encoding="utf-8")
        notes = tmp_path / f"{name}-1.0.dist-info"
        notes.mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}"
        (notes / "METADATA").write_text(text, encoding="utf-8")
        (notes / "RECORD").write_text(f"{name}.py,sha256=abc,0\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PACKAGE, str(tmp_path)],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout == "False True\n"


def test_functions_of_packages_are_not_entered():
    assert code_hash(lambda x: pd.concat(x)) != code_hash(lambda x: pd.merge(x))
    assert code_hash(jaxtheory.draws.normal) == code_hash(jaxtheory.draws.normal)
