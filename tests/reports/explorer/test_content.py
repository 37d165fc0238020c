"""What a page contains: all numbers of a dataset, its dimensions, and which curve is of which."""

import json

import numpy as np
import pytest
import xarray as xr
from helpers.explored import HOSTILE, explorer_dataset

import jaxtheory
from jaxtheory import InputError, observables
from jaxtheory.reports.explorer.content import Sweep, axes, content, whole_sweep
from jaxtheory.theories import random_walk

DATA = explorer_dataset(seeds=3, steps=5, side=3)


def about(data, **more):
    return content(whole_sweep("x", data)._replace(**more)).about


def test_variables_are_in_order_with_their_groups():
    listed = about(DATA)["variables"]
    groups = [(v["name"], v["group"]) for v in listed]
    assert groups == [
        ("loss", "along training"),
        ("attention", "along training, with further dimensions"),
        ("error", "of the final parameters, with further dimensions"),
        ("params_W", "weights"),
        ("predicted_loss_flow", "predictions"),
        ("diverged", "runs"),
        ("diverged_at", "runs"),
    ]
    assert (listed[4]["of"], listed[4]["label"]) == ("loss", "flow")


def test_a_curve_belongs_to_the_metric_with_the_longest_name():
    curve = DATA.predicted_loss_flow
    data = DATA.assign(loss_flow=DATA.loss, predicted_other=curve, predicted_loss_flow_law=curve)
    metrics = {v["name"]: v.get("of") for v in about(data)["variables"]}
    assert metrics["predicted_loss_flow"] == metrics["predicted_loss_flow_law"] == "loss_flow"
    assert metrics["predicted_other"] is None


def test_dimensions_have_labels_roles_and_zipped_fields():
    dims = {dim["name"]: dim for dim in about(DATA)["dims"]}
    assert [*dims] == "learning_rate l1 seed step query key pruner row column".split()
    roles = [dim["role"] for dim in dims.values()]
    assert roles == ["axis", "axis", "seed", "step", *["further"] * 5]
    assert dims["learning_rate"]["labels"] == [0.1, 0.3, 1.0, 3.0]
    assert dims["learning_rate"]["symbol"] == "eta"
    assert dims["l1"]["also"] == [["noise", ["low", "mid", "high"]]]
    assert not dims["pruner"]["numeric"] and dims["row"]["labels"] == [0, 1, 2]


def test_facts_are_stated():
    facts = about(DATA)
    assert (facts["runs"], facts["points"], facts["seeds"], facts["diverged"]) == (36, 12, 3, 5)
    assert (facts["theory"], facts["key"]) == ("made_up", "7")
    assert facts["config"] == [["learning_rate", "0.1"], ["width", "3"]]
    assert ["algorithm", "sgd"] in facts["facts"]


def test_runs_that_stayed_finite_are_not_listed():
    finite = DATA.assign(diverged_at=DATA.diverged_at * 0 - 1)
    names = [variable["name"] for variable in about(finite)["variables"]]
    assert "loss" in names and "diverged" not in names and "diverged_at" not in names


def test_runs_that_a_stop_rule_ended_are_counted():
    stopped = DATA.diverged_at.where(DATA.l1 > 0, -1).astype(np.int32)
    facts = about(DATA.assign(stopped_at=stopped))
    assert facts["stopped"] == 2
    listed = {v["name"]: v["group"] for v in facts["variables"]}
    assert listed["stopped_at"] == "runs" and "stopped_at" not in [
        v["name"] for v in about(DATA.assign(stopped_at=stopped * 0 - 1))["variables"]
    ]


def test_a_thinned_variable_refers_to_the_labels_that_are_kept():
    big = DATA.loss.isel(step=0, drop=True).expand_dims(cut=4000).transpose(..., "cut")
    facts = content(whole_sweep("x", DATA.assign(big=big)), 20_000).about
    (variable,) = [v for v in facts["variables"] if v["name"] == "big"]
    (cut,) = [dim for dim in facts["dims"] if dim["name"] == "cut"]
    assert 1 < len(cut["labels"]) < 4000 and cut["of"] == 4000
    assert variable["notes"][-1] == f"cut thinned to {len(cut['labels'])} of 4000"
    assert [len(places or cut["labels"]) for places in variable["at"]][-1] == len(cut["labels"])
    matches = [v for v in facts["variables"] if v["name"] == "loss"]
    assert matches[0]["notes"] == []


def test_a_metric_that_is_recorded_less_often_has_only_its_steps():
    sparse = DATA.loss.where(DATA.step.isin([0, 20]))
    listed = {v["name"]: v for v in about(DATA.assign(sparse=sparse))["variables"]}
    assert listed["sparse"]["at"][-1] == [0, 4] and listed["loss"]["at"][-1] is None


def test_other_datasets_are_shown_too():
    numbers = {"a": (("x", "i"), np.ones((2, 3))), "b": (("x",), np.arange(2))}
    bare = xr.Dataset(numbers | {"c": "text"})
    assert axes(bare[["a", "b"]]) == ["x"]
    facts = about(bare)
    assert facts["left_out"] == ["c"] and (facts["runs"], facts["seeds"]) == (1, 1)
    assert [v["name"] for v in facts["variables"]] == ["a", "b"]


def test_a_dataset_without_numbers_is_refused():
    texts = xr.Dataset({"a": ("x", ["p", "q"]), "b": ("x", [1j, 2j])})
    with pytest.raises(InputError, match="no variable of numbers"):
        about(texts)
    assert content(Sweep("x", texts, 0, 4)).about["variables"] == []  # unfinished


def test_labels_that_are_not_finite_are_texts():
    data = DATA.assign_coords(l1=[0.0, np.inf, np.nan])
    (l1,) = [dim for dim in about(data)["dims"] if dim["name"] == "l1"]
    assert l1["labels"] == ["0.0", "inf", "nan"] and not l1["numeric"]


def test_it_is_valid_json_whatever_the_attributes_are():
    data = DATA.assign_attrs(config="{", theory=HOSTILE[0], key=np.float64(np.nan), steps=[1, 2])
    text = json.dumps(about(data), allow_nan=False)
    assert json.loads(text)["config"] == [] and json.loads(text)["theory"] == HOSTILE[0]


def test_the_axes_of_attention_maps_have_names():
    meaning = {"long_name": "Attention of a network to a key position"}
    maps = ("seed", "maps_0", "maps_1", "maps_2", "maps_3"), np.ones((2, 1, 2, 3, 3)), meaning
    own = ("seed", "own_0", "own_1"), np.ones((2, 1, 3)), meaning
    other = ("seed", "other_0", "other_1"), np.ones((2, 3, 3))
    data = xr.Dataset({"maps": maps, "own": own, "other": other}, {"key": 3})
    names = [dim["name"] for dim in about(data)["dims"]]
    words = ["layer", "head", "query", "maps key", "own query", "own key"]
    assert {*names} == {"seed", "other_0", "other_1", *words}


def test_the_attention_of_a_theory_has_them_too():
    config = random_walk.Config(num_states=4, length=9)
    data = jaxtheory.sweep(
        random_walk, config, steps=2, observe={"attention": observables.attention}
    )
    assert {"query", "key"} <= {dim["name"] for dim in about(data)["dims"]}
