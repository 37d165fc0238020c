"""Where the datasets of pages come from: a store, finished or not, or a folder with several."""

from pathlib import Path

import xarray as xr

from jaxtheory.engine.store import datasets
from jaxtheory.engine.store.store import read_manifest
from jaxtheory.engine.store.view import partial_view
from jaxtheory.reports.explorer.content import Sweep, whole_sweep
from jaxtheory.texts.errors import InputError, line

MANIFEST = "manifest.json"


def store_at(path: Path) -> Path | None:
    """Return the store at a path, which may also be that of its data.zarr, or None."""
    path = path.parent if path.name == "data.zarr" else path
    return path if (path / MANIFEST).is_file() else None


def stores_in(path: Path) -> list[Path]:
    """Return the stores in a folder. Raises InputError if there are none."""
    if not path.exists():
        raise InputError(f"{path}: no such directory; give a store or a directory with stores")
    if not path.is_dir():
        raise InputError(f"{path} is a file; give a store or a directory with stores")
    stores = sorted(file.parent for file in path.glob(f"*/{MANIFEST}"))
    if not stores:
        raise InputError(
            f"{path} has no store of a sweep: neither it nor a directory in it has a {MANIFEST}"
        )
    return stores


class Source:
    """A store whose dataset is read again as parts of it arrive.

    Args:
        path: Directory of the store.
    """

    def __init__(self, path: Path):
        self.path = path
        self._seen: object = None

    def reset(self) -> None:
        """Return the sweep at the next call of `read` in any case."""
        self._seen = None

    @property
    def finished(self) -> bool:
        """True once the dataset was read whole, after which nothing changes."""
        return self._seen == "whole"

    def read(self) -> Sweep | None:
        """Return the sweep, or None if nothing has arrived since the last call.

        Raises InputError if the store is damaged.
        """
        if self.finished:
            return None
        try:
            return self._read()
        except InputError:
            raise
        except Exception as error:  # a file that no sweep wrote may raise anything
            raise InputError(f"{self.path} is damaged ({line(error)})") from None

    def _read(self) -> Sweep | None:
        try:
            read_manifest(self.path)
        except InputError as error:
            if (old := _of_earlier_format(self.path)) is None:
                why = str(error).partition(";")[0]
                raise InputError(f"{why}; rerun the command that wrote the store") from None
            return self._finish(old)
        if (request := datasets.begun(self.path)) is None:
            raise InputError(
                f"{self.path} is damaged; rerun the command that wrote it to compute it again"
            )
        if (data := datasets.finished(self.path, request["request"])) is not None:
            return self._finish(data)
        if not request["described"]:
            raise InputError(f"{self.path}: the search for boundaries is not finished")
        arrived = len(list((self.path / "parts").glob("*.part")))
        if self._seen == arrived:
            return None
        if not arrived and (self.path / "data.zarr").exists():
            raise InputError(
                f"{self.path} is damaged; rerun the command that wrote it to compute it again"
            )
        self._seen = arrived
        return Sweep(self.path.name, *partial_view(self.path, request))

    def _finish(self, data: xr.Dataset) -> Sweep:
        self._seen = "whole"
        return whole_sweep(self.path.name, data)


def _of_earlier_format(path: Path) -> xr.Dataset | None:
    """The dataset of a store of an earlier format, or None."""
    try:
        return datasets.open_store(path)
    except InputError:
        return None
