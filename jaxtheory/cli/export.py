"""Printed and drawn results of a sweep, and the command `jaxtheory export`."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from jaxtheory.cli.terminal import put, say, table
from jaxtheory.cli.words.arguments import takes
from jaxtheory.system import disk
from jaxtheory.texts.errors import InputError, tried

if TYPE_CHECKING:
    import xarray as xr

    from jaxtheory.core.theory import Theory

Metrics = Annotated[tuple[str, ...] | None, takes("[METRIC ...]")]


def check_metrics(theory: "Theory", metrics: Metrics) -> None:
    """Raise InputError for a metric that the theory does not have, before anything runs."""
    if metrics:
        from jaxtheory.core.theory import outputs
        from jaxtheory.plotting.overview import chosen

        shown = tried(theory.name, outputs, theory)["metrics"]
        dims = {name.partition("(")[0]: name.partition("(")[2].rstrip(")") for name in shown}
        for metric in metrics:
            if dims.get(metric):
                raise InputError(
                    f"--plot: {metric} has the further dimension {dims[metric]}, and --plot draws "
                    "one number per run and step; draw it with jaxtheory.plot.lines, or choose "
                    f"among {', '.join(name for name, dim in dims.items() if not dim)}"
                )
            chosen([name for name, dim in dims.items() if not dim], metric)


def print_aside(sentence: str) -> None:
    """Print a sentence to stderr."""
    say(sentence)


def print_dataset(data: "xr.Dataset", store: Path) -> None:
    """Print where the dataset of a sweep is, its dimensions and variables, and diverged runs."""
    put(f"store     {store}")
    lost = int(data["diverged_at"].isnull().sum())
    if lost:
        put(f"missing   {lost} of {data['diverged_at'].size} runs, which other processes compute")
    else:
        put(f"dataset   {store / 'data.zarr'}")
    put(f"dims      {', '.join(f'{name} {size}' for name, size in data.sizes.items())}")
    put(f"variables {', '.join(map(str, data.data_vars))}")
    diverged = int((data["diverged_at"] >= 0).sum())
    if diverged:
        put(
            f"diverged  {diverged} of {data['diverged_at'].size} runs; "
            "their records are NaN from diverged_at on"
        )
    for line in str(data.attrs.get("summary", "")).partition(": ")[2].split("; "):
        if line.startswith("equal along "):
            put(f"equal     {line.removeprefix('equal ')}")
    if "stopped_at" in data:
        stopped = int((data["stopped_at"] >= 0).sum())
        put(f"stopped   {stopped} of {data['stopped_at'].size} runs, at stopped_at")


def print_summary(data: "xr.Dataset") -> None:
    """Print the last values of a sweep, for a single point as a line per metric."""
    from jaxtheory.engine.results.summary import summary

    last = summary(data)
    if not last.columns:
        return
    title = f"last record, mean ± standard error over {last.behind} seeds"
    if last.axes and last.points > 1:
        table(title, [*last.axes, *last.columns], last.rows)
    else:
        cells = last.rows[0][len(last.axes) :]
        table(title, ("metric", "last value"), list(zip(last.columns, cells, strict=True)))
    if any(" - " in column for column in last.columns):
        put("a - b     difference of metric a and its predicted curve b")
    if len(last.rows) < last.points:
        put(f"left out  {last.points - len(last.rows)} of {last.points} points")
    if last.left_out:
        put(f"left out  the metrics {', '.join(last.left_out)}")


def draw_metrics(data: "xr.Dataset", store: Path, selected: Sequence[str]) -> None:
    """Draw metrics, by default the first one, into the store and print the files."""
    from jaxtheory.engine.results.summary import metrics
    from jaxtheory.plotting.drawing import drawing
    from jaxtheory.plotting.overview import chosen, picture
    from jaxtheory.system.atomic import write

    for metric in selected or (None,):
        name = chosen(metrics(data), metric)
        image = store / f"{name}.png"
        drawn = drawing(functools.partial(picture, data, name), ("png",), print_aside)
        write(image, drawn.files["png"])
        put(f"figure    {image}")


@dataclasses.dataclass(frozen=True)
class Export:
    """Write the dataset of a finished sweep as a file for other programs.

    csv and parquet are tidy tables with a row per point, seed and step.

    netcdf has the whole dataset. netcdf and parquet need jaxtheory[export].
    """

    store: Positional[Annotated[Path, arg(metavar="STORE")]]
    """Directory of the results, which `sweep` prints as store."""
    format: Literal["csv", "netcdf", "parquet"]
    """Format of the file."""
    to: Annotated[Path | None, takes("FILE")] = None
    """File to write; by default STORE/data.csv, .nc or .parquet."""

    def __call__(self) -> int:
        from jaxtheory.engine.results import export
        from jaxtheory.engine.store import datasets

        export.require_package(self.format)
        store = disk.located(self.store)
        data = datasets.open_store(store)
        folder = store.parent if store.name == "data.zarr" else store
        file = disk.located(self.to or folder / f"data.{export.SUFFIXES[self.format]}")
        export.write_file(data, self.format, file)
        if self.format != "netcdf" and (missing := export.left_out(data)):
            put(f"left out  {', '.join(missing)}: further dimensions (--format netcdf keeps them)")
        put(f"file      {file}")
        return 0
