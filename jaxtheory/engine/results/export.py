"""A finished store as a file for other programs: one tidy table, or the whole dataset."""

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import xarray as xr

from jaxtheory.core.errors import InputError, line
from jaxtheory.engine.results import netcdf
from jaxtheory.engine.results.cells import cell
from jaxtheory.engine.results.store import finished_dataset, mark_of, parsed
from jaxtheory.engine.results.summary import axes_of
from jaxtheory.system.temporary import beside, tidy

_NEEDS = {"csv": None, "netcdf": "h5netcdf", "parquet": "pyarrow"}  # the package of each format
SUFFIXES = {"csv": "csv", "netcdf": "nc", "parquet": "parquet"}


def read_store(store: Path) -> xr.Dataset:
    """The dataset of a store. Raises InputError where there is none, or none that is whole."""
    path = store.parent if store.name == "data.zarr" else store
    if not path.is_dir():
        raise InputError(f"{store}: no such directory; give a store that a sweep has written")
    if not (path / "manifest.json").is_file():
        inside = sorted(file.parent.name for file in path.glob("*/manifest.json"))
        held = f"; it holds the stores {', '.join(inside[:5])}" if inside else ""
        more = f" and {len(inside) - 5} more" if len(inside) > 5 else ""
        raise InputError(f"{store}: no store of a sweep, it has no manifest.json{held}{more}")
    try:
        data = finished_dataset(path, mark_of(parsed(path / "manifest.json")))
    except InputError:  # nobody knows any more what it is of
        data = None
    if data is None:
        raise InputError(
            f"{store}: incomplete or damaged; the command that wrote it completes it when it runs "
            "again"
        )
    return data


def require_package(to: str) -> None:
    """Raise InputError where the package that writes a format is missing."""
    package = _NEEDS[to]
    if package is not None and importlib.util.find_spec(package) is None:
        raise InputError(f"--to {to} needs the package {package}: pip install 'jaxtheory[export]'")


def left_out(data: xr.Dataset) -> list[str]:
    """The variables that a table has no column for: those with dimensions of their own."""
    own = {*axes_of(data), "seed", "step"}
    return [str(name) for name, variable in data.data_vars.items() if set(variable.dims) - own]


def _table(data: xr.Dataset) -> xr.Dataset:
    """The variables of a table with the axes, seed and step alone."""
    kept = data.drop_vars(left_out(data))
    own = {str(dim) for dim in kept.dims}
    return kept.drop_vars([n for n, c in kept.coords.items() if set(c.dims) - own])


def write_file(data: xr.Dataset, to: str, file: Path) -> None:
    """Write csv, netcdf or parquet beside the file, and rename it when it is whole.

    A table has a row per point, seed and step, the axes first; what has no step stands in each of
    its rows. Raises InputError where the file cannot be written.
    """
    require_package(to)
    if not file.parent.is_dir():
        raise InputError(f"{file}: there is no directory {file.parent}; choose another --out")
    writers: dict[str, Callable[[Path], object]] = {
        "netcdf": lambda target: netcdf.write_netcdf(data, target),
        "csv": lambda target: _unformulated(_frame(data)).to_csv(target, index=False),
        "parquet": lambda target: _frame(data).to_parquet(target, index=False),
    }
    try:
        tidy(file.parent)
        with beside(file.absolute()) as temporary:  # such a path is nobody's address
            writers[to](temporary)
            os.replace(temporary, file)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or line(error)}; choose another --out") from None


def _unformulated(rows: Any) -> Any:
    """The rows with names and texts that no spreadsheet takes for a formula."""
    for name in rows.columns:
        if rows[name].dtype.kind not in "biufcmM":
            rows[name] = rows[name].map(cell)
    return rows.rename(columns=cell)


def _frame(data: xr.Dataset) -> Any:
    """The rows of a table, a pandas.DataFrame."""
    kept = _table(data)
    order = [dim for dim in (*axes_of(data), "seed", "step") if dim in kept.dims]
    rows = kept.to_dataframe(dim_order=order).reset_index()
    labels = [*order, *(str(n) for n in kept.coords if n not in order)]
    return rows[[*labels, *(str(n) for n in kept.data_vars)]]
