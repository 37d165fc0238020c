"""Merged stores equal the store of one sweep; what cannot be merged is told in one sentence."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from helpers.worked_example import THEORY, Config

from jaxtheory import InputError, merge, sweep
from jaxtheory.engine.results.export import read_store
from jaxtheory.engine.results.store import manifest_checksum, read_manifest

TWO = THEORY._replace(algorithms={**THEORY.algorithms, "again": THEORY.algorithms["sgd"]})


def swept(store: Path | None = None, **asked) -> xr.Dataset:
    options = {"vary": {"eta": [0.1, 0.3]}, "seeds": 2, "steps": 4, "dtype": "float64"} | asked
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
    whole = swept(tmp_path / "whole", vary={"eta": [0.1, 0.2, 0.3]})
    xr.testing.assert_allclose(merged, whole, rtol=1e-12)
    assert merged.attrs == whole.attrs and merged.identical(merge(stores))
    assert merged.identical(read_store(tmp_path / "merged"))
    found, want = (read_manifest(tmp_path / n / "manifest.json") for n in ("merged", "whole"))
    assert found["request"] == want["request"] and len(found["merged"]) == 2
    assert swept(tmp_path / "merged", vary={"eta": [0.1, 0.2, 0.3]}).identical(merged)
    with pytest.raises(InputError, match="another request"):
        swept(tmp_path / "merged", vary={"eta": [0.1, 0.3]})
    assert {file.name for file in tmp_path.iterdir()} == {"merged", "whole"}


def test_a_damaged_merged_store_is_not_computed_again(
    stores: tuple[Path, Path], tmp_path: Path
) -> None:
    merge(stores, to=tmp_path / "merged")
    (tmp_path / "merged" / "data.sum").unlink()
    with pytest.raises(InputError, match="was merged from other stores and its dataset is damaged"):
        swept(tmp_path / "merged", vary={"eta": [0.1, 0.2, 0.3]})


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
    whole = swept(vary={"algorithm": [*TWO.algorithms]})
    assert merged.attrs == whole.attrs
    xr.testing.assert_allclose(merged, whole, rtol=1e-12)
    further = swept(vary={"algorithm": ["sgd"]}, seeds=[5])
    memory = read_store(parts[0]).assign_attrs(accepted_versions='[{"jax": "0.1"}]')
    data = merge([memory, further])
    assert data.seed.values.tolist() == [0, 1, 5]
    assert data.attrs["accepted_versions"] == '[{"jax": "0.1"}]'
    assert merge([parts[0], further]).drop_attrs().identical(data.drop_attrs())
    with pytest.raises(InputError, match="code cannot be compared; merge stores instead"):
        merge([read_store(part) for part in parts])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"buckets": "exact"}, "buckets"),
        ({"record": {"loss": 1, "rounded_loss": [4], "weights": [4]}}, "metrics"),
        ({"stop": lambda metrics: metrics["loss"] < 0}, "variables: stopped_at"),
        ({"key": 1}, "key: 0 and 1"),
    ],
)
def test_another_request_is_refused(
    asked: dict, said: str, stores: tuple[Path, Path], tmp_path: Path
) -> None:
    swept(tmp_path / "other", seeds=[9], record=asked.pop("record", [0, 1, 2, 3, 4]), **asked)
    with pytest.raises(InputError, match=f"^{stores[0]} and .*other differ in {said}") as error:
        merge([stores[0], tmp_path / "other"], to=tmp_path / "out")
    assert "\n" not in str(error.value) and not (tmp_path / "out").exists()


def edited(store: Path, copy: Path, **changes) -> Path:
    """A copy of a store whose manifest has other entries."""
    shutil.copytree(store, copy)
    manifest = read_manifest(copy / "manifest.json")
    manifest["request"] |= changes.pop("request", {})
    manifest |= changes
    data = read_store(store).assign_coords(seed=[5, 6])
    manifest["request"]["seeds"] = [5, 6]
    from jaxtheory.engine.results import merge as module

    shutil.rmtree(copy)
    module._write(data, manifest, copy)
    return copy


def test_other_code_of_the_engine_is_refused(stores: tuple[Path, Path], tmp_path: Path) -> None:
    code = {**read_manifest(stores[0] / "manifest.json")["request"]["code"], "engine": "0"}
    other = edited(stores[0], tmp_path / "other", request={"code": code})
    with pytest.raises(InputError, match="differ in the code of engine; merge sweeps"):
        merge([stores[0], other])


def test_other_versions_are_refused_unless_accepted(
    stores: tuple[Path, Path], tmp_path: Path
) -> None:
    versions = {**read_manifest(stores[0] / "manifest.json")["versions"], "jax": "0.1"}
    other = edited(stores[0], tmp_path / "other", versions=versions)
    with pytest.raises(InputError, match=r"begun under jax .* and jax 0\.1, .*--accept-versions"):
        merge([stores[0], other], to=tmp_path / "out")
    data = merge([stores[0], other], to=tmp_path / "out", accept_versions=True)
    (noted,) = json.loads(data.attrs["accepted_versions"])
    assert noted["jax"] == "0.1"
    assert read_manifest(tmp_path / "out" / "manifest.json")["accepted_versions"] == [noted]
    assert swept(tmp_path / "out", seeds=[0, 1, 5, 6]).identical(data)


def test_what_is_no_list_of_sweeps_is_refused(stores: tuple[Path, Path], tmp_path: Path) -> None:
    data = read_store(stores[0])
    for given in (data, str(stores[0]), [data], []):
        with pytest.raises(InputError, match="merge: give"):
            merge(given)
    with pytest.raises(InputError, match="dataset 2 is not in a store"):
        merge([stores[0], data], to=tmp_path / "out")
    keyless = data.copy()
    del keyless.attrs["key"]
    with pytest.raises(InputError, match="does not tell its key; merge stores"):
        merge([keyless, keyless])
    other = data.assign(loss=data.loss + np.float64(1))
    with pytest.raises(
        InputError, match=r"loss at learning_rate = 0\.1, seed = 0 is .* leave the common"
    ):
        merge([data, other])


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


def test_a_manifest_is_whole(stores: tuple[Path, Path], tmp_path: Path) -> None:
    merge(stores, to=tmp_path / "deep" / "out")
    manifest = json.loads((tmp_path / "deep" / "out" / "manifest.json").read_text())
    assert manifest.pop("digest") == manifest_checksum(manifest) and manifest["plan"] == []
