"""Merged stores equal the store of one sweep; what cannot be merged is told in one sentence."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from helpers.stores import lose_dataset
from helpers.worked_example import THEORY, Config

from jaxtheory import InputError, merge, open_store, sweep
from jaxtheory.engine import cover
from jaxtheory.engine.execution import chunk_task
from jaxtheory.engine.results import computing, versions
from jaxtheory.engine.store.store import Store, read_manifest

TWO = THEORY._replace(algorithms={**THEORY.algorithms, "again": THEORY.algorithms["sgd"]})


def swept(store: Path | None = None, **changes) -> xr.Dataset:
    options = {"vary": {"eta": [0.1, 0.3]}, "seeds": 2, "steps": 4, "dtype": "float64"} | changes
    return sweep(TWO, options.pop("config", Config()), store=store, **options)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Stores of eta = 0.1, 0.3 and of eta = 0.2."""
    folder = tmp_path_factory.mktemp("swept")
    swept(folder / "one")
    swept(folder / "two", vary={"eta": [0.2]})
    return folder / "one", folder / "two"


def test_a_merged_store_is_that_of_one_sweep(stores: tuple[Path, Path], tmp_path: Path) -> None:
    merged = merge(stores, to=tmp_path / "merged")
    reference = swept(tmp_path / "whole", vary={"eta": [0.1, 0.2, 0.3]})
    xr.testing.assert_allclose(merged, reference, rtol=1e-12)
    assert merged.attrs == reference.attrs and merged.identical(merge(stores))
    assert merged.identical(open_store(tmp_path / "merged"))
    manifest, want = (read_manifest(tmp_path / name) for name in ("merged", "whole"))
    assert manifest == want and len(Store(tmp_path / "merged").rectangles()) == 2
    assert swept(tmp_path / "merged", vary={"eta": [0.1, 0.2, 0.3]}).identical(merged)
    part = swept(tmp_path / "merged", vary={"eta": [0.1, 0.3]})
    assert part.identical(open_store(stores[0]))
    assert {file.name for file in tmp_path.iterdir()} == {"merged", "whole"}


def test_folders_that_are_copied_into_one_another_are_merged(
    stores: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for store in stores:
        shutil.copytree(store, tmp_path / "both", dirs_exist_ok=True)
    monkeypatch.setattr(
        "jaxtheory.engine.execution.chunk_task.run_chunk", None
    )  # nothing is trained
    data = swept(tmp_path / "both", vary={"eta": [0.1, 0.2, 0.3]})
    assert data.identical(merge(stores))
    assert open_store(tmp_path / "both").identical(data)


def test_a_damaged_merged_store_is_made_of_its_parts(
    stores: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = merge(stores, to=tmp_path / "merged")
    lose_dataset(tmp_path / "merged")
    monkeypatch.setattr(
        "jaxtheory.engine.execution.chunk_task.run_chunk", None
    )  # nothing is trained
    assert swept(tmp_path / "merged", vary={"eta": [0.1, 0.2, 0.3]}).identical(merged)


def test_a_merged_store_is_merged_again(stores: tuple[Path, Path], tmp_path: Path) -> None:
    merge(stores, to=tmp_path / "a")
    swept(tmp_path / "b", vary={"eta": [0.1, 0.2, 0.3]}, seeds=[7])
    data = merge([tmp_path / "a", tmp_path / "b" / "data.zarr"], to=tmp_path / "c")
    assert data.seed.values.tolist() == [0, 1, 7] and data.loss.notnull().all()


def test_algorithms_and_datasets_are_merged(tmp_path: Path) -> None:
    parts = [tmp_path / name for name in TWO.algorithms]
    for part in parts:
        swept(part, vary={"algorithm": [part.name]})
    merged = merge(parts, to=tmp_path / "merged")
    reference = swept(vary={"algorithm": [*TWO.algorithms]})
    assert merged.attrs == reference.attrs
    xr.testing.assert_allclose(merged, reference, rtol=1e-12)
    further = swept(vary={"algorithm": ["sgd"]}, seeds=[5])
    memory = open_store(parts[0]).assign_attrs(accepted_versions='[{"jax": "0.1"}]')
    data = merge([memory, further])
    assert data.seed.values.tolist() == [0, 1, 5]
    assert data.attrs["accepted_versions"] == '[{"jax": "0.1"}]'
    assert merge([parts[0], further]).drop_attrs().identical(data.drop_attrs())
    with pytest.raises(InputError, match="code cannot be compared; merge stores instead"):
        merge([open_store(part) for part in parts])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"buckets": "exact"}, "buckets"),
        ({"record": {"loss": 1, "rounded_loss": [4], "weights": [4]}}, "metrics"),
        ({"stop": lambda metrics: metrics["loss"] < 0}, "variables: stopped_at"),
        ({"key": 1}, "key: 0 and 1"),
    ],
)
def test_another_request_is_refused(
    changes: dict, message: str, stores: tuple[Path, Path], tmp_path: Path
) -> None:
    swept(tmp_path / "other", seeds=[9], record=changes.pop("record", [0, 1, 2, 3, 4]), **changes)
    with pytest.raises(InputError, match=f"^{stores[0]} and .*other differ in {message}") as error:
        merge([stores[0], tmp_path / "other"], to=tmp_path / "out")
    assert "\n" not in str(error.value) and not (tmp_path / "out").exists()


