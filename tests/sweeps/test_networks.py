"""The ladders: what each rung changes, and that they run, keep what is measured and go on where
they were stopped.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory import claims, figures
from jaxtheory.theories.attention_pruning import model

from .made_up import get

OF_CELLS = ("network_groups", "network_inside", "network_neighbor", "network_walk")
LADDERS = [
    entry.name
    for entry in figures.entries().values()
    if entry.theory == "networks" and entry.name not in OF_CELLS
]
FEW = ["theorem's model", "AdamW", "+ depth 2"]


@pytest.fixture
def package():
    get("network_walk")
    return sys.modules["jaxtheory._sweeps.networks"]


def test_each_rung_changes_one_thing_and_keeps_those_before_it(package):
    before = {"algorithm": "sgd", **package.BARE}
    for place, rung in enumerate(package.RUNGS):
        algorithm, network = package.settings(rung)
        now = {"algorithm": algorithm, **network}
        changed = {name for name in now if now[name] != before.get(name)}
        assert len(changed) == (0 if place == 0 else 1), rung
        before = now
    assert (before["depth"], before["heads"], before["mlp"]) == (2, 4, "gelu")


@pytest.mark.parametrize("name", LADDERS)
def test_ladders_share_the_data_of_the_theory(package, name):
    figure = get(name)
    (ladder,) = figure.experiment.args
    theory, network = package.theory_of(ladder), package.network(ladder.name)
    one = theory.Config(**ladder.data, **ladder.theorem["settings"])
    twin = network.Config(**ladder.data, **package.settings("+ depth 2")[1])
    for field in ladder.data:
        assert getattr(one, field) == getattr(twin, field)
    assert len(figure.sweep[ladder.axis]) > 1


def test_a_ladder_runs_and_keeps_its_rungs(package, tmp_path):
    figure = get("network_patterns")
    options = figure.sweep | {
        "rungs": FEW,
        "noise": [0.0, 0.1],
        "seeds": 2,
        "steps": 2,
        "own_steps": 2,
    }
    events = []
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        data = figure.experiment(tmp_path / "w", 0, lambda *event: events.append(event), **options)
        stored = {file: file.stat().st_mtime_ns for file in (tmp_path / "w").glob("*/parts/*")}
        again = figure.experiment(tmp_path / "w", 0, None, **options)
    assert [event[:3] for event in events] == [("rung", n, 3) for n in (1, 2, 3)]
    assert data.sizes == {"rung": 3, "noise": 2, "seed": 2}
    assert list(data.rung.values) == FEW and stored
    assert stored == {file: file.stat().st_mtime_ns for file in (tmp_path / "w").glob("*/parts/*")}
    for name in data:
        np.testing.assert_array_equal(data[name], again[name])
    assert np.isfinite(data.accuracy).all() and np.isfinite(data.relevant_attention).all()
    reasons = {judged.reason for judged in claims.judge(figure.claims, data) if not judged.verdict}
    assert all("not tested" in reason for reason in reasons)


def module(package, name):
    get(name)
    return sys.modules[f"{package.__name__}.{name}"]


def test_the_first_stage_of_an_exponential_is_short_and_that_of_a_plateau_long(package):
    t = np.arange(0, 400)
    coords, dims = {"step": t}, ("seed", "step")
    level = lambda values: xr.DataArray([values], coords, dims)
    stage_one = module(package, "network_bigram").stage_one
    exponential = stage_one(level(np.exp(-t / 50)))
    np.testing.assert_allclose(exponential, np.log(1 / 0.9) / np.log(2), atol=0.02)
    late = np.where(t < 100, 3 - 0.02 * t, np.exp(-np.maximum(t - 200, 0) / 50))
    assert stage_one(level(late)) > 0.7  # steps before the loss is 1 do not count
    assert np.isnan(stage_one(level(1 - 1e-4 * t)))


def test_what_is_pruned_is_the_attention_of_the_network(package):
    pruning = module(package, "network_pruning")
    theory = package.network("attention_pruning")
    config = theory.Config(**pruning.PRUNING.data, **package.settings("+ layer norm")[1])
    key = jaxtheory.run_key(100, 0)
    problem = theory.problem(key, config)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        params = theory.init(key, problem, config)  # its biases are 0
        layer = pruning.layer(params["params"], problem)
        own = model.Config(**pruning.PRUNING.data).replace(dimension=config.width.cap)
        batch = model.Batch(layer.inputs)
        attention = model.target(batch, layer, own)
        task = jaxtheory.tasks.attention_pruning
        network = jaxtheory.networks.Transformer(
            outputs=8,
            depth=1,
            heads=1,
            width=16,
            mlp="none",
            residual=False,
            positions="sinusoidal",
        )
        inputs = task.inputs(model.Batch(problem.inputs), problem, config)
        _, intermediates = network.apply(params, inputs, mutable=["intermediates"])
        maps = intermediates["intermediates"]["attention_0"]["attention"][0]
    np.testing.assert_allclose(attention, jnp.squeeze(maps, 1), atol=1e-5)
