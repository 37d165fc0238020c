"""The `>>>` examples in docstrings of public names run and print what they say."""

import doctest
import importlib.util
import re
import sys
from pathlib import Path

import pytest

import jaxtheory

DOCS = Path(__file__).parents[1] / "docs"
SERVICES = {"jaxtheory.cluster", "jaxtheory.llama"}  # examples need a cluster or a checkpoint
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def loaded(name):
    """A module of the folder docs, which is not a package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


public, reference_pages = map(loaded, ("public", "reference_pages"))
PAGES = "\n".join(reference_pages.built().values())
MODULES = ["jaxtheory", *sorted({*public.MARK.findall(PAGES)} - SERVICES)]


def examples(module):
    """The doctests of the public names of a module, each without any name defined."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in public.names(module):
        thing = getattr(public.module(module), name)
        yield from finder.find(thing, f"{module}.{name}", module=False, globs={})


@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module, tmp_path, monkeypatch):
    (tmp_path / "docs").symlink_to(DOCS)  # examples load files from the root of the repository
    monkeypatch.chdir(tmp_path)
    runner, lines = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS), []
    for test in examples(module):
        runner.run(test, out=lines.append)
    assert not runner.failures, "".join(lines)


def test_examples_are_found():
    assert re.search(r">>> .*run_key", jaxtheory.run_key.__doc__)
    assert any(test.name == "jaxtheory.run_key" for test in examples("jaxtheory"))
    assert any(test.name == "jaxtheory.Theory.replace" for test in examples("jaxtheory"))


def test_a_wrong_example_fails():
    def wrong():
        """
        >>> 1 + 1
        3
        """

    (test,) = doctest.DocTestFinder().find(wrong, "wrong", module=False, globs={})
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    runner.run(test, out=lambda line: None)
    assert runner.failures == 1
