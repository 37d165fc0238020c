"""The coordinates of a dataset, and labels that fail."""

import numpy as np
import pytest
from helpers.worked_example import THEORY, Config
from properties import little

from jaxtheory import InputError, sweep
from jaxtheory.engine.request.request import read
from jaxtheory.engine.results.dataset import _coordinates, describe, grid_of

MILLIONS = 2_000_000
RATES = np.linspace(0.01, 0.5, MILLIONS)


def test_labels_are_made_once_where_they_read_no_number():
    calls = []

    def coords(config):
        calls.append(config)
        return {"i": [f"w{i}" for i in range(config.dimension.cap)]}

    theory = THEORY._replace(coords=coords, dims={"weights": ("i",)})
    request = read(theory, Config(dimension=3), vary={"eta": RATES}, steps=1)
    calls.clear()
    coordinates = _coordinates(
        grid_of(request), {"i": 3}, describe(request, {"problem": ""}).labels
    )
    assert coordinates["i"] == ["w0", "w1", "w2"] and len(calls) == 3
    assert coordinates["learning_rate"].shape == (MILLIONS,)


def test_labels_that_read_a_number_are_asked_at_every_value():
    for label in (
        lambda c: [f"{c.noise}"] * 3,
        lambda c: [c.noise] * 3,
        lambda c: [float(c.noise)],
    ):
        theory = THEORY._replace(coords=lambda c, label=label: {"i": label(c)})
        request = read(THEORY, Config(dimension=3), vary={"noise": [0.1, 0.2]}, steps=1)
        labels = describe(request._replace(theory=theory), {"problem": ""}).labels
        assert "i" not in _coordinates(grid_of(request), {"i": 3}, labels)


def test_labels_that_fail_at_a_later_point_are_refused_before_training():
    trained = []

    def coords(config):
        if float(config.noise) == 0.5:
            raise ZeroDivisionError("no labels here")
        return {"coordinate": list(range(config.dimension.cap))}

    theory = THEORY._replace(coords=coords)
    with pytest.raises(InputError, match=r"coords: ZeroDivisionError: no labels here"):
        sweep(
            theory,
            Config(),
            vary={"noise": [0.1, 0.5]},
            steps=2,
            execute=lambda *args: trained.append(args) or iter(()),
        )
    assert trained == []


def test_curves_of_one_static_value_are_nan_for_others(tmp_path):
    shape = {"seeds": 2, "steps": 2, "record": [0, 2], "key": 3}
    for store in (None, tmp_path):
        data = sweep(
            little.THEORY, little.Config(), vary={"kind": ["plain", "other"]}, **shape, store=store
        )
        curve = data.predicted_distance_other
        assert np.isnan(curve.sel(kind="plain")).all()
        np.testing.assert_allclose(curve.sel(kind="other"), [[-1, -(0.9**2)]] * 2, rtol=1e-6)
    one = sweep(little.THEORY, little.Config(), vary={"kind": ["plain"]}, **shape, store=tmp_path)
    assert "predicted_distance_other" not in one and "predicted_distance" in one
