import chex
import jax
import numpy as np
import pytest
from helpers.worked_example import THEORY, Config, compilations, training_loops

import jaxtheory
from jaxtheory import InputError, run_key, simulate, sweep
from jaxtheory.engine.compute import program


def test_product_and_zip_axes_over_every_kind_of_field():
    data = sweep(
        THEORY,
        Config(),
        vary={"d": [2, 5], "eta": [0.1, 0.2], "theta": [0.01, 0.2], "steps": [3, 6]},
        zip={"setting": ["small", "large"], "batch_size": [2, 8], "noise": [0.0, 0.3]},
        seeds=[3, 5],
        steps=0,
        record=[0, 3, 6],
        dtype="float64",
    )
    assert data.loss.dims == (
        "dimension",
        "learning_rate",
        "threshold",
        "steps",
        "setting",
        "seed",
        "step",
    )
    assert data.weights.dims == (*data.loss.dims, "coordinate")
    assert data.batch_size.dims == ("setting",) and data.noise.values.tolist() == [0.0, 0.3]
    assert data.seed.values.tolist() == [3, 5] and data.step.values.tolist() == [0, 3, 6]
    run = simulate(
        THEORY,
        Config(dimension=2, batch_size=8, noise=0.3, learning_rate=0.2, threshold=0.01),
        run_key(0, 5),
        steps=6,
        record=[0, 3, 6],
        dtype="float64",
    )
    lane = data.sel(
        dimension=2, setting="large", learning_rate=0.2, threshold=0.01, steps=6, seed=5
    )
    np.testing.assert_allclose(lane.loss, run.metrics["loss"], rtol=1e-12)
    np.testing.assert_allclose(lane.weights[:, :2], run.metrics["weights"], rtol=1e-12)
    assert np.isnan(lane.weights[:, 2:]).all()  # beyond its own dimension
    assert (
        np.isnan(data.loss.sel(steps=3, step=6)).all()
        and np.isfinite(data.loss.sel(steps=3, step=3)).all()
    )
    np.testing.assert_allclose(
        lane.predicted_loss, THEORY.predict(run.problem, run.config, run.steps)["loss"], rtol=1e-12
    )


def test_traced_and_evaluation_axes_share_one_compilation_and_a_second_call_needs_none():
    sgd = THEORY.algorithms["sgd"]
    step = chex.assert_max_traces(sgd.step, n=4)  # the forms, the plan, a slot, the loop
    theory = THEORY._replace(algorithms={"sgd": sgd._replace(step=step)})
    with compilations() as first:
        sweep(
            theory,
            Config(dimension=7),
            vary={"eta": [0.1, 0.2, 0.3], "theta": [0.0, 0.1]},
            zip={"noise": [0.1, 0.2]},
            seeds=3,
            steps=4,
        )
    with compilations() as second:
        sweep(
            theory,
            Config(dimension=7),
            vary={"eta": [0.4, 0.05, 0.2], "theta": [0.3, 0.2]},
            zip={"noise": [0.0, 0.5]},
            seeds=[5, 8, 9],
            steps=9,
            record=3,
        )
    assert training_loops(first) == 1
    assert training_loops(second) == 0


@pytest.mark.parametrize(("buckets", "loops"), [("pad", 1), ("exact", 3)])
def test_a_padded_size_axis_needs_one_compilation(buckets, loops):
    program._compiled.clear()  # a run alone may share a program with a sweep of exact sizes
    with compilations() as seen:
        data = sweep(
            THEORY,
            Config(batch_size=5),
            vary={"d": [3, 4, 6]},
            seeds=2,
            steps=4,
            buckets=buckets,
            dtype="float64",
        )
    assert training_loops(seen) == loops
    for d in (3, 4, 6):
        run = simulate(
            THEORY, Config(batch_size=5, dimension=d), run_key(0, 1), steps=4, dtype="float64"
        )
        np.testing.assert_allclose(
            data.loss.sel(dimension=d, seed=1), run.metrics["loss"], rtol=1e-12
        )
        np.testing.assert_allclose(
            data.weights.sel(dimension=d, seed=1)[:, :d], run.metrics["weights"], rtol=1e-12
        )


def test_dtypes_in_one_process():
    wide = simulate(THEORY, Config(), run_key(0, 0), steps=5, dtype="float64")
    narrow = simulate(THEORY, Config(), run_key(0, 0), steps=5, dtype="float32")
    assert wide.metrics["loss"].dtype == np.float64 and narrow.metrics["loss"].dtype == np.float32
    assert sweep(THEORY, Config(), steps=2, dtype="float32").loss.dtype == np.float32


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


