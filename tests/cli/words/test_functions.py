"""Stop rules and observables of the command line."""

import pytest
import xarray as xr

import jaxtheory
from jaxtheory.cli.main import main
from jaxtheory.cli.words.functions import StopRule, boundary_property, observables, stop_rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("loss < 0.01", StopRule("loss", True, 0.01)),
        ("loss<1e-2", StopRule("loss", True, 0.01)),
        ("accuracy > .9", StopRule("accuracy", False, 0.9)),
    ],
)
def test_a_rule_of_a_metric(text, rule):
    assert stop_rule(text) == rule
    assert rule({rule.metric: 0.5}) is False and rule({rule.metric: 0.0 if rule.is_below else 1.0})


@pytest.mark.parametrize("text", ["loss", "loss < low", "loss <", "nothing.txt:rule"])
def test_a_text_that_is_not_a_rule(text):
    with pytest.raises(jaxtheory.InputError, match="--stop"):
        stop_rule(text)
    with pytest.raises(jaxtheory.InputError, match="--when"):
        boundary_property(text)


@pytest.mark.parametrize("text", ["loss < 0.1", "loss<.1", "train_accuracy > 0.9", "loss>1e-3"])
def test_a_boundary_takes_the_rules_of_stop(text):
    rule, bound = stop_rule(text), boundary_property(text)
    assert (bound.name, bound.is_below, bound.limit) == (rule.metric, rule.is_below, rule.limit)
    assert boundary_property("diverged") is jaxtheory.diverged


def test_functions_of_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(
        "def largest(params, problem, config):\n    return abs(params.V).max()\n\n"
        "def enough(metrics):\n    return metrics['loss'] < -0.5\n"
    )
    words = ["--steps", "40", "--seeds", "2", "--set", "N=13", "--store", "out"]
    more = ["--observe", "own.py:largest", "--observe", "norm", "--stop", "own.py:enough"]
    assert main(["sweep", "random_walk", *words, *more, "--save-params"]) == 0
    assert "2 of 2 runs, at stopped_at" in capsys.readouterr().out
    data = xr.open_zarr("out/data.zarr")
    assert {"largest", "norm", "params_V", "stopped_at"} <= {*data.data_vars}
    end = data.loss.sel(step=data.stopped_at)
    assert (end < -0.5).all() and (data.stopped_at > 0).all()


def test_observables_by_name():
    theory = jaxtheory.theories.get("low_rank")
    functions = observables(("norm", "distance_from_start"), theory, "adam")
    assert functions["norm"] is jaxtheory.observables.norm
    assert functions["distance_from_start"].init is theory.algorithms["adam"].init
    for words in (("foo",), ("norm", "norm"), ("missing.py:f",)):
        with pytest.raises(jaxtheory.InputError):
            observables(words, theory, None)
