"""What `jaxtheory sweep` says and draws in the end, and `jaxtheory export`."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from helpers.worked_example import EXAMPLE

from jaxtheory import open_store
from jaxtheory.cli.main import main
from jaxtheory.engine.results import export
from jaxtheory.engine.results.summary import _estimate

SWEEP = ["sweep", str(EXAMPLE), "--vary", "eta=.1,.2", "--seeds", "2", "--steps", "4"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of SWEEP, zipped with noise."""
    folder = tmp_path_factory.mktemp("swept") / "store"
    zipped = ["sweep", str(EXAMPLE), "--zip", "eta=.1,.2 sigma=0,1", "--seeds", "2"]
    assert main([*zipped, "--steps", "4", "--store", str(folder)]) == 0
    return folder


def test_a_sweep_ends_with_its_last_values(capsys: pytest.CaptureFixture) -> None:
    assert main([*SWEEP, "--store", "out"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    (header,) = (row for row in rows if row[:2] == ["learning_rate", "loss"])
    assert header == "learning_rate loss loss - predicted rounded_loss".split()
    (row,) = (row for row in rows if row[:1] == ["0.2"])
    loss = xr.open_zarr("out/data.zarr").loss.isel(learning_rate=1, step=-1).values
    assert " ".join(row[1:4]) == _estimate(loss.mean(), abs(loss[0] - loss[1]) / 2, "0")


def test_of_one_point_there_is_a_line_per_metric(capsys: pytest.CaptureFixture) -> None:
    assert main(["sweep", str(EXAMPLE), "--steps", "4", "--plot", "--store", "out"]) == 0
    printed = capsys.readouterr().out
    names = [line.split()[0] for line in printed.splitlines() if line.strip()]
    assert names[-5:] == ["loss", "loss", "rounded_loss", "a", "figure"]
    assert Path("out/loss.png").read_bytes().startswith(b"\x89PNG")


def test_named_metrics_are_drawn(capsys: pytest.CaptureFixture) -> None:
    arguments = [*SWEEP, "--plot", "rounded_loss", "loss", "--store", "out"]
    assert main(arguments) == 0
    assert "figure    out/rounded_loss.png\nfigure    out/loss.png" in capsys.readouterr().out
    assert {file.name for file in Path("out").glob("*.png")} == {"loss.png", "rounded_loss.png"}


def test_an_unknown_metric_is_refused_before_anything_runs(
    folder: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main([*SWEEP, "--plot", "rounded"]) == 2
    said = capsys.readouterr()
    assert said.err == "--plot: unknown metric 'rounded'; did you mean 'rounded_loss'?\n"
    assert main([*SWEEP, "--plot", "weights"]) == 2  # has a dimension of its own
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_a_table_has_a_row_per_point_seed_and_step(
    to: str, store: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["export", str(store), "--format", to, "--to", f"out.{to}"]) == 0
    printed = capsys.readouterr().out
    assert "left out  weights" in printed and f"file      out.{to}" in printed
    frame = (pd.read_csv if to == "csv" else pd.read_parquet)(f"out.{to}")
    assert list(frame.columns[:4]) == ["learning_rate", "seed", "step", "noise"]
    data = xr.open_zarr(store / "data.zarr")
    assert len(frame) == data.loss.size and "weights" not in frame
    at = {"learning_rate": 0.2, "seed": 1, "step": 4}
    (row,) = frame[(frame[list(at)] == list(at.values())).all(axis=1)].to_dict("records")
    assert row["noise"] == 1 and row["diverged_at"] == -1
    np.testing.assert_allclose(row["loss"], float(data.loss.sel(at)), rtol=1e-12)


def test_netcdf_holds_all_of_it(store: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["export", str(store / "data.zarr"), "--format", "netcdf"]) == 0
    assert capsys.readouterr().out == f"file      {store / 'data.nc'}\n"
    dataset = xr.open_dataset(store / "data.nc", engine="h5netcdf").load()
    assert dataset.identical(open_store(store)) and dataset.attrs["theory"] == "linear_regression"


@pytest.mark.parametrize(
    ("what", "message"),
    [("absent", "no such directory"), ("held", "it holds the stores one"), ("cut", "incomplete")],
)
def test_what_is_no_store_is_told_of_in_one_line(
    what: str, message: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    for store in ("held/one", "cut"):
        (folder / store).mkdir(parents=True)
        (folder / store / "manifest.json").write_text("{}")
    assert main(["export", what, "--format", "csv"]) == 2
    error = capsys.readouterr().err
    assert message in error and len(error.splitlines()) == 1 and not list(folder.rglob("data.csv"))


def test_a_missing_package_is_told_of_in_one_line(
    store: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(export._NEEDS, "parquet", "no_such_package")
    assert main(["export", str(store), "--format", "parquet"]) == 2
    assert capsys.readouterr().err == (
        "--format parquet needs the package no_such_package: pip install 'jaxtheory[export]'\n"
    )


def test_a_file_that_cannot_be_written_is_told_of(
    store: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["export", str(store), "--format", "csv", "--to", "absent/data.csv"]) == 2
    assert "absent/data.csv: the directory absent does not exist" in capsys.readouterr().err
    assert main(["export", str(store), "--format", "csv", "--to", str(store)]) == 2
    assert f"{store}: Is a directory; choose another --to" in capsys.readouterr().err
    assert not list(store.parent.glob(".tmp-*"))


@pytest.mark.parametrize("name", ["csv", "netcdf", "parquet"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "long", "below", "null"])
def test_what_is_not_a_file_is_not_replaced(name, kind, store, capsys, tmp_path):
    capsys.readouterr()
    make = {
        "pipe": os.mkfifo,
        "folder": os.mkdir,
        "loop": lambda path: os.symlink(path, path),
        "below": lambda path: Path(path).touch(),
    }
    names = {"long": "x" * 5000, "null": "a\0b", "below": "below/out"}
    if kind in make:
        make[kind](kind)
    before = sorted(os.listdir())
    assert main(["export", str(store), "--format", name, "--to", names.get(kind, kind)]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1 and "Error" not in error
    assert sorted(os.listdir()) == before


def test_the_target_of_a_link_is_replaced_and_the_link_stays(store):
    Path("real.csv").touch()
    Path("link.csv").symlink_to("real.csv")
    assert main(["export", str(store), "--format", "csv", "--to", "link.csv"]) == 0
    assert Path("link.csv").is_symlink() and Path("real.csv").stat().st_size > 0