def test_other_code_of_the_engine_is_refused(
    stores: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computing, "digest", lambda: "0")
    swept(tmp_path / "other", seeds=[5, 6])
    with pytest.raises(InputError, match="differ in the code of engine; merge sweeps"):
        merge([stores[0], tmp_path / "other"])


def test_other_versions_are_refused_unless_accepted(
    stores: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    current_versions = versions.present()
    with monkeypatch.context() as patched:
        for module in (chunk_task, cover):
            patched.setattr(module, "present", lambda: {**current_versions, "jax": "0.1"})
        swept(tmp_path / "other", seeds=[5, 6])
    pair = [stores[0], tmp_path / "other"]
    with pytest.raises(InputError, match=r"begun under jax .* and jax 0\.1, .*--accept-versions"):
        merge(pair, to=tmp_path / "out")
    data = merge(pair, to=tmp_path / "out", accept_versions=True)
    (noted,) = json.loads(data.attrs["accepted_versions"])
    assert noted["jax"] == "0.1"
    assert swept(tmp_path / "out", seeds=[0, 1, 5, 6]).identical(data)
    lose_dataset(tmp_path / "out")
    assert swept(tmp_path / "out", seeds=[0, 1, 5, 6]).identical(data)


def test_runs_of_both_are_equal_up_to_rounding(tmp_path: Path) -> None:
    swept(tmp_path / "a", seeds=[0, 1, 2])
    swept(tmp_path / "b", seeds=[2, 5])
    data = merge([tmp_path / "a", tmp_path / "b"])
    assert data.seed.values.tolist() == [0, 1, 2, 5]
    assert data.sel(seed=[0, 1, 2]).loss.identical(open_store(tmp_path / "a").loss)
    near, far = (open_store(tmp_path / "b") for _ in range(2))
    near["loss"] = near.loss * (1 + 1e-12)
    far["loss"] = far.loss * (1 + 1e-6)
    assert merge([data, near]).loss.identical(data.loss)
    with pytest.raises(InputError, match="leave the common runs out"):
        merge([data, far])


def test_what_is_no_list_of_sweeps_is_refused(stores: tuple[Path, Path], tmp_path: Path) -> None:
    data = open_store(stores[0])
    for argument in (data, str(stores[0]), [data], []):
        with pytest.raises(InputError, match="merge: give"):
            merge(argument)
    with pytest.raises(InputError, match="dataset 2 is not in a store"):
        merge([stores[0], data], to=tmp_path / "out")
    keyless = data.copy()
    del keyless.attrs["key"]
    with pytest.raises(InputError, match='has no attribute "key"; merge the stores'):
        merge([keyless, keyless])
    variant = data.assign(loss=data.loss + np.float64(1))
    with pytest.raises(
        InputError, match=r"loss at learning_rate = 0\.1, seed = 0 is .* leave the common"
    ):
        merge([data, variant])


@pytest.mark.parametrize("fault", ["rename", "fsync"])
def test_a_disk_that_fails_leaves_nothing(
    fault: str, stores: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, fault, full)
    with pytest.raises(InputError, match=r"out: No space left on device; choose a writable"):
        merge(stores, to=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_folders_above_the_store_are_made(stores: tuple[Path, Path], tmp_path: Path) -> None:
    data = merge(stores, to=tmp_path / "deep" / "out")
    assert open_store(tmp_path / "deep" / "out").identical(data)
