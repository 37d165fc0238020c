"""Runs of several optimizers as one axis, and the curves of each over the learning rate."""

import numpy as np
import xarray as xr

from jaxtheory import plot
from jaxtheory.plotting import optimizers

RATES = {"sgd": [0.1, 0.5], "adam": [0.01]}


def loss():
    """The loss 10 rate + seed of each run, as a sweep labels it."""
    axes = optimizers.runs("eta", RATES)
    values = 10 * np.array(axes["eta"])[None, :] + np.arange(2)[:, None]
    coords = {"run": axes["run"], "seed": [0, 1]}
    coords |= {"algorithm": ("run", axes["algorithm"]), "eta": ("run", axes["eta"])}
    return xr.DataArray(values, coords, ("seed", "run"))


def test_each_rate_of_each_algorithm_is_a_run():
    assert optimizers.runs("eta", RATES) == {
        "run": ["sgd 0.1", "sgd 0.5", "adam 0.01"],
        "algorithm": ["sgd", "sgd", "adam"],
        "eta": [0.1, 0.5, 0.01],
    }
    assert optimizers.runs("eta", {}) == {"run": [], "algorithm": [], "eta": []}


def test_the_runs_of_one_algorithm_are_over_its_rates():
    losses = optimizers.select(loss(), "eta", "sgd")
    assert losses.rate.values.tolist() == [0.1, 0.5] and set(losses.coords) == {"rate", "seed"}
    np.testing.assert_allclose(losses.sel(rate=0.5), [5, 6])


def test_a_curve_for_each_algorithm_that_was_run():
    figure, ((ax,),) = plot.panels()
    optimizers.against_rate(ax, loss(), "eta")
    rows = [row for row in plot.numbers(figure) if row["kind"] == "line"]
    assert [(row["label"], row["x"]) for row in rows] == [
        ("gradient descent", 0.1),
        ("gradient descent", 0.5),
        ("Adam", 0.01),
    ]
    np.testing.assert_allclose([row["y"] for row in rows], [1.5, 5.5, 0.6])
