"""Datasets that are combined equal that of one sweep, or a sentence says why they cannot be."""

import numpy as np
import pytest
import xarray as xr
from helpers.worked_example import THEORY, Config

from jaxtheory import InputError, sweep
from jaxtheory.engine.results import combine as combine_module
from jaxtheory.engine.results.combine import combine
from jaxtheory.system import machine

TWO = THEORY._replace(algorithms={**THEORY.algorithms, "again": THEORY.algorithms["sgd"]})
RATES, SEEDS = [0.1, 0.2, 0.3], [0, 1, 2, 3]


def swept(config: Config | None = None, **asked) -> xr.Dataset:
    """A sweep with a chunk per run, so that the bits of a run do not depend on the others."""
    options = {"vary": {"eta": RATES}, "seeds": SEEDS, "steps": 4, "dtype": "float64"} | asked
    return sweep(TWO, config or Config(), **options)


@pytest.fixture(scope="module")
def whole() -> xr.Dataset:
    return swept()


def parts(whole: xr.Dataset, *regions: dict) -> list[xr.Dataset]:
    return [whole.isel(region) for region in regions]


@pytest.mark.parametrize(
    "regions",
    [
        [{"seed": [0, 1]}, {"seed": [2, 3]}],
        [{"seed": [3]}, {"seed": [0, 1, 2]}],
        [{"seed": [0, 2]}, {"seed": [1, 2, 3]}],  # equal numbers overlap
        [{"learning_rate": [1]}, {"learning_rate": [0, 2]}],
        [{"seed": [0], "learning_rate": [0]}, {"seed": [1, 2, 3], "learning_rate": [0]},
         {"learning_rate": [1, 2]}],
        [{}],
    ],
)  # fmt: skip
def test_what_was_cut_is_joined(whole: xr.Dataset, regions: list[dict]) -> None:
    joined = combine(parts(whole, *regions))
    assert joined.identical(whole) and list(joined.attrs) == list(whole.attrs)


def test_two_sweeps_are_one(whole: xr.Dataset) -> None:
    joined = combine([swept(vary={"eta": [0.1, 0.3]}), swept(vary={"eta": [0.2]})])
    assert joined.attrs == whole.attrs and joined.attrs["summary"].split(", ")[0].endswith(
        "3 points"
    )
    xr.testing.assert_allclose(joined, whole, rtol=1e-12)


def test_values_keep_their_order_if_they_are_not_sorted() -> None:
    data = swept(vary={"eta": [0.3, 0.1, 0.4, 0.2]}, seeds=1)
    joined = combine(parts(data, {"learning_rate": [0, 1, 2]}, {"learning_rate": [3]}))
    assert joined.learning_rate.values.tolist() == [0.3, 0.1, 0.4, 0.2] and joined.identical(data)
    falling = data.isel(learning_rate=[0, 3, 1])
    joined = combine(parts(falling, {"learning_rate": [1, 2]}, {"learning_rate": [0]}))
    assert joined.drop_attrs().identical(falling.drop_attrs())


def test_zipped_fields_and_names_go_along() -> None:
    zipped = {"vary": None, "zip": {"eta": RATES, "noise": [0.5, 0.0, 0.2]}, "seeds": 2}
    data = swept(**zipped)
    joined = combine(parts(data, {"learning_rate": [2]}, {"learning_rate": [0, 1]}))
    assert joined.identical(data)
    other = data.assign_coords(noise=("learning_rate", [0.5, 1.0, 0.2]))
    with pytest.raises(InputError, match="noise differs at equal values of learning_rate"):
        combine([data, other])
    named = swept(vary={"algorithm": [*TWO.algorithms]}, seeds=1)
    assert combine(parts(named, {"algorithm": [0]}, {"algorithm": slice(1, None)})).identical(named)


def test_sizes_that_differ_are_filled_with_nan() -> None:
    data = swept(vary={"d": [2, 5]}, seeds=2)
    assert data.weights.isnull().any()
    small = swept(vary={"d": [2]}, seeds=2)
    assert small.sizes["coordinate"] < data.sizes["coordinate"]
    joined = combine([small, data.isel(dimension=[1])])
    xr.testing.assert_allclose(joined, data, rtol=1e-12)
    assert joined.weights.isnull().equals(data.weights.isnull())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"vary": {"noise": [0.1]}}, "axes: learning_rate, seed and noise, seed"),
        ({"steps": 5}, "steps: 4 and 5"),
        ({"record": [0, 4]}, "recorded steps"),
        ({"key": 7}, "key: 0 and 7"),
        ({"dtype": "float32"}, "dtype: float64 and float32"),
        ({"config": Config(noise=0.3)}, r"config.noise: 0\.1 and 0\.3"),
        ({"algorithm": "again"}, "algorithm: "),
    ],
)
def test_another_request_is_refused(whole: xr.Dataset, asked: dict, said: str) -> None:
    other = swept(**{"seeds": [9], **asked})
    with pytest.raises(InputError, match=f"^A and B differ in {said}") as error:
        combine([whole, other], ["A", "B"])
    assert "\n" not in str(error.value)


