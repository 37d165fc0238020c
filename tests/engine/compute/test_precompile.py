"""Functions are compiled ahead, once each."""

import pytest
from helpers.worked_example import THEORY, Config, compilations

from jaxtheory import sweep
from jaxtheory.engine.compute import compiled, precompile


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_is_compiled_ahead_is_not_compiled_again(monkeypatch, workers):
    """Each function once, by a call or before it; with the same numbers."""
    monkeypatch.setenv("JAXTHEORY_DEVICES", workers)
    compiled._compiled.clear()
    options = {"vary": {"eta": [0.1, 0.2], "d": [4, 9]}, "seeds": 3, "steps": 4, "buckets": "exact"}
    with compilations() as programs:
        data = sweep(THEORY, Config(), dtype="float64", **options)
    names = [name[4:-1] for name in programs if name[4:-1] in CHUNK]
    assert sorted(names) == sorted(CHUNK * 2)  # two sizes
    references.setdefault("first", data)
    assert data.identical(references["first"])


CHUNK = ("_draw", "_begin", "_train", "_evaluate", "_baselines", "_predict")


references: dict = {}


def test_a_second_algorithm_on_the_same_problem_is_compiled_ahead_too(monkeypatch):
    monkeypatch.setenv("JAXTHEORY_DEVICES", "2")
    compiled._compiled.clear()
    options = {"seeds": 2, "steps": 4, "dtype": "float64"}
    sweep(THEORY, Config(dimension=10), **options)
    pools, pool = [], precompile.ThreadPoolExecutor
    monkeypatch.setattr(
        precompile, "ThreadPoolExecutor", lambda *a, **k: pools.append(1) or pool(*a, **k)
    )
    sweep(THEORY, Config(dimension=10), **options)
    assert not pools
    variant = THEORY._replace(algorithms={"other": THEORY.algorithms["sgd"]._replace(step=still)})
    sweep(variant, Config(dimension=10), **options)
    assert pools


def still(_key, _t, state, _batch, _problem, _config):
    return state


def test_what_cannot_be_compiled_says_so_when_it_is_called(monkeypatch):
    monkeypatch.setenv("JAXTHEORY_DEVICES", "2")
    monkeypatch.setattr(
        "jaxtheory.core.contract.require_contract", lambda *_: None
    )  # says so before
    broken = THEORY._replace(metrics=lambda params, problem, config: {"loss": 1 / 0 * params})
    with pytest.raises(ZeroDivisionError):
        sweep(broken, Config(dimension=13), seeds=2, steps=4, dtype="float64")
