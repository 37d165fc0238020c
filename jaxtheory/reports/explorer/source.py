"""Where the datasets of pages come from: a store, finished or not, or a folder with several."""

from pathlib import Path

import xarray as xr

from jaxtheory.core.errors import InputError, line
from jaxtheory.engine.results.store import finished_dataset, mark_of, read_manifest
from jaxtheory.engine.results.unfinished import Unfinished
from jaxtheory.reports.explorer.content import Sweep, whole_sweep

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
    found = sorted(file.parent for file in path.glob(f"*/{MANIFEST}"))
    if not found:
        raise InputError(
            f"{path} has no store of a sweep: neither it nor a directory in it has a {MANIFEST}"
        )
    return found


class Source:
    """A store whose dataset is read again as parts of it arrive.

    Args:
        path: Directory of the store.
    """

    def __init__(self, path: Path):
        self.path = path
        self._unfinished: Unfinished | None = None
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
        if (data := self._dataset()) is not None:
            self._seen, self._unfinished = "whole", None
            return whole_sweep(self.path.name, data)
        parts = self.path / "parts"
        if (self.path / "data.zarr").exists() and not any(parts.glob("*.part")):
            raise InputError(
                f"{self.path} is damaged; rerun the command that wrote it to compute it again"
            )
        if self._unfinished is None:
            self._unfinished = Unfinished(self.path)
        arrived = self._unfinished.update()
        if self._seen is not None and not arrived:
            return None
        self._seen = "parts"
        return Sweep(self.path.name, *self._unfinished.progress())

    def _dataset(self) -> xr.Dataset | None:
        """The finished dataset, or None. Raises InputError if the manifest cannot be read."""
        try:
            mark = mark_of(read_manifest(self.path / MANIFEST))
        except InputError as error:
            why = str(error).partition(";")[0]
            raise InputError(f"{why}; rerun the command that wrote the store") from None
        return finished_dataset(self.path, mark) if (self.path / "data.sum").exists() else None
