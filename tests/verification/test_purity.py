"""`verify` names what a theory's functions read beyond the config and may find changed."""

import collections
import datetime
import itertools
import random
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.some import some
from helpers.worked_example import MODULE, THEORY, Config
from numpy.random import normal

import jaxtheory
from jaxtheory.cli.templates import template
from jaxtheory.theories import get, names
from jaxtheory.verification import purity

EXAMPLE = Config(dimension=3, batch_size=2)
HITS: list = []
SETTINGS = {"scale": 1.0, "kept": {"scale": 1.0}}
FACTORS = np.ones(2)
RECENT: collections.deque = collections.deque([1.0], maxlen=1)
RATE = 1.0
FIXED = {"scale": 1.0}
DRAWS = np.random.default_rng(0)
COUNT = itertools.count()


class Scale:
    """A value that is set from outside."""

    value = 1.0


def set_rate(rate):
    global RATE
    RATE = rate


def set_scale(scale):
    SETTINGS["kept"]["scale"] = scale


def remember(value):
    RECENT.append(value)


def halve():
    FACTORS[0] /= 2
    Scale.value = 0.5


def counted(x):
    HITS.append(1)
    return x * len(HITS)


def helper(x):
    return x * SETTINGS["scale"]


def counter():
    count = 0

    def noisy(x):
        nonlocal count
        count += 1
        return x * count

    return noisy


def by_import(x):
    import time

    return x * time.time()


def hidden(x):
    import numpy

    return x * numpy.random.uniform()  # noqa: NPY002


def of_sample(change):
    """The worked example, its labels changed by a function."""

    def sample(key, problem, config):
        batch = THEORY.sample(key, problem, config)
        return MODULE.Batch(batch.inputs, change(batch.labels))

    return THEORY._replace(sample=sample, examples=(EXAMPLE,))


WRONG = {  # what is wrong -> change of the labels, the name that is read, why
    "numpy.random": (lambda x: x * np.random.normal(), "numpy.random.normal", "differs"),  # noqa: NPY002
    "its function": (lambda x: x * normal(), "numpy.random.normal", "differs"),  # noqa: NPY002
    "random": (lambda x: x * random.random(), "random.random", "differs"),
    "time": (lambda x: x * time.time(), "time.time", "differs"),
    "import within": (by_import, "time", "differs"),
    "date": (lambda x: x * datetime.date.today().day, "datetime.date.today", "differs"),
    "counter": (counted, "HITS", "counted changes it, a list"),
    "dict": (helper, "SETTINGS", "set_scale changes it, a dict"),
    "array": (lambda x: x * FACTORS[0], "FACTORS", "halve changes it, a ndarray"),
    "deque": (lambda x: x * RECENT[0], "RECENT", "remember changes it, a deque"),
    "class": (lambda x: x * Scale.value, "Scale", "halve changes it"),
    "global": (lambda x: x * RATE, "RATE", "set_rate rebinds it"),
    "jitted": (jax.jit(lambda x: x * RATE), "RATE", "set_rate rebinds it"),
    "closure": (counter(), "count", "counter.noisy rebinds it"),
    "generator": (lambda x: x * DRAWS.uniform(), "DRAWS", "a Generator, which each use changes"),
    "iterator": (lambda x: x * next(COUNT), "COUNT", "a count, which each use changes"),
    "unseen in the code": (hidden, "sample", "two traces of it differ"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_read_is_named(case):
    change, name, why = WRONG[case]
    reads = purity.find_hidden_reads(of_sample(change))
    assert [read.name for read in reads] == [name]
    assert "sample" in reads[0].slots and reads[0].why.startswith(why)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x * FIXED["scale"],
        lambda x: x * np.random.default_rng(0).uniform(),
        lambda x: x * datetime.date(2020, 1, 2).day,
        lambda x: [x := x * c for c in (1, 2)][-1],
        jnp.sin,
    ],
)
def test_what_does_not_change_may_be_read(change):
    assert purity.find_hidden_reads(of_sample(change)) == []


def test_verify_has_a_row_for_it():
    wrong = of_sample(lambda x: x * RATE)
    table = jaxtheory.verify(wrong._replace(checks=()), seeds=1)
    (row,) = [row for row in table.checks if row.check.startswith("reads beyond the config")]
    assert row.check == "reads beyond the config: RATE" and not row.passed and not table.passed
    assert row.remark.startswith("sample: set_rate rebinds it; make it a field of Config")


def test_verify_has_a_row_for_an_object_without_a_hash():
    wrong = of_sample(lambda x: x * DRAWS.uniform())
    rows = jaxtheory.verify(wrong._replace(checks=()), seeds=1).checks
    (row,) = [row for row in rows if row.check.startswith("reads beyond the config")]
    assert row.check == "reads beyond the config: DRAWS" and not row.passed
    with pytest.raises(jaxtheory.InputError, match=r"`DRAWS`.* so the code has no hash"):
        jaxtheory.simulate(wrong, EXAMPLE, jaxtheory.run_key(0, 0), 1)


def test_an_algorithm_is_looked_into():
    theory = THEORY._replace(examples=(EXAMPLE,))
    rule = lambda config: jaxtheory_sgd(config.learning_rate * RATE)
    own = {"own": jaxtheory.from_optax(theory, rule)}
    (read,) = purity._reads(theory._replace(algorithms=own))
    assert read.name == "RATE" and "algorithm own.step" in read.slots


def jaxtheory_sgd(rate):
    import optax

    return optax.sgd(rate)


@pytest.mark.parametrize("name", some(names(), "random_walk"))
def test_no_alarm_in_the_rooms(name):
    assert purity._reads(get(name)) == []
    assert purity._unlike(get(name), get(name).examples[0]) == []


@pytest.mark.parametrize("theory", [THEORY, template.THEORY], ids=["example", "template"])
def test_no_alarm_in_files(theory):
    assert purity.find_hidden_reads(theory) == []
