"""Boundaries: the value of a field at which a property of trained runs changes, for every point and
seed, by repeated subdivision in one compiled program.

A first round trains every point and seed at `_CANDIDATES` values across the interval. Each further
round trains them at as many values inside the bracket of that point and seed, which becomes
`_CANDIDATES` + 1 times smaller. All rounds have the same shapes: the training loop is compiled
once. Eight candidates at a time need about twice the runs of a bisection, and a third of its
rounds, each of which fills the machine.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from jaxtheory.core.check_theory import check_theory
from jaxtheory.core.code_hash import code_hash
from jaxtheory.core.config import fields
from jaxtheory.core.errors import InputError, tried
from jaxtheory.core.fields import axis_field
from jaxtheory.core.resolve import theory_of
from jaxtheory.core.theory import Theory
from jaxtheory.engine.compute.part import Part, pick
from jaxtheory.engine.compute.training import train_chunk
from jaxtheory.engine.execution.local import Execute, Tell, here, silent
from jaxtheory.engine.execution.progress import Meter, Progress
from jaxtheory.engine.planning.lay_out import plan_request
from jaxtheory.engine.planning.layout import Chunk, Lanes, lanes
from jaxtheory.engine.properties import Below
from jaxtheory.engine.request.request import Request, read
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.request.values import read_values
from jaxtheory.engine.results import attributes
from jaxtheory.engine.results.dataset import assemble, describe
from jaxtheory.engine.results.identity import as_json, identity
from jaxtheory.engine.results.store import Store
from jaxtheory.engine.results.versions import require_versions
from jaxtheory.engine.sweep import sweep
from jaxtheory.system.backend import computes

_CANDIDATES = 8
_SCALES = ("log", "linear")
_SEVERAL = ("none", "first")
_MEANINGS = {
    "low": "lower end of the bracket",
    "high": "upper end of the bracket",
    "boundary": "value at which the property changes",
    "crossings": "number of changes that were seen",
    "first": "the property at the low end of the interval",
    "holds": "the property at the values of the first round",
    "law": "predicted value at which the property changes",
}


@computes
def boundary(
    theory: Theory | ModuleType | str | Path,
    config: Any,
    *,
    along: str,
    between: tuple[float, float],
    when: Callable[[xr.Dataset], xr.DataArray],
    over: Mapping[str, Sequence] | None = None,
    law: Callable[[Any, Any], Any] | Mapping[str, Callable[[Any, Any], Any]] | None = None,
    seeds: int | Sequence[int] = 8,
    steps: int,
    tolerance: float = 0.01,
    scale: str = "log",
    several: str = "none",
    algorithm: str | None = None,
    key: int | jax.Array = 0,
    record: Any = None,
    start: Any = None,
    problem: Any = None,
    dtype: Any = None,
    buckets: str = "auto",
    store: str | Path | None = None,
    execute: Execute = here,
    progress: Callable[[Progress], None] | None = None,
    accept_versions: bool = False,
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
        law: law(problem, config), the predicted boundary of a run, which does not read `along`; or
            several of them by name, such as {"law": law, "bound": bound}.
        seeds: As in `sweep`.
        steps: As in `sweep`.
        tolerance: The width of the final brackets: high / low - 1 with a logarithmic scale, and
            (high - low) as a share of the interval with a linear one.
        scale: "log" or "linear": how candidates are spaced.
        several: "none": a run whose property changes several times has no boundary; "first": it
            has the first of these changes, from the low end, as the values of each round show it.
        algorithm: As in `sweep`.
        key: As in `sweep`.
        record: As in `sweep`; None: the last step.
        start: As in `sweep`.
        problem: As in `sweep`.
        dtype: As in `sweep`.
        buckets: As in `sweep`.
        store: A directory that keeps the result, from which the same call returns it. An
            interrupted search begins anew.
        execute: As in `sweep`, on this machine.
        progress: A function as in `sweep`, for each round, without metrics; None shows nothing.
        accept_versions: As in `sweep`.

    Returns:
        A dataset with the dimensions of `over` and "seed": `low` and `high`, the ends of the
        bracket in which the property changes, `boundary`, their geometric mean (their mean with a
        linear scale), and `crossings`, the number of changes that were seen. Where that is 0 the
        interval holds no boundary and the others are NaN, as they are where it is 2 or more unless
        several="first". `first` is the property at the low end, `holds` the property at the values
        of the first round, along a last dimension `along`, and `law`, or the names given, the
        predicted boundaries. The attribute "note" says in a sentence how many runs have no
        boundary, and why.

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
    search = read_boundary(
        theory,
        config,
        along=along,
        between=between,
        when=when,
        over=over,
        law=law,
        seeds=seeds,
        steps=steps,
        tolerance=tolerance,
        scale=scale,
        several=several,
        algorithm=algorithm,
        key=key,
        record=record,
        start=start,
        problem=problem,
        dtype=dtype,
        buckets=buckets,
    )
    if store is None:
        return search.result(execute, progress)
    directory = Store(store, search.identity())
    if (finished := directory.dataset()) is not None:
        directory.tidy()
        return finished
    directory.begin([])
    accepted = require_versions(directory, accept_versions)
    return directory.finish(search.result(execute, progress).assign_attrs(accepted))


def read_boundary(
    theory: Any,
    config: Any,
    *,
    along: str,
    between: Any,
    when: Any,
    over: Any = None,
    law: Any = None,
    tolerance: Any = 0.01,
    scale: Any = "log",
    several: Any = "none",
    record: Any = None,
    **asked: Any,
) -> "Search":
    """Return the search that the arguments of `boundary` ask for, or raise InputError."""
    if over is not None and not isinstance(over, Mapping):
        raise InputError(f"over = {over!r}: must be a mapping from fields to lists of values")
    if over is not None and along in over:
        raise InputError(f"along = {along!r} is an axis of over too; remove one of them")
    for name, value, known in (("scale", scale, _SCALES), ("several", several, _SEVERAL)):
        if value not in known:
            raise InputError(f"{name} = {value!r}: must be {' or '.join(map(repr, known))}")
    ends = _interval(between, scale)
    candidates = _spaced(scale, *ends, _CANDIDATES)
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
    read_values(theory, "between", word, list(ends))
    steps = asked["steps"]
    request = read(
        theory,
        config,
        vary={**(over or {}), along: candidates.tolist()},
        record=[steps] if record is None else record,
        **asked,
    )
    if not callable(when):
        raise InputError(f"when = {when!r}: must be a function of a dataset, as jaxtheory.diverged")
    laws = _read_laws(law)
    rules = _Rules(scale, several, float(tolerance))
    predicted = {
        n: asked[n] for n in ("seeds", "algorithm", "key", "problem", "dtype") if n in asked
    }
    points = {n: v for n, v in (over or {}).items() if n not in ("steps", "algorithm")}
    return Search(request, word, when, rules, laws, {"vary": points or None} | predicted)


def _read_laws(law: Any) -> dict[str, Callable[[Any, Any], Any]]:
    """The laws by name."""
    laws = dict(law) if isinstance(law, Mapping) else {} if law is None else {"law": law}
    for name, function in laws.items():
        if not callable(function):
            raise InputError(f"{name} = {function!r}: must be a function law(problem, config)")
        if name in _MEANINGS and name != "law":
            raise InputError(f"law: {name!r} is a name of the result; choose another")
    return laws


def _interval(between: Any, scale: Any) -> tuple[float, float]:
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


class _Rules(NamedTuple):
    """How candidates are spaced, which change counts, and the width of the final brackets."""

    scale: str
    several: str
    tolerance: float


class Search(NamedTuple):
    """The search for the boundary of each point and seed."""

    request: Request
    word: str
    when: Callable[[xr.Dataset], xr.DataArray]
    rules: _Rules
    laws: dict[str, Callable[[Any, Any], Any]]
    points: dict[str, Any]  # arguments of the sweep that evaluates the law

    def identity(self) -> dict[str, Any]:
        """Return the search as plain data, equal for two searches when their numbers are."""
        asked = {"along": self.word, **self.rules._asdict(), "when": self.when, "law": self.laws}
        code = {"search": code_hash(Search.result)}
        whole = identity(self.request)
        return whole | {"boundary": as_json(asked), "code": whole["code"] | code}

    def result(
        self, execute: Execute = here, progress: Callable[[Progress], None] | None = None
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
            values = self.rounded(_spaced(scale, low, high, len(grid), inside=True))
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
        found = {"low": low, "high": high, "boundary": middle}
        data: dict[str, tuple] = {
            name: (dims, np.where(one, array, np.nan)) for name, array in found.items()
        }
        data |= {"crossings": (dims, crossings), "first": (dims, first)}
        data |= {"holds": ([*dims, axis.name], holds), **laws}
        note = _note(crossings, first, one, f"{self.word} = {grid[0]:g} and {grid[-1]:g}")
        described = {"along": self.word, "when": _name(self.when), **self.rules._asdict()}
        described |= attributes.of_dataset(self.request, identity(self.request)["code"])
        dataset = xr.Dataset(data, {**coords, axis.name: grid}, described | {"note": note})
        dataset = attributes.add(dataset, self.request)
        for name in dataset.data_vars:
            dataset[name].attrs["long_name"] = _MEANINGS.get(str(name), str(name))
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
        found = sweep(measured, self.request.config, steps=0, progress=False, **self.points)
        each = {name: found[name].isel(step=0) for name in self.laws}
        return {name: (array.dims, array.values) for name, array in each.items()}

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
        """Train all runs with these values [point..., seed, candidate]; return the property, and
        the coordinates of the axes before the last.
        """
        request, axis = self.request, self.request.axes[-1]
        todo = plan_request(request)
        if any(self.word in bucket.shared for bucket in todo.buckets):  # another for each candidate
            todo = plan_request(request, apart=True)
        if fields(type(request.config))[self.word].kind == "evaluation":  # no longer the same
            todo = todo._replace(chunks=tuple(map(_each_its_own_values, todo.chunks)))
        meter = Meter(progress, request.points.total, todo.chunks, todo.chunks)

        def run(chunk: Chunk, tell: Tell = silent) -> Part:
            with numerics(request.dtype, request.partitionable):
                inputs = self.placed(lanes(request, chunk), values)
                told = lambda step, values: tell(chunk, step, None)
                outcome = train_chunk(request, chunk, inputs, told, False)
                return pick(request, chunk, inputs, outcome)

        def parts() -> Any:
            for chunk, part in execute(run, todo.chunks, meter.report):
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


def _name(when: Any) -> str:
    """The property in words."""
    return str(when) if isinstance(when, Below) else getattr(when, "__name__", "")


def _note(crossings: np.ndarray, first: np.ndarray, one: np.ndarray, between: str) -> str:
    """A sentence on the runs without a boundary, "" if there are none."""
    if one.all():
        return ""
    kinds = (
        ((crossings == 0) & first, "{} the property throughout"),
        ((crossings == 0) & ~first, "{} it nowhere"),
        ((crossings > 1) & ~one, "in {} it changes several times"),
    )
    told = []
    for runs, words in kinds:
        if count := int(runs.sum()):
            has = "has" if count == 1 else "have"
            told.append(words.format(f"{count} {has}" if words.startswith("{") else count))
    remedy = "; widen the interval" if not (crossings > 0).any() else ""
    return (
        f"{int((~one).sum())} of {one.size} runs have no boundary between {between}: "
        f"{', '.join(told)}{remedy}."
    )
