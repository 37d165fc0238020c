"""The search for boundaries in rounds.

Each round trains all points and seeds at values inside their brackets, which shrink to the first
two values between which the property changes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from jaxtheory.code.code_hash import code_hash
from jaxtheory.code.plain import as_json
from jaxtheory.core.config import fields
from jaxtheory.engine.compute.part import pick
from jaxtheory.engine.compute.training import train_chunk
from jaxtheory.engine.execution.local import Execute, Report, run_chunks, run_locally, silent
from jaxtheory.engine.execution.progress import Meter, Progress
from jaxtheory.engine.planning.buckets import lanes
from jaxtheory.engine.planning.planner import plan_request
from jaxtheory.engine.properties import Ends
from jaxtheory.engine.records import Chunk, Lanes, Part
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.results import attributes
from jaxtheory.engine.results.dataset import assemble, describe, grid_of
from jaxtheory.engine.results.identity import identity
from jaxtheory.engine.sweep import sweep
from jaxtheory.texts.errors import InputError, tried

MEANINGS = {
    "low": "lower end of the bracket",
    "high": "upper end of the bracket",
    "boundary": "value at which the property changes",
    "crossings": "number of changes that were seen",
    "first": "the property at the low end of the interval",
    "holds": "the property at the values of the first round",
    "law": "predicted value at which the property changes",
}


class Rules(NamedTuple):
    """How candidates are spaced, which change counts, and the width of the final brackets."""

    scale: str
    several: str
    tolerance: float


class Search(NamedTuple):
    """The search for the boundary of each point and seed."""

    request: Request
    word: str
    when: Callable[[xr.Dataset], xr.DataArray]
    rules: Rules
    laws: dict[str, Callable[[Any, Any], Any]]
    points: dict[str, Any]  # arguments of the sweep that evaluates the law

    @property
    def code(self) -> str:
        """Hash of the code of the search, under which it is traced."""
        return f"{self.request.code} {code_hash((self.when, self.laws))}"

    def identity(self) -> dict[str, Any]:
        """Return the search as plain data, equal for two searches when their numbers are."""
        settings = {"along": self.word, **self.rules._asdict(), "when": self.when, "law": self.laws}
        code = {"search": code_hash(Search.result)}
        base = identity(self.request)
        return base | {"boundary": as_json(settings), "code": base["code"] | code}

    def result(
        self, execute: Execute = run_locally, progress: Callable[[Progress], None] | None = None
    ) -> xr.Dataset:
        """Train the rounds and return the brackets."""
        how = execute, progress
        laws = self.predicted()  # fails, if at all, before anything is trained
        axis, scale = self.request.axes[-1], self.rules.scale
        grid = self.rounded(np.asarray(axis.labels, float))
        shape = (*self.request.points.shape[:-1], len(self.request.seeds))
        values = np.broadcast_to(grid, (*shape, len(grid)))
        holds, coords = self.round(values, *how)
        crossings = _changes(holds)
        first = holds[..., 0]
        one = self.counts(crossings)
        low, high = _bracket(values, holds)
        while not self.narrow(low, high, one):
            values = self.rounded(spaced(scale, low, high, len(grid), inside=True))
            truth, _ = self.round(values, *how)
            ends = np.concatenate([first[..., None], truth, ~first[..., None]], -1)
            around = np.concatenate([low[..., None], values, high[..., None]], -1)
            crossings = np.where(one, np.maximum(crossings, _changes(ends)), crossings)
            one = self.counts(crossings)
            narrower = _bracket(around, ends)
            low, high = (
                np.where(one, new, old) for new, old in zip(narrower, (low, high), strict=True)
            )
        middle = (low + high) / 2 if scale == "linear" else np.sqrt(low * high)
        dims = [*(a.name for a in self.request.axes[:-1]), "seed"]
        brackets = {"low": low, "high": high, "boundary": middle}
        data: dict[str, tuple] = {
            name: (dims, np.where(one, array, np.nan)) for name, array in brackets.items()
        }
        data |= {"crossings": (dims, crossings), "first": (dims, first)}
        data |= {"holds": ([*dims, axis.name], holds), **laws}
        note = _note(crossings, first, one, f"{self.word} = {grid[0]:g} and {grid[-1]:g}")
        described = {"along": self.word, "when": _name(self.when), **self.rules._asdict()}
        described |= attributes.of_dataset(self.request, identity(self.request)["code"])
        dataset = xr.Dataset(data, {**coords, axis.name: grid}, described | {"note": note})
        dataset = attributes.add(dataset, attributes.of_fields(type(self.request.config)), {})
        for name in dataset.data_vars:
            dataset[name].attrs["long_name"] = MEANINGS.get(str(name), str(name))
        return dataset

    def predicted(self) -> dict[str, tuple[tuple, np.ndarray]]:
        """Evaluate the laws for each point and seed, on the problem that its runs have."""
        theory = self.request.theory
        if not self.laws:
            return {}

        def evaluated(name: str, problem: Any, config: Any) -> jax.Array:
            value = jnp.asarray(tried(name, self.laws[name], problem, config))
            if value.ndim:
                shape = value.shape
                raise InputError(f"{name}: must return a number, got an array of shape {shape}")
            return value

        def metrics(params: Any, problem: Any, config: Any) -> dict[str, jax.Array]:
            return {name: evaluated(name, problem, config) for name in self.laws}

        measured = theory._replace(
            metrics=metrics,
            baselines=lambda problem, config: {},
            analyses=lambda params, problem, config: {},
            predict=lambda problem, config, steps: {},
            dims={},
            coords=lambda config: {},
        )
        dataset = sweep(measured, self.request.config, steps=0, progress=False, **self.points)
        arrays = {name: dataset[name].isel(step=0) for name in self.laws}
        return {name: (array.dims, array.values) for name, array in arrays.items()}

    def counts(self, crossings: np.ndarray) -> np.ndarray:
        """The runs that have a boundary."""
        return crossings >= 1 if self.rules.several == "first" else crossings == 1

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
        tolerance = max(self.rules.tolerance, finest)
        if self.rules.scale == "log":
            return bool(np.all(high / low - 1 <= tolerance))
        widest = tolerance * np.ptp(between)
        return bool(np.all(high - low <= max(widest, finest * abs(between).max())))

    def round(
        self, values: np.ndarray, execute: Execute, progress: Callable[[Progress], None] | None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Train all runs with these values [point..., seed, candidate].

        Returns the property, and the coordinates of the axes before the last.
        """
        request, axis = self.request, self.request.axes[-1]
        todo = plan_request(request)
        if any(self.word in bucket.shared for bucket in todo.buckets):  # another for each candidate
            todo = plan_request(request, problem_per_run=True)
        if fields(type(request.config))[self.word].kind == "evaluation":  # no longer the same
            todo = todo._replace(chunks=tuple(map(_each_its_own_values, todo.chunks)))
        meter = Meter(progress, request.points.total, todo.chunks, todo.chunks)

        def run(chunk: Chunk, tell: Report = silent) -> Part:
            with numerics(request.dtype, request.partitionable):
                inputs = self.placed(lanes(request, chunk), values)
                report = lambda step, values: tell(chunk, step, None)
                outcome = train_chunk(request, chunk, inputs, report, False)
                return pick(request, chunk, inputs, outcome)

        def parts() -> Any:
            for chunk, part in run_chunks(execute, run, todo.chunks, meter.report):
                yield part
                meter.finished(chunk)

        described = describe(request, identity(request)["code"])
        data = assemble(grid_of(request), described, parts())
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
        for name, depth in (("shared", 2), ("run_fields", 3), ("values", 4)):
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


