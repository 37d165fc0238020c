"""The command `boundary`, which finds where along a field a property of trained runs changes."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from tyro.conf import Positional, arg

import jaxtheory
from jaxtheory.cli.export import print_aside
from jaxtheory.cli.terminal import put, sweep_progress, table
from jaxtheory.cli.words.arguments import takes
from jaxtheory.cli.words.functions import boundary_property
from jaxtheory.cli.words.parsing import SweepOptions
from jaxtheory.system import disk

if TYPE_CHECKING:
    import xarray as xr


class _BoundaryOptions(SweepOptions):
    """Options of `sweep` that `boundary` has."""

    AXES: ClassVar[str] = "--over"
    LACKS: ClassVar[tuple[str, ...]] = ("record", "stop", "buckets", "data")


@dataclasses.dataclass(frozen=True)
class Boundary:
    """Find the value of a field at which a property of trained runs changes.

    Every point and seed is searched by itself, by repeated subdivision of the interval.
    """

    theory: Positional[Annotated[str, arg(metavar="THEORY")]]
    """Name of a theory, or a FILE.py that defines THEORY."""
    along: Annotated[str, arg(metavar="FIELD")]
    """Field, or its symbol, along which the boundary is searched."""
    between: Annotated[str, arg(metavar="LOW:HIGH")]
    """Interval in which it is searched, such as 0.1:100."""
    when: Annotated[str, arg(metavar="PROPERTY")]
    """The property: diverged, "METRIC < NUMBER" (or >) at the last step, or FILE.py:FUNCTION."""
    over: Annotated[tuple[str, ...], takes("NAME=VALUES ...")] = ()
    """Axes of points, such as K=3:20:18."""
    set: Annotated[tuple[str, ...], takes("FIELD=VALUE ...")] = ()
    """Values of other fields at all points."""
    steps: Annotated[str | None, takes("N")] = None
    """Number of training steps, which may be left out if steps is an axis."""
    seeds: Annotated[str, arg(metavar="N|LIST")] = "8"
    """Number of seeds, or a list of them."""
    tolerance: float = 0.01
    """Width of the brackets, as a share of the boundary (log) or of the interval (linear)."""
    scale: Literal["log", "linear"] = "log"
    """Distances between the candidates."""
    several: Literal["none", "first"] = "none"
    """The boundary of a run whose property changes several times: none, or the first change."""
    key: int = 0
    """Root of all random numbers."""
    algorithm: Annotated[str | None, takes("NAME")] = None
    """Training algorithm; by default the first of the theory."""
    dtype: Annotated[Literal["float32", "float64"] | None, takes("float32|float64")] = None
    """Number format; by default the setting of JAX."""
    to: Annotated[Path | None, takes("FILE.csv")] = None
    """Table to write, with a row for each point and seed, and beside it a drawing (.png)."""

    def __call__(self) -> int:
        options = _BoundaryOptions(
            self.theory,
            vary=self.over,
            set=self.set,
            seeds=self.seeds,
            steps=self.steps,
            key=self.key,
            algorithm=self.algorithm,
            dtype=self.dtype,
        ).arguments()
        for name in ("zip", "record", "problem", "stop", "save_params", "observe"):
            options.pop(name)
        theory, config, over = (options.pop(name) for name in ("theory", "config", "vary"))
        file = None if self.to is None else disk.located(self.to)
        if file is not None and (file.is_dir() or not file.parent.is_dir()):
            raise jaxtheory.InputError(f"--to {file}: must be a file in a folder that exists")
        search: dict[str, Any] = {
            "along": self.along,
            "between": self._between(),
            "when": boundary_property(self.when),
        }
        with sweep_progress(theory.name) as progress:
            boundaries = jaxtheory.boundary(
                theory,
                config,
                over=over,
                tolerance=self.tolerance,
                scale=self.scale,
                several=self.several,
                progress=progress,
                **search,
                **options,
            )
        print_boundary(boundaries)
        if file is not None:
            write_boundary(boundaries, file)
        return 0

    def _between(self) -> tuple[float, float]:
        ends = self.between.split(":")
        try:
            low, high = map(float, ends)
        except ValueError:
            raise jaxtheory.InputError(
                f"--between {self.between}: must be two numbers LOW:HIGH"
            ) from None
        return low, high


def print_boundary(result: "xr.Dataset") -> None:
    """Print the geometric mean over the seeds with the extreme seeds, for each point."""
    from jaxtheory.engine.results.summary import label

    stacked = result.stack(point=[d for d in result.low.dims if d != "seed"] or ["seed"])
    axes = [str(dim) for dim in result.low.dims if dim != "seed"]
    if not axes:
        stacked = result.expand_dims("point")
    rows = []
    for i in range(stacked.sizes["point"]):
        at = stacked.isel(point=i)
        values = at.boundary.values[at.boundary.notnull().values]
        middle = f"{float(_middle(values, result.attrs['scale'])):.4g}" if values.size else "none"
        ends = f"{values.min():.4g} to {values.max():.4g}" if values.size else ""
        repeats = int((at.crossings > 1).sum())
        cell = f"{values.size} of {at.sizes['seed']}" + f" ({repeats} with several)" * bool(repeats)
        rows.append([*(label(at[axis].item()) for axis in axes), middle, ends, cell])
    title = f"{result.attrs['along']} at which {result.attrs['when']} changes"
    table(title, [*axes, "mean", "seeds from, to", "seeds with a boundary"], rows)
    if result.attrs["note"]:
        print_aside(result.attrs["note"])


def _middle(values: Any, scale: str) -> Any:
    import numpy as np

    return np.mean(values) if scale == "linear" else np.exp(np.mean(np.log(values)))


def write_boundary(result: "xr.Dataset", file: Path) -> None:
    """Write the table, and a drawing if there is one axis of numbers."""
    from jaxtheory.engine.results.cells import as_csv
    from jaxtheory.plotting.drawing import drawing
    from jaxtheory.system.atomic import write

    names = ["low", "high", "boundary", "crossings", "first"]
    frame = result[names].to_dataframe().reset_index()
    write(file, as_csv(list(frame.columns), frame.to_dict("records")))
    put(f"table     {file}")
    axes = [str(dim) for dim in result.low.dims if dim != "seed"]
    if len(axes) == 1 and result[axes[0]].dtype.kind in "if":
        drawn = drawing(lambda: _picture(result, axes[0]), ("png",), print_aside)
        write(file.with_suffix(".png"), drawn.files["png"])
        put(f"figure    {file.with_suffix('.png')}")


def _picture(result: "xr.Dataset", axis: str) -> Any:
    """Draw the boundary of each seed and their mean against the axis."""
    from jaxtheory import plot

    title = f"{result.attrs['along']} at which {result.attrs['when']} changes"
    figure, axes = plot.panels(title=title)
    plot.series(axes[0, 0], result.boundary, axis, "boundary", seeds=True)
    plot.finish(axes[0, 0], axis, result.attrs["along"], yscale=result.attrs["scale"])
    plot.add_caption(figure)
    return figure