def test_diverged_lanes_are_flagged_frozen_and_poison_nobody():
    data = sweep(
        THEORY, Config(), vary={"eta": [0.1, 1e200]}, seeds=2, steps=30, record=10, dtype="float64"
    )
    assert (data.diverged_at.sel(learning_rate=0.1) == -1).all() and (
        data.diverged_at.sel(learning_rate=1e200) > 0
    ).all()
    alone = sweep(
        THEORY, Config(), vary={"eta": [0.1]}, seeds=2, steps=30, record=10, dtype="float64"
    )
    np.testing.assert_allclose(data.loss.sel(learning_rate=[0.1]), alone.loss, rtol=1e-12)
    assert np.isnan(data.loss.sel(learning_rate=1e200, step=30)).all()
    found = jaxtheory.statistics.average(data.loss.stack(lane=("learning_rate", "seed")), "lane")
    assert found.excluded.sel(step=30) == 2 and np.isfinite(found.mean.sel(step=30))
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
    with pytest.raises(InputError, match="does not fit"):
        sweep(THEORY, Config(dimension=4), seeds=2, steps=3, start=stacked, dtype="float64")


def test_record():
    steps_of = lambda steps: simulate(THEORY, Config(), run_key(0, 0), steps=steps).steps.tolist()
    assert steps_of(0) == [0]
    assert steps_of(50) == [*range(51)]
    assert steps_of(51) == [*range(0, 51, 2), 51]
    assert steps_of(1000) == [*range(0, 1001, 20)]
    assert simulate(THEORY, Config(), run_key(0, 0), steps=10, record=4).steps.tolist() == [
        0,
        4,
        8,
        10,
    ]
    data = sweep(
        THEORY, Config(), steps=10, record={"loss": [0, 5], "weights": [10]}, dtype="float64"
    )
    assert (
        data.step.values.tolist() == [0, 5, 10]
        and set(data) >= {"loss", "weights"}
        and "rounded_loss" not in data
    )
    assert (
        np.isnan(data.loss.sel(step=10)).all()
        and np.isnan(data.weights.sel(step=5)).all()
        and np.isfinite(data.weights.sel(step=10)).all()
    )
    short = simulate(
        THEORY, Config(), run_key(0, 0), steps=10, record=[3], dtype="float64"
    )  # trained on to the end all the same
    full = simulate(THEORY, Config(), run_key(0, 0), steps=10, dtype="float64")
    np.testing.assert_array_equal(short.params.weights, full.params.weights)


BAD = [
    ({"vary": {"width": [1]}}, "unknown field 'width'"),
    ({"vary": {"eta": []}}, "empty"),
    ({"vary": {"eta": 0.1}}, "give a list"),
    ({"vary": {"eta": [0.1, -1.0]}}, r"learning_rate \(eta\) = -1.0"),
    ({"vary": {"eta": [0.1, float("nan")]}}, r"learning_rate \(eta\) = nan"),
    ({"vary": {"d": [2, 2.5]}}, r"dimension \(d\) = 2.5"),
    ({"vary": {"eta": [0.1, 0.1]}}, "stands twice"),
    ({"vary": {"eta": [0.1], "learning_rate": [0.2]}}, "stands on two axes"),
    ({"zip": {"eta": [0.1, 0.2], "d": [3]}}, "equally many"),
    ({"zip": {"x": [1, 2], "y": [3, 4]}}, "unknown field 'y'"),
    ({"vary": {"algorithm": ["sdg"]}}, "did you mean 'sgd'"),
    ({"algorithm": "sdg"}, "did you mean 'sgd'"),
    ({"steps": -1}, "steps = -1"),
    ({"seeds": 0}, "seeds = 0"),
    ({"seeds": [1, 1]}, "different integers"),
    ({"record": [99]}, "steps must be integers in"),
    ({"record": {"los": [1]}}, "unknown metric 'los'; did you mean 'loss'"),
    ({"dtype": "float16"}, "choose 'float32' or 'float64'"),
    ({"buckets": "best"}, "choose 'auto', 'pad' or 'exact'"),
    ({"key": 0.5}, "key = 0.5"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_input(options, message):
    with pytest.raises(InputError, match=message):
        sweep(THEORY, Config(), **{"steps": 5, **options})


def test_a_config_of_another_theory_is_refused():
    with pytest.raises(InputError, match="expected linear_regression's Config"):
        simulate(THEORY, jaxtheory.theories.get("random_walk").Config(), run_key(0, 0), steps=1)
    with pytest.raises(InputError, match="run_key"):
        simulate(THEORY, Config(), 0, steps=1)