def test_the_base_value_of_a_field_on_an_axis_does_not_count(whole: xr.Dataset) -> None:
    other = swept(Config(learning_rate=0.7), seeds=[9])
    assert combine([whole, other]).seed.values.tolist() == [*SEEDS, 9]


def test_other_code_and_other_variables_are_refused(whole: xr.Dataset) -> None:
    other = whole.assign_attrs(theory_digest="00000000").assign_coords(seed=[4, 5, 6, 7])
    with pytest.raises(InputError, match="differ in theory_digest"):
        combine([whole, other])
    fewer = whole.drop_vars("rounded_loss").assign_coords(seed=[4, 5, 6, 7])
    with pytest.raises(InputError, match="differ in variables: rounded_loss"):
        combine([whole, fewer])
    with pytest.raises(InputError, match="dataset 2 is not the dataset of a sweep"):
        combine([whole, xr.Dataset()])
    with pytest.raises(InputError, match="nothing is given"):
        combine([])


def test_holes_are_named(whole: xr.Dataset) -> None:
    with pytest.raises(InputError, match=r"no sweep has learning_rate = 0\.1, seed = 1 and 1 more"):
        combine(parts(whole, {"seed": [0]}, {"seed": [1], "learning_rate": [1, 2]})[:1] + parts(
            whole, {"seed": [1], "learning_rate": [1]}
        ))  # fmt: skip


def test_different_numbers_of_one_run_are_refused(whole: xr.Dataset) -> None:
    other = whole.isel(seed=[1, 2]).copy(deep=True)
    other["loss"][{"learning_rate": 2, "seed": 1, "step": 3}] = 7.0
    was = float(whole.loss[{"learning_rate": 2, "seed": 2, "step": 3}])
    said = f"loss at learning_rate = 0.3, seed = 2 is {was} in A and 7.0 in B; leave"
    with pytest.raises(InputError) as error:
        combine([whole, other], ["A", "B"])
    assert str(error.value).startswith(said)
    both = whole.copy(deep=True)
    both["loss"][{"seed": 0}] = np.nan  # equal where both have no value
    assert combine([both, both.isel(seed=[0])]).identical(both)


def test_the_common_runs_are_named(whole: xr.Dataset) -> None:
    other = whole.isel(learning_rate=[1, 2]).copy(deep=True)
    other["loss"] += 1e-9
    with pytest.raises(InputError, match=r"data\.drop_sel\(learning_rate=0\.2\)$"):
        combine([whole.isel(learning_rate=[0, 1]), other])
    joined = combine([whole.isel(learning_rate=[0, 1]), other.drop_sel(learning_rate=0.2)])
    assert joined.learning_rate.values.tolist() == RATES


def test_metrics_of_other_recorded_steps_are_refused(whole: xr.Dataset) -> None:
    """As many records, at other steps: their numbers would stand at the steps of the first."""
    other = whole.assign_coords(step=whole.step + 1, seed=[4, 5, 6, 7])
    with pytest.raises(InputError, match=r"^A and B differ in recorded steps; merge sweeps"):
        combine([whole, other], ["A", "B"])


def test_a_grid_beyond_the_memory_is_refused_before_it_is_made(whole, monkeypatch) -> None:
    first, second = parts(whole, {"seed": [0, 1]}, {"seed": [2, 3]})
    least = 12 * first.nbytes // 6  # the runs of the grid, as large as those of the first dataset
    monkeypatch.setattr(machine, "memory", lambda: least)
    assert combine([first, second]).identical(whole)
    monkeypatch.setattr(machine, "memory", lambda: 0)  # unknown
    assert combine([first, second]).identical(whole)
    monkeypatch.setattr(machine, "memory", lambda: least - 1)
    monkeypatch.setattr(combine_module, "_copied", lambda *args: pytest.fail())
    with pytest.raises(
        InputError, match=r"^not enough memory: the merged dataset takes .* KiB and"
    ):
        combine([first, second])
