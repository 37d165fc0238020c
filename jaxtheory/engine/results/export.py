"""Export a finished store to other programs, as one tidy table or as the whole dataset."""

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import xarray as xr

from jaxtheory.engine.results.cells import cell
from jaxtheory.engine.results.summary import axes_of
from jaxtheory.system.disk import synced
from jaxtheory.system.temporary import temporary_sibling, tidy
from jaxtheory.texts.errors import InputError, line

_NEEDS = {"csv": None, "netcdf": "h5netcdf", "parquet": "pyarrow"}  # the package of each format
SUFFIXES = {"csv": "csv", "netcdf": "nc", "parquet": "parquet"}


def require_package(kind: str) -> None:
    """Raise InputError if the package that writes a format is missing."""
    package = _NEEDS[kind]
    if package is not None and importlib.util.find_spec(package) is None:
        raise InputError(
            f"--format {kind} needs the package {package}: pip install 'jaxtheory[export]'"
        )


def left_out(data: xr.Dataset) -> list[str]:
    """Return the variables without a column in a table: those with dimensions of their theory."""
    columns = {*axes_of(data), "seed", "step"}
    return [str(name) for name, variable in data.data_vars.items() if set(variable.dims) - columns]


def _table(data: xr.Dataset) -> xr.Dataset:
    """The dataset without the variables and coordinates that have other dimensions than a table."""
    table = data.drop_vars(left_out(data))
    dims = {str(dim) for variable in table.data_vars.values() for dim in variable.dims}
    return table.drop_vars([n for n, c in table.coords.items() if set(c.dims) - dims])


def write_file(data: xr.Dataset, kind: str, file: Path) -> None:
    """Write a csv, netcdf or parquet file beside the target, and rename it when it is whole.

    A table has one row per point, seed and step, with the axes first. A variable without steps is
    repeated in each row of its run. A symbolic link stays, and what it points to is replaced.
    Raises InputError if the file cannot be written, or is a device, a pipe or a folder.
    """
    require_package(kind)
    try:
        target = file.resolve() if file.is_symlink() else file
        if target.exists() and not target.is_file():
            why = "Is a directory" if target.is_dir() else "is not a regular file"
            raise InputError(f"{file}: {why}; choose another --to")
        if not target.parent.is_dir():
            why = f"the directory {target.parent} does not exist"
            raise InputError(f"{file}: {why}; choose another --to")
    except (OSError, RuntimeError) as error:  # also a loop of links
        why = getattr(error, "strerror", None) or "a loop of links"
        raise InputError(f"{file}: {why}; choose another --to") from None
    writers: dict[str, Callable[[Path], object]] = {
        "netcdf": lambda target: synced(target, data.to_netcdf(engine="h5netcdf")),
        "csv": lambda target: _without_formulas(_frame(data)).to_csv(target, index=False),
        "parquet": lambda target: _frame(data).to_parquet(target, index=False),
    }
    try:
        tidy(target.parent)
        with temporary_sibling(
            target.absolute()
        ) as temporary:  # an absolute path is never taken for a URL
            writers[kind](temporary)
            os.replace(temporary, target)
    except (OSError, UnicodeEncodeError) as error:  # PyArrow takes only names in UTF-8
        why = getattr(error, "strerror", None) or line(error)
        raise InputError(f"{file}: {why}; choose another --to") from None


def _without_formulas(rows: Any) -> Any:
    """The rows with column names and strings that a spreadsheet does not take for formulas."""
    for name in rows.columns:
        if rows[name].dtype.kind not in "biufcmM":
            rows[name] = rows[name].map(cell)
    return rows.rename(columns=cell)


def _frame(data: xr.Dataset) -> Any:
    """The rows of a table, as a pandas.DataFrame."""
    table = _table(data)
    order = [dim for dim in (*axes_of(data), "seed", "step") if dim in table.dims]
    rows = table.to_dataframe(dim_order=order).reset_index()
    labels = [*order, *(str(n) for n in table.coords if n not in order)]
    return rows[[*labels, *(str(n) for n in table.data_vars)]]
