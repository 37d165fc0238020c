"""netCDF files on a disk that is full."""

import resource
from pathlib import Path

import pytest
import xarray as xr
from helpers.worked_example import THEORY, Config

from jaxtheory import sweep
from jaxtheory.engine.results import netcdf

OPTIONS = {"vary": {"d": [2, 3]}, "seeds": 2, "steps": 3, "dtype": "float64", "buckets": "exact"}


def swept(folder: object, key: int = 0) -> xr.Dataset:
    return sweep(THEORY, Config(), store=folder, key=key, **OPTIONS)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[Path, xr.Dataset]]:
    """A store and its dataset for each of two keys."""
    folder = tmp_path_factory.mktemp("made")
    return {key: (folder / str(key), swept(folder / str(key), key)) for key in (0, 1)}


def test_netcdf_notes_the_first_failure(made: dict, tmp_path: Path) -> None:
    """At whatever byte the disk is full, the failure is that of the disk."""
    data = made[0][1]
    netcdf.write_netcdf(data, tmp_path / "whole.nc")
    whole = (tmp_path / "whole.nc").stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        for room in range(0, whole, whole // 40):
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
            with pytest.raises(OSError, match="File too large"):
                netcdf.write_netcdf(data, tmp_path / "cut.nc")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert xr.open_dataset(tmp_path / "whole.nc", engine="h5netcdf").load().identical(data)
