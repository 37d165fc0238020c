"""Files, the environment, clocks and kept results that a theory's functions read are refused."""

import datetime
import functools
import glob
import io
import json
import os
import os.path as place
import pickle
import sys
import time
from math import pi
from os import environ, getenv
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worked_example import THEORY, Config
from numpy import load as read_array

import jaxtheory
from jaxtheory import InputError, run_key, simulate, sweep
from jaxtheory.cli.templates import template, template_flax
from jaxtheory.code import externals

EXAMPLE = Config(dimension=3, batch_size=2)
TABLE = Path(__file__).parent / "table.npy"
LAM = 2.0


def require_inside(theory):
    home = externals.package_of(theory.Config)
    externals.require_none(theory.name, home, externals.functions_of(theory))


def by_helper():
    return np.load(TABLE)[0]


def by_import():
    from os import getenv as look

    return float(look("LAM", "1"))


def by_module_import():
    import os

    return float(os.environ.get("LAM", "1"))


@jax.jit
def by_jit(x):
    return x * np.loadtxt("table.txt")


class Reader:
    """A class with a method that no theory calls, and one that it calls."""

    def fetch(self):
        return float(Path("table.txt").read_text())

    def own(self):
        return 1.0


def of_module(module):
    return lambda: module.load("x")[0]


READS = {
    "closure": (of_module(np), "a file (numpy.load"),
    "open": (lambda: float(open("x").read()), "a file (open in "),  # noqa: SIM115
    "io": (lambda: io.open("x"), "a file (open in "),  # noqa: SIM115, UP020
    "numpy": (by_helper, "a file (numpy.load in by_helper, test_externals.py:"),
    "its name": (lambda: read_array("x"), "a file (numpy.load"),
    "memmap": (lambda: np.memmap("x"), "a file (numpy.memmap"),
    "jax": (lambda: jnp.load("x"), "a file (jax.load"),
    "jit": (lambda: by_jit(1.0), "a file (numpy.loadtxt"),
    "pickle": (lambda: pickle.load(None), "a file ("),
    "json": (lambda: json.load(None), "a file ("),
    "glob": (lambda: len(glob.glob("*")), "a file (glob.glob"),
    "path": (lambda: Path("x").read_text(), "a file (Path.read_text"),
    "a path": (lambda: TABLE.read_bytes(), "a file (Path.read_bytes"),
    "method": (lambda: Reader().fetch(), "a file (Path.read_text"),
    "exists": (lambda: float(place.exists("x")), "a file (os.exists"),
    "list": (lambda: len(os.listdir()), "a file (os.listdir"),
    "environ": (lambda: float(os.environ["LAM"]), "the environment (os.environ"),
    "its environ": (lambda: float(environ.get("LAM", 1)), "the environment (os.environ"),
    "getenv": (lambda: float(getenv("LAM", "1")), "the environment (os.getenv"),
    "import": (by_import, "the environment (os.getenv"),
    "module": (by_module_import, "the environment (os.environ"),
    "arguments": (lambda: len(sys.argv), "the environment (sys.argv"),
    "clock": (lambda: time.time(), "a clock (time.time"),
    "date": (lambda: datetime.date.today().day, "a clock (date.today"),
}


def with_metric(value):
    return THEORY._replace(
        metrics=lambda params, problem, config: {"m": jnp.sum(params.weights) * value()},
        predict=lambda problem, config, steps: {},
        baselines=lambda problem, config: {},
        dims={},
        examples=(EXAMPLE,),
    )


@pytest.mark.parametrize("case", READS)
def test_what_is_read_is_named(case):
    value, words = READS[case]
    theory = with_metric(value)
    with pytest.raises(InputError) as refused:
        require_inside(theory)
    text = str(refused.value)
    assert text.startswith("linear_regression.metrics reads " + words) and "\n" not in text
    assert text.partition("; ")[2].startswith(("read it where", "make it a field"))


def test_every_verb_refuses_before_it_reads():
    theory = with_metric(by_helper)
    for call in (
        lambda: sweep(theory, EXAMPLE, steps=1),
        lambda: simulate(theory, EXAMPLE, run_key(0, 0), steps=1),
        lambda: jaxtheory.verify(theory),
        lambda: sweep(THEORY, EXAMPLE, steps=1, observe={"m": lambda *_: by_helper()}),
    ):
        with pytest.raises(
            InputError, match=r"(metrics|\['m'\]) reads a file \(numpy.load in by_helper"
        ):
            call()


def lazy():
    import json
    import os
    from pathlib import PurePath

    return float(json.loads("1")) + len(os.path.join("a", str(PurePath("b"))))


ARRAY = np.arange(3.0)


@pytest.mark.parametrize(
    "value",
    [
        lazy,
        lambda: pickle.loads(b"I1\n."),
        lambda: ARRAY[0],
        lambda: Reader().own(),
        lambda: len(place.join("a", "b")),
        lambda: datetime.date(2020, 1, 2).day,
        lambda: jax.lax.reduce(jnp.ones(2), 0.0, jax.lax.add, (0,)),
    ],
)
def test_what_reads_nothing_passes(value):
    require_inside(with_metric(value))


def inspected(theory):
    """Each function of the theory, its own ones of jaxtheory included."""
    for function in externals.functions_of(theory).values():
        for candidate in externals._candidates(externals.functions(function)):
            yield from externals.reads(candidate)


@pytest.mark.parametrize("name", jaxtheory.theories.names())
def test_theories_of_this_package_pass(name):
    assert list(inspected(jaxtheory.theories.get(name))) == []


@pytest.mark.parametrize("module", [template, template_flax])
def test_templates_pass(module):
    assert list(inspected(module.THEORY)) == []
    require_inside(module.THEORY)


def test_networks_on_tasks_pass():
    from jaxtheory import networks, tasks

    theory = networks.transformer(tasks.get("random_walk"))
    assert list(inspected(theory)) == []


@functools.cache
def constant(n):
    return n * pi * np.pi


@functools.lru_cache
def scaled(n):
    return LAM * n


def factor(n):
    return LAM * n


@functools.cache
def by_factor(n):
    return factor(n)


def double(n):
    return 2 * n


@functools.cache
def doubled(n):
    return double(n)


@pytest.mark.parametrize("function", [scaled, by_factor])
def test_kept_results_of_a_global_are_refused(function):
    words = "functools.cache keeps results of a function that reads LAM, a float"
    with pytest.raises(InputError, match=f"metrics: {words}"):
        require_inside(with_metric(lambda: function(2)))


def test_kept_results_of_arguments_and_constants_pass():
    require_inside(with_metric(lambda: constant(2)))


def test_results_that_another_function_gave_are_forgotten(monkeypatch):
    theory = with_metric(lambda: doubled(2))
    metric = lambda: simulate(theory, EXAMPLE, run_key(0, 0), steps=1).metrics["m"][-1]
    assert doubled(2) == 4
    monkeypatch.setattr(f"{__name__}.double", lambda n: 3 * n)
    assert doubled(2) == 4
    new = metric()
    assert doubled(2) == 6
    monkeypatch.undo()
    old = metric()
    assert doubled(2) == 4 and np.isclose(new / old, 1.5)
    assert metric() == old and doubled.cache_info().hits > 0
