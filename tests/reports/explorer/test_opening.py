"""Where a page opens: at the largest gap of run and theory, in widths of the band over seeds."""

import numpy as np
import xarray as xr
from helpers.explored import explorer_dataset

from jaxtheory.reports.explorer.content import content, whole_sweep

SEEDS, STEPS = 5, 3


def opened(data):
    """Name of the variable at which the page opens, and the places."""
    about = content(whole_sweep("x", data)).about
    return about["variables"][about["opening"]["variable"]]["name"], about["opening"]["at"]


def made(**widths):
    """Metrics whose last means are 1 from their theory at p = 0.7, with bands of these widths."""
    dims, spread = ("p", "seed", "step"), np.linspace(-0.5, 0.5, SEEDS)[:, None]
    data = xr.Dataset(coords={"p": [0.5, 0.7, 0.9]})
    for name, width in widths.items():
        run = np.zeros((3, SEEDS, STEPS)) + width * spread
        run[1, :, -1] += 1
        run[0, :, 0] += 100  # before the end, which does not count
        data = data.assign({name: (dims, run), f"predicted_{name}": (dims, np.zeros_like(run))})
    return data.assign(diverged_at=(("p", "seed"), np.full((3, SEEDS), -1)))


def test_it_opens_where_run_and_theory_differ_most():
    assert opened(made(wide=1.0, narrow=0.1)) == ("narrow", {"p": 1})
    assert opened(made(a=0.1, b=1.0)) == ("a", {"p": 1})


def test_without_a_band_the_range_counts():
    data = made(wide=1.0, same=0.0)  # of a gap of 1 in a range of 100
    assert opened(data)[0] == "wide"
    single = made(wide=1.0, narrow=0.1).isel(seed=[0])
    assert opened(single.isel(step=slice(1, None)))[1] == {"p": 1}


def test_values_that_are_not_finite_do_not_count():
    data = made(wide=1.0, narrow=0.1)
    gone = data.narrow.where((data.step < 2) | (data.p < 0.7), np.inf)
    assert opened(data.assign(narrow=gone.where(data.p > 0.5)))[0] == "wide"


def test_without_predictions_it_opens_at_the_first_variable():
    data = explorer_dataset(seeds=2, steps=3, side=2)
    bare = data.drop_vars("predicted_loss_flow")
    assert opened(bare) == ("loss", {})
    assert opened(data)[0] == "loss" and opened(data)[1].keys() == {"learning_rate", "l1"}
    exact = data.assign(loss=data.predicted_loss_flow)
    assert opened(exact) == ("loss", {})
