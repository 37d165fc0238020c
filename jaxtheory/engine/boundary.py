"""Boundaries: the value of a field at which a property of trained runs changes, for every point and
seed, by repeated subdivision in one compiled program.

A first round trains every point and seed at `_CANDIDATES` values across the interval. Each further
round trains them at as many values inside the bracket of that point and seed, which becomes
`_CANDIDATES` + 1 times smaller. All rounds have the same shapes: the training loop is compiled
once. Eight candidates at a time need about twice the runs of a bisection, and a third of its
rounds, each of which fills the machine.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np
import xarray as xr

from jaxtheory.core.check_theory import check_theory
from jaxtheory.core.config import axis_field, fields
from jaxtheory.core.errors import InputError, suggest, tried
from jaxtheory.core.resolve import theory_of
from jaxtheory.core.theory import Theory
from jaxtheory.engine.compute.part import Part, pick
from jaxtheory.engine.compute.training import train_chunk
from jaxtheory.engine.execution.local import Execute, Tell, here, silent
from jaxtheory.engine.execution.progress import Meter, Progress
from jaxtheory.engine.planning.lay_out import plan_request
from jaxtheory.engine.planning.layout import Chunk, Lanes, lanes
from jaxtheory.engine.request.request import Request, read
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.results.dataset import assemble, describe
from jaxtheory.engine.results.identity import identity
from jaxtheory.system.backend import computes

_CANDIDATES = 8
_SCALES = ("log", "linear")


def diverged(data: xr.Dataset) -> xr.DataArray:
    """Return which runs were not finite at some step, as the property of a boundary.

    Args:
        data: The dataset of a sweep.

    Returns:
        Truth values with the dimensions of `data.diverged_at`.

    Example:
        >>> import xarray as xr
        >>> import jaxtheory
        >>> jaxtheory.diverged(xr.Dataset({"diverged_at": ("seed", [-1, 7])})).values
        array([False,  True])
    """
    truth: xr.DataArray = data["diverged_at"] >= 0
    return truth


@dataclasses.dataclass(frozen=True)
class _Below:
    """A metric or an analysis below a limit at the end."""

    name: str
    limit: float

    def __call__(self, data: xr.Dataset) -> xr.DataArray:
        if self.name not in data:
            hint = suggest(self.name, map(str, data.data_vars))
            raise InputError(f"below({self.name!r}): no metric has this name; {hint}")
        values = data[self.name]
        end = values.isel(step=-1, drop=True) if "step" in values.dims else values
        extra = [dim for dim in end.dims if dim not in data["diverged_at"].dims]
        if extra:
            raise InputError(
                f"below({self.name!r}): it has the dimension {extra[0]} too; write a function of "
                "the dataset that returns one truth value for each run"
            )
        truth: xr.DataArray = end < self.limit
        return truth

    def __str__(self) -> str:
        return f"{self.name} < {self.limit:g}"


def below(name: str, limit: float) -> Callable[[xr.Dataset], xr.DataArray]:
    """Return the property "this metric ends below the limit"; a run that diverged has it not.

    Args:
        name: A metric, taken at the last recorded step, or an analysis.
        limit: The limit.

    Returns:
        A function of a dataset that returns truth values.

    Example:
        >>> import xarray as xr
        >>> import jaxtheory
        >>> loss = xr.DataArray([[1.0, 0.05], [1.0, 0.2]], dims=("seed", "step"))
        >>> data = xr.Dataset({"loss": loss, "diverged_at": ("seed", [-1, -1])})
        >>> jaxtheory.below("loss", 0.1)(data).values
        array([ True, False])
    """
    return _Below(name, float(limit))


@computes
def boundary(
    theory: Theory | ModuleType | str | Path,
    config: Any,
    *,
    along: str,
    between: tuple[float, float],
    when: Callable[[xr.Dataset], xr.DataArray],
    over: Mapping[str, Sequence] | None = None,
    seeds: int | Sequence[int] = 8,
    steps: int,
    tolerance: float = 0.01,
    scale: str = "log",
    algorithm: str | None = None,
    key: int | jax.Array = 0,
    record: Any = None,
    start: Any = None,
    problem: Any = None,
    dtype: Any = None,
    buckets: str = "auto",
    execute: Execute = here,
    progress: Callable[[Progress], None] | None = None,
) -> xr.Dataset:
    """Return the value of a field at which a property of trained runs changes, for each point and
    seed.

    Args:
        theory: As in `sweep`.
        config: As in `sweep`.
        along: A traced or evaluation field, by its name or its symbol.
        between: The interval (low, high) in which the boundary is searched.
        when: A function of the dataset of a sweep over `over`, "seed" and `along` that returns a
            truth value for each run: `jaxtheory.diverged`, `jaxtheory.below("loss", 0.1)`, or your
            own. In this dataset `along` counts candidates, and `data[along + "_value"]` has their
            values by point and seed.
        over: Axes of points, as `vary` in `sweep`.
        seeds: As in `sweep`.
        steps: As in `sweep`.
        tolerance: The width of the final brackets: high / low - 1 with a logarithmic scale, and
            (high - low) as a share of the interval with a linear one.
        scale: "log" or "linear": how candidates are spaced.
        algorithm: As in `sweep`.
        key: As in `sweep`.
        record: As in `sweep`; None: the last step.
        start: As in `sweep`.
        problem: As in `sweep`.
        dtype: As in `sweep`.
        buckets: As in `sweep`.
        execute: As in `sweep`, on this machine.
        progress: A function as in `sweep`, for each round, without metrics; None shows nothing.

    Returns:
        A dataset with the dimensions of `over` and "seed": `low` and `high`, the ends of the
        bracket in which the property changes, `boundary`, their geometric mean (their mean with a
        linear scale), and `crossings`, the number of changes that were seen. Where that is not 1
        the others are NaN: with 0 the interval holds no boundary, and `first` is the property at
        its low end; with 2 or more there are several. `share` is the share of the seeds that have
        the property, over the values of the first round.

    Raises:
        InputError: An argument is invalid, or the property is not a truth value for each run.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import nearest_neighbor
        >>> found = jaxtheory.boundary(
        ...     nearest_neighbor, nearest_neighbor.Config(num_prompts=64), along="eta",
        ...     between=(0.01, 100), when=jaxtheory.below("loss", 0.2), seeds=2, steps=50,
        ... )
        >>> bool((found.high / found.low <= 1.01).all()), found.sizes["seed"]
        (True, 2)
    """
    if over is not None and along in over:
        raise InputError(f"along = {along!r} is an axis of over too; remove one of them")
    candidates = _spaced(scale, *_interval(between, scale), _CANDIDATES)
    _check_tolerance(tolerance)
    theory = theory_of(theory, config)
    check_theory(theory)
    word = axis_field(theory.Config, along)
    kind = "static" if word in ("algorithm", "steps") else fields(theory.Config)[word].kind
    if kind not in ("traced", "evaluation"):
        raise InputError(
            f"along = {along!r}: {word} is a {kind} field, which takes another program for each "
            "value; a boundary is searched along a traced or an evaluation field"
        )
    request = read(
        theory,
        config,
        vary={**(over or {}), along: candidates.tolist()},
        seeds=seeds,
        steps=steps,
        algorithm=algorithm,
        key=key,
        record=[steps] if record is None else record,
        start=start,
        problem=problem,
        dtype=dtype,
        buckets=buckets,
    )
    if not callable(when):
        raise InputError(f"when = {when!r}: must be a function of a dataset, as jaxtheory.diverged")
    return _Search(request, word, when, scale, tolerance, execute, progress).result()


def _interval(between: Any, scale: Any) -> tuple[float, float]:
    if scale not in _SCALES:
        raise InputError(f"scale = {scale!r}: must be 'log' or 'linear'")
    try:
        low, high = (float(end) for end in between)
    except (TypeError, ValueError):
        raise InputError(f"between = {between!r}: must be two numbers (low, high)") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InputError(f"between = {between!r}: low must be less than high, and both finite")
    if scale == "log" and low <= 0:
        raise InputError(f"between = {between!r}: must be positive for scale='log'; try 'linear'")
    return low, high


def _check_tolerance(tolerance: Any) -> None:
    if not isinstance(tolerance, int | float) or not 1e-6 <= tolerance < 1:
        raise InputError(f"tolerance = {tolerance!r}: must be a number in [1e-6, 1)")


def _spaced(scale: str, low: Any, high: Any, count: int, inside: bool = False) -> np.ndarray:
    """Numbers from low to high along a last axis, without the ends if `inside`."""
    share = np.arange(1, count + 1) / (count + 1) if inside else np.linspace(0, 1, count)
    low, high = np.asarray(low, float)[..., None], np.asarray(high, float)[..., None]
    if scale == "linear":
        return np.asarray(low + share * (high - low))
    return np.asarray(low * (high / low) ** share)


class _Search(NamedTuple):
    """The search for the boundary of each point and seed."""

    request: Request
    word: str
    when: Callable[[xr.Dataset], xr.DataArray]
    scale: str
    tolerance: float
    execute: Execute
    progress: Callable[[Progress], None] | None

    def result(self) -> xr.Dataset:
        """Train the rounds and return the brackets."""
        axis = self.request.axes[-1]
        grid = self.rounded(np.asarray(axis.labels, float))
        shape = (*self.request.points.shape[:-1], len(self.request.seeds))
        values = np.broadcast_to(grid, (*shape, len(grid)))
        truth, coords = self.round(values)
        share = truth.mean(-2)
        crossings = _changes(truth)
        first = truth[..., 0]
        one = crossings == 1
        low, high = _bracket(values, truth)
        while not self.narrow(low, high, one):
            values = self.rounded(_spaced(self.scale, low, high, len(grid), inside=True))
            truth, _ = self.round(values)
            ends = np.concatenate([first[..., None], truth, ~first[..., None]], -1)
            around = np.concatenate([low[..., None], values, high[..., None]], -1)
            crossings = np.where(one, np.maximum(crossings, _changes(ends)), crossings)
            one = crossings == 1
            narrower = _bracket(around, ends)
            low, high = (
                np.where(one, new, old) for new, old in zip(narrower, (low, high), strict=True)
            )
        middle = (low + high) / 2 if self.scale == "linear" else np.sqrt(low * high)
        dims = [*(a.name for a in self.request.axes[:-1]), "seed"]
        found = {"low": low, "high": high, "boundary": middle}
        data = {name: (dims, np.where(one, array, np.nan)) for name, array in found.items()}
        data |= {"crossings": (dims, crossings), "first": (dims, first)}
        data["share"] = ([*dims[:-1], axis.name], share)
        when = (
            str(self.when) if isinstance(self.when, _Below) else getattr(self.when, "__name__", "")
        )
        described = {
            "along": self.word,
            "when": when,
            "tolerance": self.tolerance,
            "scale": self.scale,
        }
        return xr.Dataset(data, {**coords, axis.name: grid}, described)

    def rounded(self, values: np.ndarray) -> np.ndarray:
        """The values as the runs have them, in the precision of the request."""
        return values.astype(self.request.dtype).astype(float)

    def narrow(self, low: np.ndarray, high: np.ndarray, one: np.ndarray) -> bool:
        """True if the brackets of all single boundaries are narrow enough."""
        if not one.any():
            return True
        low, high = low[one], high[one]
        between = np.asarray(self.request.axes[-1].labels, float)[[0, -1]]
        finest = 4 * np.finfo(self.request.dtype).eps  # below it candidates are no longer distinct
        if self.scale == "log":
            return bool(np.all(high / low - 1 <= max(self.tolerance, finest)))
        widest = max(self.tolerance, finest) * np.ptp(between)
        return bool(np.all(high - low <= max(widest, finest * abs(between).max())))

    def round(self, values: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """Train all runs with these values [point..., seed, candidate]; return the property, and
        the coordinates of the axes before the last.
        """
        request, axis = self.request, self.request.axes[-1]
        todo = plan_request(request)
        if any(self.word in bucket.shared for bucket in todo.buckets):  # another for each candidate
            todo = plan_request(request, apart=True)
        if fields(type(request.config))[self.word].kind == "evaluation":  # no longer the same
            todo = todo._replace(chunks=tuple(map(_each_its_own_values, todo.chunks)))
        meter = Meter(self.progress, request.points.total, todo.chunks, todo.chunks)

        def run(chunk: Chunk, tell: Tell = silent) -> Part:
            with numerics(request.dtype, request.partitionable):
                inputs = self.placed(lanes(request, chunk), values)
                told = lambda step, values: tell(chunk, step, None)
                outcome = train_chunk(request, chunk, inputs, told, False)
                return pick(request, chunk, inputs, outcome)

        def parts() -> Any:
            for chunk, part in self.execute(run, todo.chunks, meter.report):
                yield part
                meter.finished(chunk)

        described = describe(request, identity(request)["code"])
        data = assemble(request, described, parts())
        dims = [*(a.name for a in request.axes[:-1]), "seed", axis.name]
        data = data.assign_coords({f"{axis.name}_value": (dims, values)})
        truth = tried("when", self.when, data)
        expected = set(dims)
        if (
            not isinstance(truth, xr.DataArray)
            or truth.dtype != bool
            or set(truth.dims) != expected
        ):
            got = (
                f"{truth.dtype} with {truth.dims}"
                if isinstance(truth, xr.DataArray)
                else type(truth).__name__
            )
            raise InputError(
                f"when: must return a truth value for each run, an xarray.DataArray of booleans "
                f"with the dimensions {', '.join(dims)}; got {got}"
            )
        coords = {
            str(name): (array.dims, array.values)
            for name, array in data.coords.items()
            if set(array.dims) <= {*dims[:-1]}
        }
        return truth.transpose(*dims).values, coords

    def placed(self, inputs: Lanes, values: np.ndarray) -> Lanes:
        """The inputs of a chunk with the values of the field in the places of their runs."""
        where, points, places = inputs.out
        point, candidate = np.divmod(points, values.shape[-1])
        flat = values.reshape(-1, *values.shape[-2:])[point, places, candidate]
        replaced: dict[str, Any] = {}
        for name, depth in (("shared", 2), ("own", 3), ("values", 4)):
            group = getattr(inputs, name)
            if self.word in group:
                array = np.array(group[self.word])
                array[where[:depth]] = flat
                replaced[name] = {**group, self.word: array}
        if "shared" in replaced:
            seeds, distinct = inputs.distinct
            drawn = np.array(distinct[self.word])
            drawn[inputs.problem[where[:2]]] = flat
            replaced["distinct"] = (seeds, {**distinct, self.word: drawn})
        return inputs._replace(**replaced)


def _each_its_own_values(chunk: Chunk) -> Chunk:
    """The chunk, in which the runs of a row may have different evaluation values."""
    bucket = chunk.bucket
    return chunk._replace(bucket=bucket._replace(layout=bucket.layout._replace(common=False)))


def _changes(truth: np.ndarray) -> np.ndarray:
    """The number of changes along the last axis."""
    changes: np.ndarray = np.sum(truth[..., 1:] != truth[..., :-1], axis=-1)
    return changes


def _bracket(values: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values before and after the first change along the last axis; the first two values where
    there is none.
    """
    change = np.argmax(truth[..., 1:] != truth[..., :-1], axis=-1)[..., None]
    low, high = (np.take_along_axis(values, change + k, -1)[..., 0] for k in (0, 1))
    return low, high
