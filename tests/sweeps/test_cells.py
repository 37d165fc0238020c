"""Ladders of networks that have learned: the cells, what is measured of them, and that they run."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory import figures
from jaxtheory.theories.attention_pruning import model

from .made_up import get

LADDERS = [
    entry.name
    for entry in figures.entries().values()
    if entry.theory == "networks" and entry.name != "network_inside"
]


@pytest.fixture
def cells():
    get("network_walk")
    return sys.modules["jaxtheory._sweeps.networks._cells"]


def test_cells_are_all_combinations_of_the_levels(cells):
    named = cells.cells((1, 1), (2, 4))
    settings = [tuple(sorted(fields.items(), key=str)) for fields in named.values()]
    assert len(named) == len(set(settings)) == 8
    last = named["AdamW, block, 2 × 4"]
    assert (last["depth"], last["heads"], last["mlp"], last["residual"]) == (2, 4, "gelu", True)


@pytest.mark.parametrize("name", LADDERS)
@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])
def test_networks_share_the_data_of_the_theorems_model(name, long):
    (ladder,) = get(name).experiment.args
    data = ladder.data | (ladder.long if long else {})
    one = ladder.theory.Config(**data, **ladder.theorem["settings"])
    twin = ladder.network.Config(**data, depth=2, heads=4, width=16)
    assert all(getattr(one, field) == getattr(twin, field) for field in data)


@pytest.mark.parametrize("name", LADDERS)
def test_large_networks_read_long_sequences(name):
    (ladder,) = get(name).experiment.args
    task, config = ladder.task, ladder.task.Config(**(ladder.data | ladder.long))

    def inputs(key):
        problem = task.problem(key, config)
        return task.inputs(task.fresh(key, problem, config), problem, config)

    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        shape = jax.eval_shape(inputs, jaxtheory.run_key(0, 0)).shape
    assert shape[1] in (256, 257)


def test_shares_of_gaps_are_those_of_the_levels(cells):
    """Best loss 1, 3 without the prompt and 2 without the tokens."""
    runs = {"seed": [0, 1], "step": [0, 9]}
    values = lambda end: (("seed", "step"), np.array([[3.0, end], [3.0, end]]))
    levels = (("seed", "step", "level"), np.broadcast_to([1.0, 3.0, 2.0], (2, 2, 3)))
    data = xr.Dataset(
        {"levels": levels, "loss": values(1.2), "without": values(1.9), "only": values(1.3)}, runs
    )
    found = cells.measured(data.assign(attention=values(0.7)), ("attention",))
    assert {name: values.values.round(12).tolist() for name, values in found.items()} == {
        "closed": [0.9, 0.9],
        "used": [0.7, 0.7],
        "others": [0.1, 0.1],
        "attention": [0.7, 0.7],
    }


def test_effects_are_differences_of_the_levels(cells):
    """Two of AdamW, three of the block, none of the size; one network of seed 1 diverged."""
    names = ["theorem's model", *cells.cells((1, 1), (2, 4))]
    value = lambda cell: 2.0 * cell.startswith("AdamW") + 3.0 * ("block" in cell)
    closed = np.array([[value(cell), value(cell)] for cell in names])
    closed[0], closed[4, 1] = np.nan, np.nan
    found = cells.effects(xr.DataArray(closed, {"cell": names}, ("cell", "seed")))
    assert [*found] == ["AdamW", "block", "2 × 4"]
    assert [float(x.isel(seed=0)) for x in found.values()] == [2, 3, 0]
    assert float(found["AdamW"].isel(seed=1)) == 3.5 - 0.75  # of SGD: 0, 0, 3 and it, as 0


def test_a_mark_is_filled_where_the_typical_network_has_learned(cells):
    """Half of the seeds of the first network have learned, and all of the second."""
    closed = [[0.1, 0.2, 0.95, 0.95], [0.95, 0.95, 0.95, 0.95]]
    names = list(cells.cells((1, 1)))[:2]
    data = xr.Dataset({"closed": (("cell", "seed"), closed)}, {"cell": names})
    (ax,) = cells.panels(data, {"closed": "share"}).axes
    marks = [line.get_markerfacecolor() for line in ax.lines if line.get_marker() == "o"]
    assert [mark == "white" for mark in marks] == [True, False]


def test_a_ladder_runs_and_is_read_from_its_folder(cells, tmp_path):
    figure = get("network_walk")
    few = [cells.THEOREM, "SGD, attention, 1 × 1"]
    options = figure.sweep | {"only": few, "seeds": 2, "steps": 4, "own_steps": 4, "width": 8}
    events = []
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        data = figure.experiment(tmp_path / "w", 0, lambda *event: events.append(event), **options)
        stored = {file: file.stat().st_mtime_ns for file in (tmp_path / "w").glob("**/parts/*")}
        again = figure.experiment(tmp_path / "w", 0, None, **options)
    assert [event[:3] for event in events] == [("cell", n, 2) for n in (1, 2)]
    assert stored == {f: f.stat().st_mtime_ns for f in (tmp_path / "w").glob("**/parts/*")}
    assert data.sizes == {"cell": 2, "seed": 2} and list(data.cell.values) == few
    xr.testing.assert_identical(data, again)
    network = data.isel(cell=1)
    assert all(np.isfinite(network[name]).all() for name in network)
    assert np.isnan(data.used.isel(cell=0)).all() and (data.parent_attention > 0).all()
    assert network.rate.isin(cells.RATES["sgd"]).all()


def module(name):
    get(name)
    return sys.modules[f"jaxtheory._sweeps.networks.{name}"]


def test_a_rank_suffices_from_that_of_the_updates_on(cells):
    """Updates with the singular values 3 and 1, and as the loss what their cut takes away."""
    patterns = module("network_patterns")
    rng = np.random.default_rng(0)
    U, _, V = np.linalg.svd(rng.normal(size=(5, 5)))
    start = {name: {"kernel": rng.normal(size=(5, 5))} for name in patterns.CUT}
    update = (U[:, :2] * [3.0, 1.0]) @ V[:2]
    end = {name: {"kernel": W["kernel"] + update} for name, W in start.items()}

    def metrics(params, problem, config):
        lost = [params["block"][name]["kernel"] - end[name]["kernel"] for name in end]
        return {"loss": sum(jnp.sum(W**2) for W in lost)}

    theory = jaxtheory.theories.get("low_rank")._replace(metrics=metrics)
    levels = (("seed", "step", "level"), [[[0.0, 60.0, 60.0]]])
    runs = cells.Trained(theory, None, xr.Dataset({"levels": levels}))
    costs = patterns.costs(runs, {"block": start}, {"block": end}, None)
    np.testing.assert_allclose(costs, [0.5, 0.05, 0, 0, 0], atol=1e-6)
    assert patterns.least(costs[None]).tolist() == [1]
    assert patterns.least(jnp.array([[0.5, 0.05, 0.2, 0.0, 0.0], [1, 1, 1, 1, 1.0]])).tolist() == [
        3,
        5,
    ]


def test_what_is_pruned_is_the_attention_of_the_network(cells):
    pruning = module("network_pruning")
    (ladder,) = get("network_pruning").experiment.args
    theory = ladder.network
    settings = cells.cells((1, 1))["SGD, attention, 1 × 1"] | {"norm": "pre-layernorm"}
    settings.pop("algorithm")
    config = theory.Config(**ladder.data, **settings, width=16)
    key = jaxtheory.run_key(100, 0)
    problem = theory.problem(key, config)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        params = theory.init(key, problem, config)  # its biases are 0
        layer = pruning.layer(params["params"], problem)
        own = model.Config(**ladder.data).replace(dimension=config.width.cap)
        attention = model.target(model.Batch(layer.inputs), layer, own)
        network = jaxtheory.networks.Transformer(outputs=8, width=16, **settings)
        inputs = ladder.task.inputs(model.Batch(problem.inputs), problem, config)
        _, sown = network.apply(params, inputs, mutable=["intermediates"])
    maps = sown["intermediates"]["attention_0"]["attention"][0]
    np.testing.assert_allclose(attention, jnp.squeeze(maps, 1), atol=1e-5)
