"""A finished store as a file for other programs."""

import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from helpers.worked_example import THEORY, Config

from jaxtheory import InputError, open_store, sweep
from jaxtheory.cli.main import main
from jaxtheory.engine.results import export
from jaxtheory.system import disk

OPTIONS = {"vary": {"d": [2, 3]}, "seeds": 2, "steps": 3, "dtype": "float64", "buckets": "exact"}


def swept(folder: object, key: int = 0) -> xr.Dataset:
    return sweep(THEORY, Config(), store=folder, key=key, **OPTIONS)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[Path, xr.Dataset]]:
    """A store and its dataset for each of two keys."""
    folder = tmp_path_factory.mktemp("made")
    return {key: (folder / str(key), swept(folder / str(key), key)) for key in (0, 1)}


@pytest.fixture
def run(stores: dict, tmp_path: Path) -> Path:
    """A finished store of key 0."""
    shutil.copytree(stores[0][0], tmp_path / "run")
    return tmp_path / "run"


# export


LIMITED = """
import resource, sys
from jaxtheory.cli.main import main
code = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (code, code))
raise SystemExit(main(["export", sys.argv[2], "--format", sys.argv[3]]))
"""


@pytest.mark.parametrize("to", ["netcdf", "csv", "parquet"])
def test_a_disk_that_is_full(to: str, run: Path) -> None:
    """Without an open file of its own the process would end in a segmentation fault."""
    export.write_file(open_store(run), to, run.parent / "whole")
    size = (run.parent / "whole").stat().st_size
    for room in (size // 3, size - 1) if to == "netcdf" else (size // 3,):
        ended = subprocess.run(
            [sys.executable, "-c", LIMITED, str(room), str(run), to],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 2 and ended.stdout == ""
        assert re.fullmatch(r"[^\n]*data\.\w+: [^\n]*File too large[^\n]*\n", ended.stderr)
        assert not list(run.glob(".tmp-*")) and not list(run.glob("data.[cnp]*"))


def test_a_home_in_a_path_of_the_command_line(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["export", "~/run", "--format", "csv", "--to", "~/out.csv"]) == 0
    assert (tmp_path / "out.csv").is_file() and disk.located("~") == tmp_path


def test_export_neutralises_labels_and_names(tmp_path):
    dims = ("rule", "seed")
    data = xr.Dataset(
        {"=loss": (dims, [[-0.5], [0.25]]), "diverged_at": (dims, np.full((2, 1), -1))},
        {"rule": ["=1+1", "-0.5"], "seed": [0]},
    )
    export.write_file(data, "csv", tmp_path / "data.csv")
    table = pd.read_csv(tmp_path / "data.csv", dtype=str)
    assert list(table.columns) == ["rule", "seed", "'=loss", "diverged_at"]
    assert list(table["rule"]) == ["'=1+1", "-0.5"] and list(table["'=loss"]) == ["-0.5", "0.25"]


def test_a_disk_that_is_full_at_any_byte_of_a_netcdf_file_is_one_line(run, tmp_path):
    data = open_store(run)
    export.write_file(data, "netcdf", tmp_path / "whole.nc")
    size = (tmp_path / "whole.nc").stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        for room in range(0, size, size // 10):
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
            with pytest.raises(InputError, match="File too large"):
                export.write_file(data, "netcdf", tmp_path / "cut.nc")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not (tmp_path / "cut.nc").exists()
    assert xr.open_dataset(tmp_path / "whole.nc", engine="h5netcdf").load().identical(data)