def spaced(scale: str, low: Any, high: Any, count: int, inside: bool = False) -> np.ndarray:
    """Numbers from low to high along a last axis, without the ends if `inside`."""
    share = np.arange(1, count + 1) / (count + 1) if inside else np.linspace(0, 1, count)
    low, high = np.asarray(low, float)[..., None], np.asarray(high, float)[..., None]
    if scale == "linear":
        return np.asarray(low + share * (high - low))
    return np.asarray(low * (high / low) ** share)


def _each_its_own_values(chunk: Chunk) -> Chunk:
    """The chunk, in which the runs of a row may have different evaluation values."""
    bucket = chunk.bucket
    return chunk._replace(bucket=bucket._replace(layout=bucket.layout._replace(common=False)))


def _changes(truth: np.ndarray) -> np.ndarray:
    """The number of changes along the last axis."""
    changes: np.ndarray = np.sum(truth[..., 1:] != truth[..., :-1], axis=-1)
    return changes


def _bracket(values: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values before and after the first change along the last axis.

    The first two values where there is none.
    """
    change = np.argmax(truth[..., 1:] != truth[..., :-1], axis=-1)[..., None]
    low, high = (np.take_along_axis(values, change + k, -1)[..., 0] for k in (0, 1))
    return low, high


def _name(when: Any) -> str:
    """The property in words."""
    if isinstance(when, Ends):
        return str(when)
    return getattr(getattr(when, "func", when), "__name__", "")  # also of a partial function


def _note(crossings: np.ndarray, first: np.ndarray, one: np.ndarray, between: str) -> str:
    """A sentence on the runs without a boundary, "" if there are none."""
    if one.all():
        return ""
    kinds = (
        ((crossings == 0) & first, "{} the property throughout"),
        ((crossings == 0) & ~first, "{} it nowhere"),
        ((crossings > 1) & ~one, "in {} it changes several times"),
    )
    phrases = []
    for runs, words in kinds:
        if count := int(runs.sum()):
            has = "has" if count == 1 else "have"
            phrases.append(words.format(f"{count} {has}" if words.startswith("{") else count))
    remedy = "; widen the interval" if not (crossings > 0).any() else ""
    return (
        f"{int((~one).sum())} of {one.size} runs have no boundary between {between}: "
        f"{', '.join(phrases)}{remedy}."
    )
