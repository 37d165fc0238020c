"""Boundaries: the value of a field at which a property of trained runs changes.

It is found for every point and seed, by repeated subdivision in one compiled program.

A first round trains every point and seed at `_CANDIDATES` values across the interval. Each further
round trains them at as many values inside the bracket of that point and seed, which becomes
`_CANDIDATES` + 1 times smaller. All rounds have the same shapes: the training loop is compiled
once. Eight candidates at a time need about twice the runs of a bisection, and a third of its
rounds, each of which fills the machine.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import jax
import numpy as np
import xarray as xr

from jaxtheory.code import traces
from jaxtheory.code.plain import as_json
from jaxtheory.core.check_theory import check_theory
from jaxtheory.core.config import fields
from jaxtheory.core.fields import axis_field
from jaxtheory.core.resolve import theory_of
from jaxtheory.core.theory import Theory
from jaxtheory.engine.execution.local import Execute, require_executor, run_locally
from jaxtheory.engine.execution.progress import Progress
from jaxtheory.engine.request.request import read
from jaxtheory.engine.request.values import read_values
from jaxtheory.engine.search import MEANINGS, Rules, Search, spaced
from jaxtheory.engine.store import datasets
from jaxtheory.engine.store.rectangle import runs_of
from jaxtheory.engine.store.store import Store
from jaxtheory.system.backend import computes
from jaxtheory.texts.errors import InputError, brief, require_arguments

_CANDIDATES = 8
_SCALES = ("log", "linear")
_SEVERAL = ("none", "first")


@computes
def boundary(
    theory: Theory | ModuleType | str | Path,
    config: Any,
    *,
    along: str,
    between: tuple[float, float],
    when: Callable[[xr.Dataset], xr.DataArray],
    over: Mapping[str, Any] | None = None,
    law: Callable[[Any, Any], Any] | Mapping[str, Callable[[Any, Any], Any]] | None = None,
    seeds: int | Sequence[int] = 8,
    steps: int,
    tolerance: float = 0.01,
    scale: Literal["log", "linear"] = "log",
    several: Literal["none", "first"] = "none",
    algorithm: str | None = None,
    key: int | jax.Array = 0,
    record: Any = None,
    start: Any = None,
    problem: Any = None,
    dtype: Any = None,
    buckets: Literal["auto", "pad", "exact"] = "auto",
    store: str | Path | None = None,
    execute: Execute = run_locally,
    progress: Callable[[Progress], None] | None = None,
) -> xr.Dataset:
    """Return the value of a field at which a property of runs changes, for each point and seed.

    Args:
        theory: As in `sweep`.
        config: As in `sweep`.
        along: A traced or evaluation field, by its name or its symbol.
        between: The interval (low, high) in which the boundary is searched.
        when: A function of the dataset of a sweep over `over`, "seed" and `along` that returns a
            truth value for each run: `jaxtheory.diverged`, `jaxtheory.below("loss", 0.1)`,
            `jaxtheory.above("accuracy", 0.9)`, or your own. In this dataset `along` counts
            candidates, and `data[along + "_value"]` has their values by point and seed.
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
        interrupted search starts from the beginning.
        execute: As in `sweep`, on this machine.
        progress: A function as in `sweep`, for each round, without metrics; None shows nothing.

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
    require_executor(execute)
    if progress is not None:
        if not callable(progress):
            raise InputError(
                f"progress = {brief(progress)}: must be a function of a jaxtheory.Progress, or None"
            )
        require_arguments("progress", progress, "event")
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
    with traces.under(search.code):
        if store is None:
            return search.result(execute, progress)
        identified = as_json(search.identity())
        runs = {**runs_of(identified), **identified, "axes": runs_of(identified)["axes"]}
        runs |= {"over": {a["name"]: a["labels"] for a in identified["axes"]}}
        directory = Store(store)
        if directory.exists():
            directory.require(runs, identified)
            if (finished := datasets.finished(directory.path, identified)) is not None:
                directory.tidy()
                return finished
        directory.begin(runs)
        directory.require(runs, identified)  # another process may have been faster
        datasets.begin(directory, identified, {})
        return datasets.finish(directory, identified, search.result(execute, progress))


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
    **options: Any,
) -> Search:
    """Return the search that the arguments of `boundary` ask for, or raise InputError."""
    if over is not None and not isinstance(over, Mapping):
        raise InputError(f"over = {over!r}: must be a mapping from fields to lists of values")
    if over is not None and along in over:
        raise InputError(f"along = {along!r} is an axis of over too; remove one of them")
    for name, value, known in (("scale", scale, _SCALES), ("several", several, _SEVERAL)):
        if value not in known:
            raise InputError(f"{name} = {value!r}: must be {' or '.join(map(repr, known))}")
    ends = _interval(between, scale)
    candidates = spaced(scale, *ends, _CANDIDATES)
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
    steps = options["steps"]
    request = read(
        theory,
        config,
        vary={**(over or {}), along: candidates.tolist()},
        record=[steps] if record is None else record,
        **options,
    )
    if not callable(when):
        raise InputError(f"when = {when!r}: must be a function of a dataset, as jaxtheory.diverged")
    laws = _read_laws(law)
    rules = Rules(scale, several, float(tolerance))
    predicted = {
        n: options[n] for n in ("seeds", "algorithm", "key", "problem", "dtype") if n in options
    }
    points = {n: v for n, v in (over or {}).items() if n not in ("steps", "algorithm")}
    return Search(request, word, when, rules, laws, {"vary": points or None} | predicted)


def _read_laws(law: Any) -> dict[str, Callable[[Any, Any], Any]]:
    """The laws by name."""
    laws = dict(law) if isinstance(law, Mapping) else {} if law is None else {"law": law}
    for name, function in laws.items():
        if not callable(function):
            raise InputError(f"{name} = {function!r}: must be a function law(problem, config)")
        if name in MEANINGS and name != "law":
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
