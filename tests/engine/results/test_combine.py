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


def swept(config: Config | None = None, **changes) -> xr.Dataset:
    """A sweep with a chunk per run, so that the bits of a run do not depend on the others."""
    options = {"vary": {"eta": RATES}, "seeds": SEEDS, "steps": 4, "dtype": "float64"} | changes
    return sweep(TWO, config or Config(), **options)


@pytest.fixture(scope="module")
def full_grid() -> xr.Dataset:
    return swept()


def parts(data: xr.Dataset, *regions: dict) -> list[xr.Dataset]:
    return [data.isel(region) for region in regions]


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
def test_what_was_cut_is_joined(full_grid: xr.Dataset, regions: list[dict]) -> None:
    union = combine(parts(full_grid, *regions))
    assert union.identical(full_grid) and list(union.attrs) == list(full_grid.attrs)


def test_two_sweeps_are_one(full_grid: xr.Dataset) -> None:
    union = combine([swept(vary={"eta": [0.1, 0.3]}), swept(vary={"eta": [0.2]})])
    assert union.attrs == full_grid.attrs and union.attrs["summary"].split(", ")[0].endswith(
        "3 points"
    )
    xr.testing.assert_allclose(union, full_grid, rtol=1e-12)


def test_values_keep_their_order_if_they_are_not_sorted() -> None:
    data = swept(vary={"eta": [0.3, 0.1, 0.4, 0.2]}, seeds=1)
    union = combine(parts(data, {"learning_rate": [0, 1, 2]}, {"learning_rate": [3]}))
    assert union.learning_rate.values.tolist() == [0.3, 0.1, 0.4, 0.2] and union.identical(data)
    falling = data.isel(learning_rate=[0, 3, 1])
    union = combine(parts(falling, {"learning_rate": [1, 2]}, {"learning_rate": [0]}))
    assert union.drop_attrs().identical(falling.drop_attrs())


def test_zipped_fields_and_names_go_along() -> None:
    zipped = {"vary": None, "zip": {"eta": RATES, "noise": [0.5, 0.0, 0.2]}, "seeds": 2}
    data = swept(**zipped)
    union = combine(parts(data, {"learning_rate": [2]}, {"learning_rate": [0, 1]}))
    assert union.identical(data)
    variant = data.assign_coords(noise=("learning_rate", [0.5, 1.0, 0.2]))
    with pytest.raises(InputError, match="noise differs at equal values of learning_rate"):
        combine([data, variant])
    named = swept(vary={"algorithm": [*TWO.algorithms]}, seeds=1)
    assert combine(parts(named, {"algorithm": [0]}, {"algorithm": slice(1, None)})).identical(named)


def test_sizes_that_differ_are_filled_with_nan() -> None:
    data = swept(vary={"d": [2, 5]}, seeds=2)
    assert data.weights.isnull().any()
    small = swept(vary={"d": [2]}, seeds=2)
    assert small.sizes["coordinate"] < data.sizes["coordinate"]
    union = combine([small, data.isel(dimension=[1])])
    xr.testing.assert_allclose(union, data, rtol=1e-12)
    assert union.weights.isnull().equals(data.weights.isnull())


@pytest.mark.parametrize(
    ("changes", "message"),
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
def test_another_request_is_refused(full_grid: xr.Dataset, changes: dict, message: str) -> None:
    variant = swept(**{"seeds": [9], **changes})
    with pytest.raises(InputError, match=f"^A and B differ in {message}") as error:
        combine([full_grid, variant], ["A", "B"])
    assert "\n" not in str(error.value)


def test_the_base_value_of_a_field_on_an_axis_does_not_count(full_grid: xr.Dataset) -> None:
    variant = swept(Config(learning_rate=0.7), seeds=[9])
    assert combine([full_grid, variant]).seed.values.tolist() == [*SEEDS, 9]


def test_other_code_and_other_variables_are_refused(full_grid: xr.Dataset) -> None:
    variant = full_grid.assign_attrs(theory_digest="00000000").assign_coords(seed=[4, 5, 6, 7])
    with pytest.raises(InputError, match="differ in theory_digest"):
        combine([full_grid, variant])
    fewer = full_grid.drop_vars("rounded_loss").assign_coords(seed=[4, 5, 6, 7])
    with pytest.raises(InputError, match="differ in variables: rounded_loss"):
        combine([full_grid, fewer])
    with pytest.raises(InputError, match="dataset 2 is not the dataset of a sweep"):
        combine([full_grid, xr.Dataset()])
    with pytest.raises(InputError, match="nothing is given"):
        combine([])


def test_holes_are_named(full_grid: xr.Dataset) -> None:
    with pytest.raises(InputError, match=r"no sweep has learning_rate = 0\.1, seed = 1 and 1 more"):
        combine(parts(full_grid, {"seed": [0]}, {"seed": [1], "learning_rate": [1, 2]})[:1] + parts(
            full_grid, {"seed": [1], "learning_rate": [1]}
        ))  # fmt: skip


def test_different_numbers_of_one_run_are_refused(full_grid: xr.Dataset) -> None:
    variant = full_grid.isel(seed=[1, 2]).copy(deep=True)
    variant["loss"][{"learning_rate": 2, "seed": 1, "step": 3}] = 7.0
    was = float(full_grid.loss[{"learning_rate": 2, "seed": 2, "step": 3}])
    said = f"loss at learning_rate = 0.3, seed = 2 is {was} in A and 7.0 in B; leave"
    with pytest.raises(InputError) as error:
        combine([full_grid, variant], ["A", "B"])
    assert str(error.value).startswith(said)
    sparse_grid = full_grid.copy(deep=True)
    sparse_grid["loss"][{"seed": 0}] = np.nan  # equal where both have no value
    assert combine([sparse_grid, sparse_grid.isel(seed=[0])]).identical(sparse_grid)


def test_the_common_runs_are_named(full_grid: xr.Dataset) -> None:
    variant = full_grid.isel(learning_rate=[1, 2]).copy(deep=True)
    variant["loss"] += 1e-9
    with pytest.raises(InputError, match=r"data\.drop_sel\(learning_rate=0\.2\)$"):
        combine([full_grid.isel(learning_rate=[0, 1]), variant])
    union = combine([full_grid.isel(learning_rate=[0, 1]), variant.drop_sel(learning_rate=0.2)])
    assert union.learning_rate.values.tolist() == RATES


def test_metrics_of_other_recorded_steps_are_refused(full_grid: xr.Dataset) -> None:
    """As many records, at other steps: their numbers would stand at the steps of the first."""
    variant = full_grid.assign_coords(step=full_grid.step + 1, seed=[4, 5, 6, 7])
    with pytest.raises(InputError, match=r"^A and B differ in recorded steps; merge sweeps"):
        combine([full_grid, variant], ["A", "B"])


def test_a_grid_beyond_the_memory_is_refused_before_it_is_made(full_grid, monkeypatch) -> None:
    first, second = parts(full_grid, {"seed": [0, 1]}, {"seed": [2, 3]})
    least = 12 * first.nbytes // 6  # the runs of the grid, as large as those of the first dataset
    monkeypatch.setattr(machine, "memory", lambda: least)
    assert combine([first, second]).identical(full_grid)
    monkeypatch.setattr(machine, "memory", lambda: 0)  # unknown
    assert combine([first, second]).identical(full_grid)
    monkeypatch.setattr(machine, "memory", lambda: least - 1)
    monkeypatch.setattr(combine_module, "_copied", lambda *args: pytest.fail())
    with pytest.raises(
        InputError, match=r"^not enough memory: the merged dataset takes .* KiB and"
    ):
        combine([first, second])
