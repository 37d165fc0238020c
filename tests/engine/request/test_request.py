"""Requests: schedules of records, stop rules, and arguments out of range."""

import importlib

import jax
import numpy as np
import pytest
from helpers.spoilt import SOURCE
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory import InputError, run_key, simulate, sweep
from jaxtheory.engine.request.request import read
from jaxtheory.theories import get


def test_record():
    steps_of = lambda steps: simulate(THEORY, Config(), run_key(0, 0), steps=steps).steps.tolist()
    assert steps_of(0) == [0]
    assert steps_of(50) == [*range(51)]
    assert steps_of(51) == [*range(0, 51, 2), 51]
    assert steps_of(1000) == [*range(0, 1001, 20)]
    assert simulate(THEORY, Config(), run_key(0, 0), steps=10, record=4).steps.tolist() == [
        0,
        4,
        8,
        10,
    ]
    data = sweep(
        THEORY, Config(), steps=10, record={"loss": [0, 5], "weights": [10]}, dtype="float64"
    )
    assert (
        data.step.values.tolist() == [0, 5, 10]
        and set(data) >= {"loss", "weights"}
        and "rounded_loss" not in data
    )
    assert (
        np.isnan(data.loss.sel(step=10)).all()
        and np.isnan(data.weights.sel(step=5)).all()
        and np.isfinite(data.weights.sel(step=10)).all()
    )
    short = simulate(
        THEORY, Config(), run_key(0, 0), steps=10, record=[3], dtype="float64"
    )  # trained on to the end all the same
    full = simulate(THEORY, Config(), run_key(0, 0), steps=10, dtype="float64")
    np.testing.assert_array_equal(short.params.weights, full.params.weights)


