"""Values of axes, keys and seeds: what is accepted, as which value, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from helpers.worked_example import THEORY, Config

from jaxtheory import plan, run_key, simulate, sweep
from jaxtheory.texts.errors import InputError

AXES = {
    "floats": [0.1, 0.7],
    "linspace": jnp.linspace(0.1, 0.7, 2),
    "float32": np.float32([0.1, 0.7]),
    "bfloat16": jnp.array([0.1, 0.7], jnp.bfloat16),
    "float16": np.float16([0.1, 0.7]),
    "scalars": [np.float32(0.1), 0.7],
    "without axes": [np.array(0.1), jnp.float32(0.7)],
    "objects": np.array([0.1, 0.7], object),
    "series": pd.Series([0.1, 0.7]),
    "index": pd.Index([0.1, 0.7]),
    "data array": xr.DataArray(np.float32([0.1, 0.7])),
    "dict values": {0: 0.1, 1: 0.7}.values(),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_axis_of_any_kind_of_numbers_is_labeled_and_trained_alike(dtype):
    datasets = {
        name: sweep(THEORY, Config(), vary={"eta": values}, steps=3, dtype=dtype)
        for name, values in AXES.items()
    }
    for data in datasets.values():
        assert data.learning_rate.values.tolist() == [0.1, 0.7]
        assert data.sel(learning_rate=0.1).loss.size == 4
        np.testing.assert_array_equal(data.loss, datasets["floats"].loss)


def test_zipped_values_labels_and_configs_of_low_precision_are_decimals_too():
    low = np.float32([0.1, 0.7])
    data = sweep(THEORY, Config(), zip={"case": low, "eta": low}, steps=1, dtype="float64")
    assert data.case.values.tolist() == data.learning_rate.values.tolist() == [0.1, 0.7]
    config = Config(learning_rate=low[0], noise=jnp.bfloat16(0.7))
    options = {"steps": 3, "dtype": "float64"}
    one, two = (sweep(THEORY, c, **options) for c in (config, Config(learning_rate=0.1, noise=0.7)))
    assert one.identical(two)
    run = simulate(THEORY, config, run_key(0, 0), **options)
    assert float(run.config.learning_rate) == 0.1
    np.testing.assert_array_equal(run.metrics["loss"], one.loss.values[0])


NOT_AXES = [
    (np.array([[0.1, 0.2]]), r"eta: must be a list of values \(one dimension\), .* shape \(1, 2\)"),
    (np.array(0.1), r"must be a list of values \(one dimension\), got 0.1"),
    ([[0.1, 0.2]], "one dimension"),
    ([[0.1], [0.2, 0.3]], "one dimension"),
    ([(0.1,)], "one dimension"),
    ([np.array([0.1, 0.2])], "one dimension"),
    (pd.DataFrame({"a": [0.1]}), "one dimension"),
    (xr.DataArray([[0.1]]), "one dimension"),
    (xr.Dataset(), "must be a list"),
    ({0.1, 0.2}, "must be a list"),
    ({0.1: 0.2}, "must be a list"),
    ({0.1: 0.2}.keys(), "must be a list"),
    ((x for x in [0.1]), r"write list\(...\)"),
    (map(float, [0.1]), r"write list\(...\)"),
    ("0.1", "must be a list"),
    (b"0.1", "must be a list"),
    (0.1, "must be a list"),
    (None, "must be a list"),
    ([], "list of values is empty"),
    (np.array([]), "list of values is empty"),
    (["a"], r"learning_rate \(eta\) = 'a': must be a number"),
    (np.array(["a"]), "'a': must be a number"),
    (np.array([0.1, None], object), "None: must be a number"),
    ([True], "True: must be a number"),
    (np.array([True]), "True: must be a number"),
    ([1j], "1j: must be a number"),
    (np.array([1j]), "1j: must be a number"),
    ([10**400], "must be a number"),
    ([float("nan")], "nan: must be a number"),
    (np.float32([np.nan, 0.1]), "nan: must be a number"),
    ([0.1, float("inf")], "inf: must be a number"),
    (np.array([0.1, -2.0]), r"= -2.0: must be a number"),
    (np.float32([0.1, 0.1]), "the value 0.1 is on the axis twice"),
    (np.array(["2020"], "M8[D]"), "must be a number"),
]


@pytest.mark.parametrize(("values", "message"), NOT_AXES)
def test_what_is_not_an_axis_is_refused_in_a_line(values, message):
    for door in (plan, sweep):
        with pytest.raises(InputError, match=message) as error:
            door(THEORY, Config(), vary={"eta": values}, steps=1)
        assert "\n" not in str(error.value)


def test_steps_and_sizes_may_be_integers_of_any_kind():
    for three in (3, 3.0, np.int32(3), np.array(3), jnp.array(3)):
        sweep_plan = plan(THEORY, Config(), vary={"d": [three], "steps": [three]}, steps=three)
        assert sweep_plan.buckets[0].sizes["dimension"] == sweep_plan.buckets[0].steps[0] == 3


GOOD_KEYS = [0, 2**32 - 1, np.int64(3), np.uint32(3), np.array(3), jnp.array(3)]
BAD_KEYS = [2**32, 2**40 + 1, -1, True, np.True_, 0.5, 1.0, "a", None, np.array([3])]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("key", GOOD_KEYS)
def test_a_base_key_makes_the_same_draws_everywhere(key, dtype):
    options = {"steps": 2, "dtype": dtype}
    data = sweep(THEORY, Config(), key=key, seeds=[0, 2**32 - 1], **options)
    for seed in (0, 2**32 - 1):
        run = simulate(THEORY, Config(), run_key(key, seed), **options)
        np.testing.assert_array_equal(run.metrics["loss"], data.loss.sel(seed=seed))
        with jax.enable_x64(dtype == "float64"):
            again = simulate(THEORY, Config(), run_key(key, seed), **options)
        np.testing.assert_array_equal(run.metrics["loss"], again.metrics["loss"])


@pytest.mark.parametrize("key", BAD_KEYS)
def test_a_base_key_or_seed_outside_of_32_bits_is_refused_everywhere(key):
    sentence = r"must be an integer in \[0, 2\^32\)"
    for door in (plan, sweep):
        with pytest.raises(InputError, match=f"^key = .*{sentence}$"):
            door(THEORY, Config(), key=key, steps=1)
        with pytest.raises(InputError, match=r"^seeds = .*integers in \[0, 2\^32\)$"):
            door(THEORY, Config(), seeds=[key], steps=1)
    with pytest.raises(InputError, match=f"^key = .*{sentence}$"):
        run_key(key, 0)
    with pytest.raises(InputError, match=f"^seed = .*{sentence}$"):
        run_key(0, key)


def test_a_key_of_another_form_is_told_what_to_give():
    old, keys = jax.random.PRNGKey(0), jax.random.split(jax.random.key(0), 2)
    for give in (
        lambda key: sweep(THEORY, Config(), key=key, steps=1),
        lambda key: simulate(THEORY, Config(), key, steps=1),
        lambda key: run_key(key, 0),
    ):
        with pytest.raises(InputError, match=r"PRNGKey; use jax.random.key\(...\) or .*run_key"):
            give(old)
        with pytest.raises(InputError, match=r"array of keys of shape \(2,\); give one"):
            give(keys)
    assert sweep(THEORY, Config(), key=jax.random.key(7), steps=1).sizes["seed"] == 1
    with pytest.raises(InputError, match="run_key"):
        simulate(THEORY, Config(), np.array(3), steps=1)


def test_run_keys_may_be_traced():
    keys = jax.vmap(lambda seed: run_key(3, seed))(jnp.arange(3))
    assert (keys[2] == run_key(3, 2)).all()
