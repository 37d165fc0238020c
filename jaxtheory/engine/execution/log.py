"""Logs of a running sweep: the means of the metrics at each record, for each chunk of runs.

Each function returns a function for `jaxtheory.sweep(..., progress=...)`. A log is appended to, so
that a resumed sweep continues it. Workers of a cluster do not report records, so nothing is
logged there.
"""

import collections
import contextlib
import csv as tables
import errno
import hashlib
import io
import math
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jaxtheory.engine.execution.progress import Progress
from jaxtheory.engine.results.cells import cell
from jaxtheory.system import disk
from jaxtheory.texts.errors import InputError

__all__ = ["csv", "tensorboard"]

_LISTED = 6  # values of an axis that are listed; of more, only the first and the last
_OPEN = 64  # files of events that are open at once
_ODD = re.compile(r"[^\w.=,+-]+")  # characters that a folder's name does not have


def csv(file: str | Path) -> Callable[[Progress], None]:
    """Log to a table with a row for each record of each chunk.

    Its columns are the axes and "seed", each with the values in that chunk, then "step", "runs"
    (the number of runs in the chunk) and the metrics with one number per run, as means over these
    runs.

    Args:
        file: The file to append to. A sweep with other columns is refused.

    Returns:
        A function for `progress=` of `sweep`.

    Raises:
        InputError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> file = Path(tempfile.mkdtemp(), "log.csv")
        >>> options = {"vary": {"p": [0.5]}, "steps": 2, "progress": jaxtheory.log.csv(file)}
        >>> data = jaxtheory.sweep(random_walk, random_walk.Config(), **options)
        >>> file.read_text().splitlines()[1].split(",")[:4]
        ['0.5', '0', '0', '1']
    """
    path = disk.located(file)
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _probe(path)

    def log(progress: Progress) -> None:
        if progress.metrics is None or progress.at is None:
            return
        row = {name: cell(_values(values)) for name, values in progress.at.items()}
        row |= {"step": progress.step, "runs": progress.runs}
        row |= {name: _number(mean) for name, mean in sorted(progress.metrics.items())}
        with _writing(path), path.open("a+", encoding="utf-8", newline="") as handle:
            header = _row(list(map(cell, row)))
            handle.seek(0)
            present = handle.readline()
            if present and present.rstrip("\r\n") != header.rstrip("\r\n"):
                raise InputError(f"{path} is the log of another sweep; choose another file")
            handle.write(("" if present else header) + _row(list(row.values())))

    return log


def tensorboard(folder: str | Path) -> Callable[[Progress], None]:
    """Log to files of events that TensorBoard reads: `tensorboard --logdir FOLDER`.

    Each chunk is a run of TensorBoard, named after its values on the axes and its seeds. The
    metrics are those with one number per run, as means over the runs of the chunk. This function
    needs the extra `jaxtheory[tensorboard]`.

    Args:
        folder: The folder in which each chunk gets its own.

    Returns:
        A function for `progress=` of `sweep`.

    Raises:
        InputError: The folder cannot be written, or the extra is missing.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> log = jaxtheory.log.tensorboard("events")  # doctest: +SKIP
        >>> data = jaxtheory.sweep(
        ...     random_walk, random_walk.Config(), steps=5, progress=log
        ... )  # doctest: +SKIP
    """
    try:
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.summary import scalar
    except ImportError as error:
        raise InputError(
            f"logs for TensorBoard need the package {error.name}: pip install "
            "'jaxtheory[tensorboard]'"
        ) from None
    path = disk.located(folder).absolute()
    with _writing(path):
        path.mkdir(parents=True, exist_ok=True)
        _probe(path / f".tmp-{os.urandom(8).hex()}")
    writers: collections.OrderedDict[str, Any] = collections.OrderedDict()

    def writer(name: str) -> Any:
        if name not in writers:
            (path / name).mkdir(exist_ok=True)
            unique = f".{os.urandom(4).hex()}"  # files of one second would have one name
            writers[name] = EventsWriter(str(path / name / "events"), unique)
        writers.move_to_end(name)
        while len(writers) > _OPEN:
            writers.popitem(last=False)[1].close()
        return writers[name]

    def log(progress: Progress) -> None:
        if progress.metrics is None or progress.at is None:
            return
        with _writing(path):
            events = writer(_folder(progress.at))
            for name, mean in progress.metrics.items():
                if not math.isnan(mean):
                    stamp = {"wall_time": time.time(), "step": progress.step}
                    events.write_event(Event(summary=scalar(name, mean), **stamp))
            events.flush()

    return log


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn an OSError into an InputError about a log."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"log {path}: {why}; choose a writable file or folder") from None


def _probe(file: Path) -> None:
    """Raise OSError unless a file can be written; one that was not there is removed again."""
    new = not file.exists()
    if not new and not file.is_file() and not file.is_dir():
        raise OSError(errno.EINVAL, "Not a regular file", str(file))  # reading it may never end
    with file.open("a", encoding="utf-8"):
        pass
    if new:
        file.unlink()


def _values(values: list) -> str | int | float:
    """The values of an axis in a cell: the only one, a list, or the first and the last of many."""
    if len(values) == 1:
        return values[0] if isinstance(values[0], int | float) else str(values[0])
    if len(values) <= _LISTED:
        return ", ".join(map(str, values))
    return f"{values[0]} to {values[-1]} ({len(values)} values)"


def _number(mean: float) -> float | str:
    return "" if math.isnan(mean) else mean


def _row(cells: list) -> str:
    text = io.StringIO(newline="")
    tables.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _folder(at: Any) -> str:
    """The name of the folder of a chunk; a hash tells chunks apart whose values are not listed."""
    assignments = [f"{name}={_values(values)}" for name, values in at.items()]
    name = "_".join(_ODD.sub("_", text.replace(", ", ",")) for text in assignments)
    if len(name) > 150 or any(len(values) > _LISTED for values in at.values()):
        digest = hashlib.sha256(repr(sorted(at.items())).encode()).hexdigest()[:8]
        return f"{name[:150]}_{digest}"
    return name


def __dir__() -> list[str]:
    return sorted(__all__)