BAD = [
    ({"vary": {"width": [1]}}, "unknown field 'width'"),
    ({"vary": {"eta": []}}, "empty"),
    ({"vary": {"eta": 0.1}}, "must be a list"),
    ({"vary": {"eta": [0.1, -1.0]}}, r"learning_rate \(eta\) = -1.0"),
    ({"vary": {"eta": [0.1, float("nan")]}}, r"learning_rate \(eta\) = nan"),
    ({"vary": {"d": [2, 2.5]}}, r"dimension \(d\) = 2.5"),
    ({"vary": {"eta": [0.1, 0.1]}}, "is on the axis twice"),
    ({"vary": {"eta": [0.1], "learning_rate": [0.2]}}, "is on two axes"),
    ({"zip": {"eta": [0.1, 0.2], "d": [3]}}, "the same number of values"),
    ({"zip": {"x": [1, 2], "y": [3, 4]}}, "unknown field 'y'"),
    ({"vary": {"algorithm": ["sdg"]}}, "did you mean 'sgd'"),
    ({"algorithm": "sdg"}, "did you mean 'sgd'"),
    ({"steps": -1}, "steps = -1"),
    ({"seeds": 0}, "seeds = 0"),
    ({"seeds": [1, 1]}, "different integers"),
    ({"record": [99]}, "all integers in"),
    ({"record": {"los": [1]}}, "unknown metric 'los'; did you mean 'loss'"),
    ({"dtype": "float16"}, "must be 'float32' or 'float64'"),
    ({"buckets": "best"}, "must be 'auto', 'pad' or 'exact'"),
    ({"key": 0.5}, "key = 0.5"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_input(options, message):
    with pytest.raises(InputError, match=message):
        sweep(THEORY, Config(), **{"steps": 5, **options})


WALK, KEY = get("random_walk"), jaxtheory.run_key(0, 0)
SMALL = WALK.Config(num_states=5, length=17)


@pytest.mark.parametrize(
    ("stop", "record", "message"),
    [
        (lambda m: m["los"] < 0.1, None, "reads the metric 'los'; did you mean 'loss'?"),
        (lambda m: m["accuracy"] < 0.1, {"loss": 1, "accuracy": [2]}, "known: loss"),
        (lambda m: m["loss"].nothing, None, r"stop\(metrics\): AttributeError"),
        (lambda m: np.array([True, False]), None, r"stop\(metrics\) returns array\(\[ True"),
        (lambda m: None, None, r"stop\(metrics\) returns None: must return True or False"),
        (lambda m: m["loss"], None, r"stop\(metrics\) returns .*: must return True or False"),
        (lambda m: m["accuracy"] == 1 or None, None, r"stop\(metrics\) returns None"),
    ],
)
def test_a_wrong_stop_rule_is_named(stop, record, message):
    with pytest.raises(InputError, match=message):
        jaxtheory.simulate(WALK, SMALL, KEY, 3, stop=stop, record=record)


def test_a_stop_rule_is_judged_before_training(monkeypatch):
    monkeypatch.setattr("jaxtheory.engine.simulate.train_chunk", lambda *a, **k: pytest.fail())
    with pytest.raises(InputError, match="'los'"):
        jaxtheory.simulate(WALK, SMALL, KEY, 3, stop=lambda m: m["los"] < 0.1)


def test_examples_of_another_config_are_one_line():
    class Mine(WALK.Config):
        """The same fields."""

    with pytest.raises(InputError) as error:
        jaxtheory.simulate(WALK._replace(Config=Mine), Mine(), KEY, 1)
    said = str(error.value)
    assert "\n" not in said and "examples=(Mine(),)" in said
    assert said.count("random_walk.model.Config") == 1 and f"{__name__}." in said


MODULE = """
import jaxtheory
from jaxtheory.theories import random_walk


class Settings(random_walk.Config):
    pass


THEORY = random_walk.THEORY._replace(name="again", Config=Settings, examples=(Settings(),))
"""


def test_a_config_or_a_theory_from_before_a_module_was_loaded_again(tmp_path, monkeypatch):
    (tmp_path / "loaded_twice.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("loaded_twice")
    theory, config = module.THEORY, module.Settings(num_states=5)
    importlib.reload(module)
    again = "loaded_twice was loaded again, and the {} is of the earlier one; make it again, "
    with pytest.raises(InputError) as error:
        jaxtheory.simulate(module.THEORY, config, KEY, 1)
    remedy = "as a Settings of the present loaded_twice"
    assert str(error.value) == again.format("config") + remedy
    with pytest.raises(InputError) as error:
        jaxtheory.simulate(theory, module.Settings(num_states=5), KEY, 1)
    assert str(error.value).startswith(again.format("theory"))
    with pytest.raises(InputError, match="config is a Config of jaxtheory"):
        jaxtheory.simulate(theory, SMALL, KEY, 1)


def test_what_else_is_of_an_earlier_module_is_named(tmp_path, monkeypatch):
    text = SOURCE.replace('name="template"', 'name="mine_twice"')
    (tmp_path / "mine_twice.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("mine_twice")
    old, config = module.THEORY, module.Settings(dimension=2, batch_size=2)
    run = jaxtheory.simulate(old, config, KEY, 1)
    importlib.reload(module)
    new, config = module.THEORY, module.Settings(dimension=2, batch_size=2)
    for name, theory, more in (
        ("problem", new, {"problem": run.problem}),
        ("start", new, {"start": run}),
        ("start", new, {"start": run.params}),
        ("config of the run to resume", new, {"resume": run, "steps": 2}),
        ("config in examples", new._replace(examples=old.examples), {}),
        ("algorithm 'sgd'", new._replace(algorithms=old.algorithms), {}),
    ):
        with pytest.raises(InputError) as error:
            jaxtheory.simulate(theory, config, KEY, **{"steps": 1} | more)
        said = f"mine_twice was loaded again, and the {name} is of the earlier one; make it again"
        assert said in str(error.value) and "\n" not in str(error.value)


class Mute:
    def __repr__(self):
        raise RuntimeError("mute")

    def __iter__(self):
        raise RuntimeError("mute")


HUGE = 10**5000
ODD = {
    "huge": HUGE,
    "many huge": [HUGE],
    "huge entry": {"a": HUGE},
    "huge name": {HUGE: [1]},
    "large": 10**400,
    "bytes": b"ab",
    "complex": 1j,
    "complexes": [1j],
    "nan": float("nan"),
    "inf": [float("inf")],
    "objects": np.array([1, None], object),
    "huge object": np.array(HUGE, object),
    "matrix": np.ones((2, 2)),
    "structure": np.zeros(2, [("a", int)]),
    "duration": np.timedelta64(3, "D"),
    "date": np.array(["2020"], "M8[D]"),
    "keys": jax.random.split(jax.random.key(0), 2),
    "endless": range(10**30),
    "mute": Mute(),
    "mutes": [Mute()],
    "unordered": {1: 2, "a": 3},
    "nested": [[1, 2], [3]],
    "module": np,
    "text": "a\nb",
}
ARGUMENTS = (
    *("vary", "zip", "seeds", "steps", "algorithm", "key", "record", "start", "stop", "problem"),
    *("dtype", "buckets", "save_params", "observe", "dims"),
)


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("kind", ODD)
def test_odd_values_are_one_line(name, kind):
    if name in ("record", "save_params") and kind in ("huge", "large", "structure"):
        return  # an interval that no run reaches, or zeros
    if name == "start" and kind in ("keys", "unordered"):
        return  # they are no parameters, which JAX says
    config = Config(dimension=3, batch_size=2)
    with pytest.raises(InputError) as caught:
        if name == "start":  # the first run reads it
            simulate(THEORY, config, run_key(0, 0), steps=2, start=ODD[kind])
        else:
            read(THEORY, config, **{"steps": 2, name: ODD[kind]})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("name", ["dimension", "eta", "algorithm", "steps", "unknown"])
@pytest.mark.parametrize("kind", ODD)
def test_odd_values_on_an_axis_are_one_line(name, kind):
    for options in ({"vary": {name: ODD[kind]}}, {"zip": {name: ODD[kind]}}):
        with pytest.raises(InputError) as caught:
            read(THEORY, Config(dimension=3, batch_size=2), **{"steps": 2, **options})
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 600


def test_huge_numbers_in_lists_are_one_line():
    for name in ("record", "save_params", "seeds"):
        with pytest.raises(InputError, match=f"^{name} = "):
            read(THEORY, Config(dimension=3, batch_size=2), **{"steps": 2, name: [HUGE]})
    for place in ("key", "seed"):
        with pytest.raises(InputError, match=f"^{place} = a very large int: must be an integer"):
            run_key(*((HUGE, 0) if place == "key" else (0, HUGE)))


def test_a_duration_is_no_size():
    with pytest.raises(InputError, match="dimension"):
        jaxtheory.validate(Config(dimension=np.timedelta64(3, "D")))
