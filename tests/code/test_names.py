"""Names that a function uses, read from its instructions."""

from helpers.worked_example import EXAMPLE, THEORY

import jaxtheory
from jaxtheory import sweep
from jaxtheory.engine.request.request import read
from jaxtheory.engine.results.identity import fingerprint, identity

OPTIONS = {"steps": 4, "dtype": "float64"}


def name_of(theory=THEORY, **options):
    return fingerprint(identity(read(theory, theory.Config(), **{**OPTIONS, **options})))


# What a name in a function stands for
CLASH = """
import jaxtheory

def V():
    return jaxtheory.sweep(THEORY, THEORY.Config(), steps=1)

def weights():
    return [weights, REGISTRY]

REGISTRY = {weights}

def again(x):
    "A helper that names itself, and a set that holds it."
    assert V is not None
    return again(x - 1) if x > 3 else x + len(REGISTRY)

def with_helpers(params, problem, config):
    V = params.weights
    return {"size": V.sum() + again(1)}

THEORY = THEORY._replace(metrics=with_helpers, dims={}, predict=lambda problem, config, steps: {})
"""


def clash(folder, change=("", "")):
    """The worked example whose metrics read attributes that are also names of helpers."""
    folder.mkdir()
    text = (EXAMPLE.read_text(encoding="utf-8") + CLASH).replace(*change)
    (folder / "clash.py").write_text(text, encoding="utf-8")
    return jaxtheory.theories.load(folder / "clash.py").THEORY


def test_an_attribute_is_not_a_global(tmp_path):
    theory = clash(tmp_path / "a")
    first = name_of(theory)
    data = sweep(theory, theory.Config(), steps=2)
    assert data["size"].shape == (1, 3)
    replacement = ("jaxtheory.sweep(THEORY, THEORY.Config(), steps=1)", "3")
    assert name_of(clash(tmp_path / "b", replacement)) == first
    assert name_of(clash(tmp_path / "c", ("again(x - 1)", "again(x - 2)"))) != first
    assert name_of(clash(tmp_path / "d", ("assert V is not None", "assert V"))) == first
