"""What the command line says and draws after a sweep, and `jaxtheory export`."""

import dataclasses
import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from jaxtheory.cli.terminal import table
from jaxtheory.core.errors import InputError, tried
from jaxtheory.system import disk

if TYPE_CHECKING:
    import xarray as xr

    from jaxtheory.core.theory import Theory

Metrics = tuple[Annotated[str, arg(metavar="METRIC")], ...] | None


def check_metrics(theory: "Theory", asked: Metrics) -> None:
    """Refuse a metric to draw that the theory does not have, before anything runs."""
    from jaxtheory.core.theory import outputs
    from jaxtheory.plotting.overview import chosen

    if asked:
        shown = tried(theory.name, outputs, theory)["metrics"]
        dims = {name.partition("(")[0]: name.partition("(")[2].rstrip(")") for name in shown}
        for metric in asked:
            if dims.get(metric):
                raise InputError(
                    f"--plot: {metric} has the dimension {dims[metric]} of its own, and a drawing "
                    "shows one number per run and step; draw it from the dataset, or --plot one of "
                    f"{', '.join(name for name, dim in dims.items() if not dim)}"
                )
            chosen([name for name, dim in dims.items() if not dim], metric)


def aside(said: str) -> None:
    """Print a sentence beside the output, on stderr."""
    print(said, file=sys.stderr)


def tell(data: "xr.Dataset") -> None:
    """Print the last values of a sweep; of a single point a line per metric."""
    from jaxtheory.engine.results.summary import summary

    found = summary(data)
    if not found.columns:
        return
    title = f"last record, mean ± standard error over {found.behind} seeds"
    if found.axes and found.points > 1:
        table(title, [*found.axes, *found.columns], found.rows)
    else:
        cells = found.rows[0][len(found.axes) :]
        table(title, ("metric", "last value"), list(zip(found.columns, cells, strict=True)))
    if any(" - " in column for column in found.columns):
        print("a - b     the gap of metric a to its predicted curve b")
    if len(found.rows) < found.points:
        print(f"left out  {found.points - len(found.rows)} of {found.points} points")
    if found.left_out:
        print(f"left out  the metrics {', '.join(found.left_out)}")


def draw(data: "xr.Dataset", store: Path, asked: Sequence[str]) -> None:
    """Draw metrics, the first one by default, into the store; print where."""
    from jaxtheory.engine.results.summary import metrics
    from jaxtheory.plotting.drawing import drawing
    from jaxtheory.plotting.overview import chosen, picture
    from jaxtheory.system.whole import write

    for metric in asked or (None,):
        name = chosen(metrics(data), metric)
        image = store / f"{name}.png"
        made = drawing(functools.partial(picture, data, name), ("png",), aside)
        write(image, made.files["png"])
        print(f"figure    {image}")


@dataclasses.dataclass(frozen=True)
class Export:
    """Write the dataset of a finished sweep as a file for other programs.

    csv and parquet: a tidy table, a row per point, seed and step, the axes first. netcdf: all of
    it. netcdf and parquet need jaxtheory[export].
    """

    store: Positional[Annotated[Path, arg(metavar="STORE")]]
    """What sweep printed as store."""
    to: Literal["csv", "netcdf", "parquet"]
    """Format of the file."""
    out: Annotated[Path | None, arg(metavar="FILE")] = None
    """Where to write; STORE/data.csv, .nc or .parquet by default."""

    def __call__(self) -> int:
        from jaxtheory.engine.results import export

        export.require(self.to)
        store = disk.located(self.store)
        data = export.read(store)
        folder = store.parent if store.name == "data.zarr" else store
        file = disk.located(self.out or folder / f"data.{export.SUFFIXES[self.to]}")
        export.write(data, self.to, file)
        if self.to != "netcdf" and (missing := export.left_out(data)):
            print(f"left out  {', '.join(missing)}: dimensions of their own (--to netcdf has them)")
        print(f"file      {file}")
        return 0
