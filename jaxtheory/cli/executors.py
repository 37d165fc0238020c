"""Where a sweep's chunks are computed, read from words: here, on a Dask cluster, by Slurm."""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import UseAppendAction, arg

import jaxtheory

_Options = UseAppendAction[tuple[Annotated[str, arg(metavar="NAME=VALUE")], ...]]


@dataclasses.dataclass(frozen=True)
class Machines:
    """Where chunks are computed."""

    executor: Literal["local", "dask", "slurm"] = "local"
    """This process, a Dask cluster, or jobs of Slurm (needs jaxtheory[cluster])."""
    scheduler: Annotated[str | None, arg(metavar="ADDRESS")] = None
    """A running Dask scheduler; by default dask starts workers on this machine."""
    workers: Annotated[int | None, arg(metavar="N")] = None
    """Worker processes on this machine, or jobs of Slurm; 1 by default."""
    job: _Options = ()
    """What Slurm's jobs ask for: cores=16, memory=64GB, walltime=04:00:00, queue=...; repeatable
    (the arguments of dask_jobqueue.SLURMCluster; those that are lists may be given several times).
    """
    tls_ca: Annotated[Path | None, arg(metavar="FILE")] = None
    """For --scheduler tls://HOST:8786: the certificate that signed those of the cluster."""
    tls_cert: Annotated[Path | None, arg(metavar="FILE")] = None
    """The certificate of this client."""
    tls_key: Annotated[Path | None, arg(metavar="FILE")] = None
    """The key of that certificate."""

    def checked(self) -> None:
        """Raise InputError where options do not fit together."""
        wrong = {
            "--scheduler": (self.scheduler is not None, ("dask",)),
            "--workers": (self.workers is not None, ("dask", "slurm")),
            "--job": (bool(self.job), ("slurm",)),
            **{f"--tls-{name}": (True, ("dask",)) for name in self.tls()},
        }
        for option, (given, executors) in wrong.items():
            if given and self.executor not in executors:
                raise jaxtheory.InputError(
                    f"{option}: means nothing to --executor {self.executor}; use it with "
                    f"--executor {' or '.join(executors)}, or leave it out"
                )
        if self.scheduler is not None and self.workers is not None:
            raise jaxtheory.InputError(
                "--workers: the scheduler has its own; leave out --workers or --scheduler"
            )
        if self.tls() and not (self.scheduler or "").startswith("tls://"):
            raise jaxtheory.InputError(
                "--tls-ca, --tls-cert, --tls-key: give them with --scheduler tls://HOST:PORT"
            )
        if self.executor == "slurm":
            self.options()

    def tls(self) -> dict[str, Path]:
        """The files of certificates that are given."""
        files = {"ca": self.tls_ca, "cert": self.tls_cert, "key": self.tls_key}
        return {name: file for name, file in files.items() if file is not None}

    def options(self) -> dict[str, Any]:
        """The options of Slurm's jobs, those that are given several times as lists. Whole numbers,
        true, false and none are read as such where one value is asked for.
        """
        found: dict[str, Any] = {}
        read = {"true": True, "false": False, "none": None}
        lists = jaxtheory.cluster.known_options()
        for text in self.job:
            name, equals, value = text.partition("=")
            if not equals or not value.strip() or not name.isidentifier():
                raise jaxtheory.InputError(f"--job {text!r}: give NAME=VALUE, such as cores=16")
            found.setdefault(name, []).append(value)
        for name, values in found.items():
            if len(values) == 1 and not lists.get(name):
                (value,) = values
                found[name] = int(value) if value.isdecimal() else read.get(value.lower(), value)
        return found

    @contextlib.contextmanager
    def opened(self) -> Iterator[dict[str, Any]]:
        """The arguments of `sweep` for these machines, held as long as they are needed."""
        self.checked()
        count = 1 if self.workers is None else self.workers
        if self.executor == "local":
            yield {}
            return
        if self.executor == "slurm":
            cluster = jaxtheory.cluster.slurm(count, self.options())
        elif self.scheduler is not None:
            cluster = jaxtheory.cluster.connected(self.scheduler, self.tls())
        else:
            cluster = jaxtheory.cluster.local(count)
        with cluster as execute:
            yield {"execute": execute}

    def script(self) -> str | None:
        """The text of each of Slurm's jobs; None where there are none."""
        self.checked()
        return jaxtheory.cluster.script(self.options()) if self.executor == "slurm" else None
