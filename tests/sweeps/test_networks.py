"""The ladders: what each rung changes, and that they run, keep what is measured and go on where
they were stopped.
"""

import sys

import jax
import numpy as np
import pytest

from jaxtheory import claims, figures

from .made_up import get

LADDERS = [entry.name for entry in figures.entries().values() if entry.theory == "networks"]
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
    ladder = next(
        value
        for value in vars(sys.modules[f"{package.__name__}.{name}"]).values()
        if isinstance(value, package.Ladder)
    )
    theory, network = package.theory_of(ladder), package.network(ladder.name)
    one = theory.Config(**ladder.data, **ladder.own["settings"])
    other = network.Config(**ladder.data, **package.settings("+ depth 2")[1])
    for field in ladder.data:
        assert getattr(one, field) == getattr(other, field)
    assert len(figure.sweep[ladder.axis]) > 1


def test_a_ladder_runs_and_keeps_its_rungs(package, tmp_path):
    figure = get("network_walk")
    asked = figure.sweep | {
        "rungs": FEW,
        "clockwise_probability": [0.7, 1.0],
        "seeds": 2,
        "steps": 2,
        "own_steps": 2,
    }
    seen = []
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        data = figure.experiment(tmp_path / "w", 0, lambda *event: seen.append(event), **asked)
        stored = {file: file.stat().st_mtime_ns for file in (tmp_path / "w").glob("*/parts/*")}
        again = figure.experiment(tmp_path / "w", 0, None, **asked)
    assert [event[:3] for event in seen] == [("rung", n, 3) for n in (1, 2, 3)]
    assert data.sizes == {"rung": 3, "clockwise_probability": 2, "seed": 2}
    assert list(data.rung.values) == FEW and stored
    assert stored == {file: file.stat().st_mtime_ns for file in (tmp_path / "w").glob("*/parts/*")}
    for name in data:
        np.testing.assert_array_equal(data[name], again[name])
    assert np.isfinite(data.accuracy).all() and np.isfinite(data.parent_attention).all()
    reasons = {judged.reason for judged in claims.judge(figure.claims, data) if not judged.verdict}
    assert all("not tested" in reason for reason in reasons)
