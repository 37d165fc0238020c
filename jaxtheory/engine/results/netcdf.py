"""Write a dataset as a netCDF file, and report a full disk as an error."""

import io
import os
from pathlib import Path
from typing import Any

import xarray as xr


class _Unfailing(io.RawIOBase):
    """A file that hides failures from HDF5, which would crash the process where it cannot write.

    The first failure is kept in `failure`. Later operations pretend to succeed.
    """

    def __init__(self, file: io.RawIOBase):
        super().__init__()
        self.file = file
        self.failure: OSError | None = None

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, with zeros beyond the data that could be written."""
        view = memoryview(buffer).cast("B")
        count = 0
        try:
            while count < len(view) and (more := self.file.readinto(view[count:])):
                count += more
        except OSError as error:
            self.failure = self.failure or error
        if self.failure:
            view[count:] = bytes(len(view) - count)
            count = len(view)
        return count

    def write(self, data: Any) -> int:
        """Write all data, and report success in any case."""
        view = memoryview(data).cast("B")
        if self.failure is None:
            try:
                count = 0
                while count < len(view):
                    count += self.file.write(view[count:])
            except OSError as error:
                self.failure = error
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Change the size, and report success in any case."""
        try:
            return self.file.truncate(size)
        except OSError as error:
            self.failure = self.failure or error
            return self.file.tell() if size is None else size


def write_netcdf(dataset: xr.Dataset, target: Path) -> None:
    """Write a whole dataset. Raises OSError where the disk fails or is full."""
    with target.open("w+b", buffering=0) as file:
        unfailing = _Unfailing(file)
        try:
            dataset.to_netcdf(unfailing, engine="h5netcdf")
        except Exception:
            if unfailing.failure is None:
                raise
        if unfailing.failure is not None:
            raise unfailing.failure
        os.fsync(file.fileno())
