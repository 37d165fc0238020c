"""Datasets on disk: what is written otherwise is seen, and names are read in order."""

from pathlib import Path

import pytest
import xarray as xr
from helpers.worked_example import THEORY, Config

from jaxtheory import sweep
from jaxtheory.engine.store import archive

OPTIONS = {"vary": {"d": [2, 3]}, "seeds": 2, "steps": 3, "dtype": "float64", "buckets": "exact"}


def swept(folder: object, key: int = 0) -> xr.Dataset:
    return sweep(THEORY, Config(), store=folder, key=key, **OPTIONS)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[Path, xr.Dataset]]:
    """A store and its dataset for each of two keys."""
    folder = tmp_path_factory.mktemp("made")
    return {key: (folder / str(key), swept(folder / str(key), key)) for key in (0, 1)}


def test_what_is_written_otherwise_is_not_published(stores: dict, tmp_path: Path) -> None:
    """Another shape, type, dimension or name."""
    data = stores[0][1]
    for n, variant in enumerate(
        (
            data.isel(seed=[0]),
            data.astype("float32"),
            data.rename(seed="grain"),
            data.drop_vars("loss"),
            data.assign(more=data.loss),
        )
    ):
        archive.write_zarr(variant, tmp_path / str(n))
        assert archive.lacking(data, tmp_path / str(n))
    archive.write_zarr(data, tmp_path / "same")
    assert archive.lacking(data, tmp_path / "same") == []


def test_names_are_read_in_order(stores: dict, tmp_path: Path) -> None:
    """Whatever the order in which the file system lists them."""
    data = stores[0][1]
    archive.write_zarr(data[sorted(data.data_vars, reverse=True)], tmp_path / "data.zarr")
    dataset = archive.open_dataset(tmp_path / "data.zarr")
    assert dataset.identical(data)
    assert list(dataset.data_vars) == sorted(data.data_vars)
    assert list(dataset.coords) == sorted(data.coords)
