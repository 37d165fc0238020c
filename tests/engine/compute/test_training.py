"""Training a chunk: stop rules, diverged runs, and starts from a run or from parameters."""

import math

import jax
import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory import InputError, run_key, simulate, sweep
from jaxtheory.engine.compute import training


def test_stop_is_per_run_and_the_same_alone():
    stop = lambda metrics: metrics["loss"] < 0.2
    data = sweep(
        THEORY,
        Config(),
        vary={"eta": [0.05, 0.3], "theta": [0.0, 0.3]},
        seeds=2,
        steps=40,
        record=5,
        stop=stop,
        dtype="float64",
    )
    for eta in (0.05, 0.3):
        run = simulate(
            THEORY,
            Config(learning_rate=eta, threshold=0.3),
            run_key(0, 1),
            steps=40,
            record=5,
            stop=stop,
            dtype="float64",
        )
        np.testing.assert_allclose(
            data.loss.sel(learning_rate=eta, threshold=0.3, seed=1), run.metrics["loss"], rtol=1e-12
        )
    ended = data.loss.isnull().any("step")
    assert ended.any() and (data.loss.min("step").where(ended, 0) < 0.2).all()
    assert ((data.loss < 0.2).sum("step") <= 1).all()


def test_numbers_do_not_depend_on_how_often_the_host_looks(monkeypatch):
    """Bit for bit, with sets of metrics that differ from record to record, and runs that end."""
    steps = []
    options = {
        "vary": {"eta": [0.05, 1e60], "theta": [0.0, 0.3]},
        "seeds": 2,
        "steps": 33,
        "record": {"loss": 1, "weights": [0, 7, 8, 33]},
        "progress": lambda p: steps.append(p.step) if p.metrics is not None else None,
    }
    datasets = []
    for look in (0.0, math.inf):
        monkeypatch.setattr(training, "_LOOK", look)
        datasets.append(sweep(THEORY, Config(), dtype="float64", **options))
    assert datasets[0].identical(datasets[1]) and datasets[0].weights.notnull().any()
    assert sorted(steps[: len(steps) // 2]) == sorted(steps[len(steps) // 2 :])


def test_diverged_lanes_are_flagged_frozen_and_poison_nobody():
    data = sweep(
        THEORY, Config(), vary={"eta": [0.1, 1e200]}, seeds=2, steps=30, record=10, dtype="float64"
    )
    assert (data.diverged_at.sel(learning_rate=0.1) == -1).all() and (
        data.diverged_at.sel(learning_rate=1e200) > 0
    ).all()
    reference = sweep(
        THEORY, Config(), vary={"eta": [0.1]}, seeds=2, steps=30, record=10, dtype="float64"
    )
    np.testing.assert_allclose(data.loss.sel(learning_rate=[0.1]), reference.loss, rtol=1e-12)
    assert np.isnan(data.loss.sel(learning_rate=1e200, step=30)).all()
    estimate = jaxtheory.statistics.average(data.loss.stack(lane=("learning_rate", "seed")), "lane")
    assert estimate.excluded.sel(step=30) == 2 and np.isfinite(estimate.mean.sel(step=30))
    run = simulate(THEORY, Config(learning_rate=1e200), run_key(0, 0), steps=30, dtype="float64")
    assert (
        run.diverged_at == int(data.diverged_at.sel(learning_rate=1e200, seed=0))
        and np.isfinite(run.params.weights).all()
    )


def test_start_from_a_run_and_from_parameters():
    first = simulate(THEORY, Config(), run_key(0, 0), steps=7, dtype="float64")
    again = simulate(THEORY, Config(), run_key(0, 0), steps=3, start=first, dtype="float64")
    same = simulate(THEORY, Config(), run_key(0, 0), steps=3, start=first.params, dtype="float64")
    np.testing.assert_array_equal(again.metrics["weights"][0], first.params.weights)
    np.testing.assert_array_equal(again.metrics["weights"], same.metrics["weights"])
    stacked = jax.tree.map(lambda x: np.stack([x, 2 * x]), first.params)
    data = sweep(
        THEORY, Config(), vary={"eta": [0.1, 0.2]}, seeds=2, steps=3, start=stacked, dtype="float64"
    )
    np.testing.assert_array_equal(
        data.weights.sel(step=0, seed=1, learning_rate=0.2), 2 * first.params.weights
    )
    with pytest.raises(InputError, match="leading axis seed"):
        sweep(THEORY, Config(), seeds=3, steps=3, start=stacked, dtype="float64")
    with pytest.raises(InputError, match="but this run needs"):
        sweep(THEORY, Config(dimension=4), seeds=2, steps=3, start=stacked, dtype="float64")
