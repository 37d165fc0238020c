"""The summary of a sweep names axes along which all runs are equal, with the reason."""

import numpy as np
import pytest
import xarray as xr
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory.cli.export import print_dataset
from jaxtheory.engine.results import attributes

CONFIG = Config(dimension=2, batch_size=2)


def without_rate(key, t, state, batch, problem, config):
    return type(state)(state.weights * 0.5)


TWO = THEORY._replace(
    algorithms={**THEORY.algorithms, "halve": jaxtheory.Algorithm(THEORY.init, without_rate)}
)


def summary(theory, **options):
    data = jaxtheory.sweep(theory, CONFIG, **{"steps": 2, **options})
    return data.attrs["summary"].removeprefix(f"{theory.name}: ").split("; ")


def test_the_algorithm_that_does_not_read_a_field_is_named(tmp_path, capsys):
    options = {"vary": {"eta": [0.1, 0.2], "algorithm": ["sgd", "halve"]}}
    line = "equal along learning_rate: algorithm halve does not read it"
    assert summary(TWO, **options)[0] == line
    assert summary(TWO, store=tmp_path / "store", **options)[0] == line
    print_dataset(jaxtheory.open_store(tmp_path / "store"), tmp_path)
    assert "equal     along learning_rate: algorithm halve does not" in capsys.readouterr().out
    single = {"vary": {"eta": [0.1, 0.2]}, "algorithm": "halve"}
    assert summary(TWO, **single)[0] == line


@pytest.mark.parametrize(
    "options",
    [
        {"vary": {"eta": [0.1, 0.2]}},
        {"vary": {"eta": [0.1]}, "algorithm": "halve"},  # one value
        {"vary": {"eta": [0.1, 0.2]}, "steps": 0},
        {"vary": {"steps": [1, 2]}},
        {"seeds": 2},
    ],
)
def test_there_is_no_line_where_runs_differ_or_nothing_was_trained(options):
    assert len(summary(TWO, **options)) == 1


def dataset(values, **more):
    """A sweep over `p` and "algorithm" with these values, predicted curves and no losses."""
    variables = {"loss": (("p", "algorithm", "seed", "step"), np.asarray(values, float))}
    variables |= {"diverged_at": (("p", "algorithm", "seed"), np.full((2, 2, 1), -1))} | more
    return xr.Dataset(variables, {"p": [1, 2], "algorithm": ["a", "b"], "step": [0, 5]})


def test_equal_numbers_are_found_in_each_algorithm():
    curve = np.arange(16.0).reshape(2, 2, 1, 2, 2)[..., 0]
    differ, equal = curve, np.broadcast_to(curve[:1], curve.shape)
    part = np.where(np.arange(2)[None, :, None, None] == 0, equal, differ)
    assert attributes.axes_without_effect(dataset(differ)) == {}
    assert attributes.axes_without_effect(dataset(equal)) == {"p": ()}
    assert attributes.axes_without_effect(dataset(part)) == {"p": ("a",)}
    predicted = {"predicted_loss": (("p", "algorithm", "step"), np.arange(8.0).reshape(2, 2, 2))}
    assert attributes.axes_without_effect(dataset(equal, **predicted)) == {"p": ()}
    assert attributes.axes_without_effect(dataset(np.full(curve.shape, np.nan))) == {}
    lost = equal.copy()
    lost[1, :, :, 1] = np.nan
    assert attributes.axes_without_effect(dataset(lost)) == {}
    assert (
        attributes.summarized(dataset(part))
        .attrs["summary"]
        .startswith("sweep: equal along p for a;")
    )
