"""Options of the command line for where chunks are computed: locally, with Dask or with Slurm."""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import UseAppendAction, arg

import jaxtheory
from jaxtheory.cli.words.arguments import takes

_Options = UseAppendAction[Annotated[tuple[str, ...], arg(metavar="NAME=VALUE")]]


@dataclasses.dataclass(frozen=True)
class Machines:
    """Options for where chunks are computed."""

    executor: Literal["local", "dask", "slurm"] = "local"
    """This process, a Dask cluster, or Slurm jobs (the last two need jaxtheory[cluster])."""
    scheduler: Annotated[str | None, takes("ADDRESS")] = None
    """Address of a running Dask scheduler; by default workers start here."""
    workers: Annotated[int | None, takes("N")] = None
    """Number of worker processes on this machine, or of Slurm jobs; 1 by default."""
    job: _Options = ()
    """Argument of dask_jobqueue.SLURMCluster, such as cores=16, memory=64GB or queue=NAME."""
    tls_ca: Annotated[Path | None, takes("FILE")] = None
    """Certificate authority of the cluster, for --scheduler tls://HOST:8786."""
    tls_cert: Annotated[Path | None, takes("FILE")] = None
    """Certificate of this client."""
    tls_key: Annotated[Path | None, takes("FILE")] = None
    """Private key of this client."""

    def check(self) -> None:
        """Raise InputError if options contradict each other."""
        wrong = {
            "--scheduler": (self.scheduler is not None, ("dask",)),
            "--workers": (self.workers is not None, ("dask", "slurm")),
            "--job": (bool(self.job), ("slurm",)),
            **{f"--tls-{name}": (True, ("dask",)) for name in self.tls()},
        }
        for option, (present, executors) in wrong.items():
            if present and self.executor not in executors:
                raise jaxtheory.InputError(
                    f"{option} does not apply to --executor {self.executor}; use it with "
                    f"--executor {' or '.join(executors)}, or leave it out"
                )
        if self.scheduler is not None and self.workers is not None:
            raise jaxtheory.InputError(
                "--workers does not apply to a running scheduler, which has its own workers; leave "
                "out --workers or --scheduler"
            )
        if self.tls() and not (self.scheduler or "").startswith("tls://"):
            raise jaxtheory.InputError(
                "--tls-ca, --tls-cert, --tls-key: must be used with --scheduler tls://HOST:PORT"
            )
        if self.executor == "slurm":
            self.options()

    def tls(self) -> dict[str, Path]:
        """Return the certificate files that were set, by name."""
        files = {"ca": self.tls_ca, "cert": self.tls_cert, "key": self.tls_key}
        return {name: file for name, file in files.items() if file is not None}

    def options(self) -> dict[str, Any]:
        """Return the options of Slurm jobs by name, with lists for those that are repeated.

        Whole numbers, true, false and none are converted where the option is not a list.
        """
        options: dict[str, Any] = {}
        constants = {"true": True, "false": False, "none": None}
        lists = jaxtheory.cluster.known_options()
        for text in self.job:
            name, equals, value = text.partition("=")
            if not equals or not value.strip() or not name.isidentifier():
                raise jaxtheory.InputError(f"--job {text!r}: must be NAME=VALUE, such as cores=16")
            options.setdefault(name, []).append(value)
        for name, values in options.items():
            if len(values) == 1 and not lists.get(name):
                (value,) = values
                number = int(value) if value.isdecimal() else None
                options[name] = constants.get(value.lower(), value) if number is None else number
        return options

    @contextlib.contextmanager
    def open(self) -> Iterator[dict[str, Any]]:
        """Start or connect to the machines and give the arguments of `sweep` for them."""
        self.check()
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
        """Return the script of each Slurm job, or None for other executors."""
        self.check()
        return jaxtheory.cluster.script(self.options()) if self.executor == "slurm" else None
