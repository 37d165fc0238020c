"""The rows after a sweep: last values over seeds, gaps to predictions, diverged runs."""

import numpy as np
import pytest
import xarray as xr
from helpers.worked_example import THEORY, Config

from jaxtheory import sweep
from jaxtheory.engine.results.summary import _estimate, _gaps, curves, final, summary


def dataset(rates=(0.1, 0.2), seeds=2, **more: xr.DataArray) -> xr.Dataset:
    """A dataset with the loss 10 rate + seed at step 0 and rate + seed at step 5."""
    at, seed = np.array(rates), np.arange(seeds)
    first, last = (10 * at[:, None] + seed, at[:, None] + seed)
    dims = ("rate", "seed")
    return xr.Dataset(
        {
            "loss": ((*dims, "step"), np.stack([first, last], axis=-1)),
            "predicted_loss_law": ((*dims, "step"), np.zeros((len(at), seeds, 2))),
            "weights": ((*dims, "step", "place"), np.zeros((len(at), seeds, 2, 3))),
            "diverged_at": (dims, np.full((len(at), seeds), -1)),
            **more,
        },
        {"rate": at, "seed": seed, "step": [0, 5]},
    )


def test_rows_are_means_and_errors_at_the_last_record() -> None:
    table = summary(dataset())
    assert table.axes == ["rate"] and table.columns == ["loss", "loss - law"]
    assert table.rows == [["0.1", "0.6 ± 0.5", "0.6 ± 0.5"], ["0.2", "0.7 ± 0.5", "0.7 ± 0.5"]]
    assert table.points == 2 and table.left_out == []


def test_diverged_runs_are_counted_and_left_out() -> None:
    data = dataset(diverged_at=(("rate", "seed"), np.array([[-1, 5], [-1, -1]])))
    table = summary(data)
    assert table.columns[-1] == "diverged"
    cell = "0.1 (n = 1 of 2)"
    assert table.rows[0] == ["0.1", cell, cell, "1 of 2"] and table.rows[1][-1] == "0 of 2"
    assert table.behind == "1 to 2 of 2" and summary(dataset()).behind == "2"


def test_many_points_and_metrics_are_cut() -> None:
    data = dataset(rates=np.linspace(0, 1, 30))
    data = data.assign({f"other_{i}": data.loss + i for i in range(7)})
    table = summary(data)
    assert len(table.rows) == 12 and table.points == 30
    assert (table.rows[0][0], table.rows[-1][0]) == ("0", "1")
    assert table.columns == ["loss", "loss - law", "other_0", "other_1", "other_2"]
    assert table.left_out == ["other_3", "other_4", "other_5", "other_6"]
    assert len(summary(data.isel(rate=[0])).columns) == 9  # of one point there is room for all


def test_a_curve_belongs_to_the_longest_name_it_begins_with() -> None:
    data = dataset()
    data = data.assign(loss_rest=data.loss, predicted_loss_rest=data.loss)
    assert curves(data, "loss") == ["law"] and curves(data, "loss_rest") == [""]
    assert list(_gaps(data, "loss_rest")) == ["loss_rest - predicted"]


def test_a_difference_of_rounding_is_none() -> None:
    data = dataset()
    law = data.loss.isel(seed=0).astype(np.float32)
    near = law * np.float32(1 + 3 * np.finfo(np.float32).eps)
    runs = xr.concat([near, near], "seed").transpose(*data.loss.dims).assign_coords(seed=data.seed)
    table = summary(data.assign(loss=runs, predicted_loss_law=law))
    assert [row[2] for row in table.rows] == ["equal", "equal"]
    assert all("equal" not in row[1] for row in table.rows)
    far = summary(data.assign(loss=runs, predicted_loss_law=law * np.float32(1.0001)))
    assert not any("equal" in row for row in far.rows)


def test_a_metric_of_earlier_records_names_its_step() -> None:
    data = dataset()
    table = summary(data.assign(loss=data.loss.where(data.step == 0)))
    assert table.columns[0] == "loss (step 0)" and table.rows[0][1] == "1.5 ± 0.5"


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (1.23456, 0.05, "1.23 ± 0.05"),
        (0.3, 0.00214, "0.300 ± 0.002"),
        (1234.5, 12.3, "1234 ± 1e+01"),
        (0.5, 0.0, "0.5 ± 0"),
        (0.0, 0.0, "equal"),
        (0.0, np.nan, "equal"),
        (0.0, 0.1, "0.0 ± 0.1"),
        (2.0, np.nan, "2"),
        (np.nan, np.nan, ""),
    ],
)
def test_estimates(mean: float, error: float, text: str) -> None:
    assert _estimate(mean, error, "equal") == text


def test_of_an_axis_of_steps_each_point_ends_at_its_own() -> None:
    axes = {"steps": [3, 6], "learning_rate": [0.1, 0.2]}
    data = sweep(THEORY, Config(), vary=axes, seeds=2, steps=6, record=3)
    losses = final(data, "loss")
    assert losses.dims == ("steps", "learning_rate", "seed") and losses.notnull().all()
    at = {"steps": 3, "learning_rate": 0.2, "seed": 1}
    assert float(losses.sel(at)) == float(data.loss.sel(at).sel(step=3))
    assert len(summary(data).rows) == 4
