"""Ladders of networks that have learned: the cells, what is measured of them, and that they run."""

import sys

import jax
import numpy as np
import pytest
import xarray as xr

from .made_up import get


@pytest.fixture
def cells():
    get("network_walk")
    return sys.modules["jaxtheory._sweeps.networks._cells"]


def test_cells_are_all_combinations_of_the_levels(cells):
    assert len(cells.CELLS) == 8 and len(cells.ADAM) == 2
    settings = [tuple(sorted(fields.items(), key=str)) for fields in cells.CELLS.values()]
    assert len(set(settings)) == 8
    last = cells.CELLS["AdamW, block, 2 × 4"]
    assert (last["depth"], last["heads"], last["mlp"], last["residual"]) == (2, 4, "gelu", True)


def test_shares_of_gaps_are_those_of_the_levels(cells):
    """Best loss 1, 3 without the prompt and 2 without the tokens."""
    runs = {"seed": [0, 1], "step": [0, 9]}
    values = lambda end: (("seed", "step"), np.array([[3.0, end], [3.0, end]]))
    levels = (("seed", "step", "level"), np.broadcast_to([1.0, 3.0, 2.0], (2, 2, 3)))
    data = xr.Dataset(
        {"levels": levels, "loss": values(1.2), "without": values(1.9), "only": values(1.3)}, runs
    )
    found = cells.measured(data.assign(attention=values(0.7)), ("attention",))
    assert {name: found[name].values.round(12).tolist() for name in found} == {
        "closed": [0.9, 0.9],
        "used": [0.7, 0.7],
        "others": [0.1, 0.1],
        "attention": [0.7, 0.7],
    }


def test_a_ladder_runs_and_is_read_from_its_folder(cells, tmp_path):
    figure = get("network_walk")
    few = [cells.THEOREM, "SGD, attention, 1 × 1"]
    options = figure.sweep | {"cells": few, "seeds": 2, "steps": 4, "own_steps": 4, "width": 8}
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
