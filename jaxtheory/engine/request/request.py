"""The request of a sweep: all that determines its numbers, checked once by `read`."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.code import externals, traces
from jaxtheory.code.code_hash import code_hash
from jaxtheory.core import contract
from jaxtheory.core.check_theory import check_theory
from jaxtheory.core.config import Config, canonical, fields
from jaxtheory.core.resolve import theory_of
from jaxtheory.core.theory import Theory
from jaxtheory.engine.request.axes import (
    Axis,
    Points,
    check_points,
    check_precision,
    read_axes,
)
from jaxtheory.engine.request.current import require_current
from jaxtheory.engine.request.dependence import trains, unread
from jaxtheory.engine.request.fixed_problem import with_problem
from jaxtheory.engine.request.observed import (
    METHODS,
    require_own_draws,
    weight_names,
    with_observables,
)
from jaxtheory.engine.request.settings import dtype_name, flag, numerics
from jaxtheory.engine.request.values import (
    MOST,
    checked_algorithm,
    checked_steps,
    refuse_tracers,
    stops,
)
from jaxtheory.ops import draws
from jaxtheory.system.backend import backend
from jaxtheory.texts.decimals import python_value
from jaxtheory.texts.errors import InputError, brief, checks_arguments, require_present, suggest

_ENDS = 2**16  # different numbers of steps in a sweep at most


class Schedule(NamedTuple):
    """The recorded steps, and which of them each metric has; None: all metrics at all steps."""

    records: np.ndarray
    which: dict[str, frozenset[int]] | None

    def metrics_at(self, step: int) -> frozenset[str] | None:
        """Return the metrics that are evaluated after `step` steps, or None for all."""
        return (
            None
            if self.which is None
            else frozenset(name for name, steps in self.which.items() if step in steps)
        )


class Request(NamedTuple):
    """All that determines the numbers of a sweep, and nothing else.

    key: the number of the base key, or the key of one run. The arguments of `sweep` explain the
    other fields.
    """

    theory: Theory
    config: Config
    axes: tuple[Axis, ...]
    points: Points
    seeds: np.ndarray
    schedule: Schedule
    algorithm: str
    key: int | jax.Array
    start: Any
    stop: Callable[[dict], bool] | None
    dtype: str
    buckets: str
    partitionable: bool  # JAX's flag jax_threefry_partitionable, which changes draws
    save_params: bool | tuple[int, ...] = (
        False  # the steps at which weights are kept, True: the last
    )
    code: str = ""  # hash of the code, under which it is traced, see `code.traces`

    @property
    def runs(self) -> int:
        """Number of points times number of seeds."""
        return self.points.total * len(self.seeds)


@checks_arguments
def read(
    theory: Any,
    config: Config,
    *,
    vary: Mapping[str, Any] | None = None,
    zip: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    seeds: int | Sequence[int] = 1,
    steps: int,
    algorithm: str | None = None,
    key: int | jax.Array = 0,
    record: Any = None,
    start: Any = None,
    stop: Callable[[dict], bool] | None = None,
    problem: Any = None,
    dtype: Any = None,
    buckets: Literal["auto", "pad", "exact"] = "auto",
    save_params: bool | int | Sequence[int] = False,
    observe: Mapping[str, Callable] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
) -> Request:
    """Check the arguments of `sweep`, which explains them, and return them as a request.

    Raises:
        InputError: An argument is invalid; the message names it, its range and what to do.
    """
    backend()
    theory = theory_of(theory, config)
    check_theory(theory)
    _check_type(theory, config)
    config = config.replace(**_plain_fields(config))
    refuse_tracers(theory.name, (config, key, start))
    axes = read_axes(theory, vary, zip)
    name = checked_algorithm(theory, algorithm)
    if algorithm is not None and any("algorithm" in axis.values for axis in axes):
        raise InputError("algorithm is both an argument and an axis; remove one of them")
    if not isinstance(buckets, str) or buckets not in ("auto", "pad", "exact"):
        raise InputError(f"buckets = {brief(buckets)}: must be 'auto', 'pad' or 'exact'")
    if stop is not None and not callable(stop):
        raise InputError(
            f"stop = {brief(stop)}: must be a function of the metrics of one run, such as lambda "
            "metrics: metrics['loss'] < 0.1"
        )
    seed_numbers = _read_seeds(seeds)
    points = Points(config, axes, name, checked_steps(steps))
    check_points(points)  # the config itself may be invalid if axes replace its values
    schedule = read_schedule(record, points.values("steps"))
    precision = dtype_name(dtype)
    check_precision(points, precision)
    partitionable = bool(flag("jax_threefry_partitionable"))
    code = code_hash((theory._replace(checks=(), examples=()), stop, observe))
    with traces.under(code):
        if problem is not None:
            refuse_tracers(theory.name, problem)
            with numerics(precision):
                theory = with_problem(theory, points, problem)
        names = tuple(dict.fromkeys(points.values("algorithm")))
        save_params = False if save_params is None else save_params
        if save_params is not False or observe is not None or dims is not None:
            if isinstance(observe, Mapping):
                named = {f"observe[{n!r}]": f for n, f in observe.items() if callable(f)}
                externals.require_none(theory.name, externals.package_of(theory.Config), named)
            with numerics(precision) as float_dtype:
                at = canonical(points.point(0).config, float_dtype)
                words = {word for axis in axes for word in (axis.name, *axis.values)}
                theory = with_observables(theory, at, names, words, observe, dims, save_params)
        request = Request(
            theory=theory,
            config=config,
            axes=axes,
            points=points,
            seeds=seed_numbers,
            schedule=schedule,
            algorithm=name,
            key=_read_key(key),
            start=start,
            stop=stop,
            dtype=precision,
            buckets=buckets,
            partitionable=partitionable,
            code=code,
        )
        if save_params is True:
            request = request._replace(save_params=True)
        elif save_params is not False:
            request = _with_saved_steps(request, names, save_params)
        require_current(theory, names)
        _check_forms(request)
        _check_record(request)
        _check_stop(request)
    return request


def _check_forms(request: Request) -> None:
    """Raise InputError if an external theory returns values that the engine cannot use."""
    algorithms = tuple(dict.fromkeys(request.points.values("algorithm")))
    table = fields(type(request.config))
    swept = {n for axis in request.axes for n in axis.values if n in table}
    evaluated = [n for n in table if n in swept and table[n].kind == "evaluation"]
    with numerics(request.dtype) as dtype:
        config = canonical(request.points.point(0).config, dtype)
        contract.require_contract(request.theory, config, algorithms, METHODS)
        if contract.ships(request.theory):
            return
        require_own_draws(request.theory, config, algorithms, request.code)
        untrained = evaluated and unread(request.theory, config, evaluated, algorithms, trains)
        for name in (n for n in evaluated if n not in untrained):
            raise InputError(
                f"{name} ({table[name].symbol}): training depends on it, but a sweep trains once "
                "for all values of an evaluation field; declare it with jaxtheory.traced"
            )


def _read_key(key: Any) -> int | jax.Array:
    """The number of a base key, or the key of one run."""
    if hasattr(key, "dtype") and jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.ndim == 0:
        run: jax.Array = key
        return run
    number: int = draws.number("key", key)
    return number


def _plain_fields(config: Config) -> dict[str, Any]:
    """Fields of a config with NumPy numbers turned into Python numbers.

    A float of less than 64 bits becomes the shortest decimal that rounds to it, as on an axis.
    """
    entries = {name: getattr(config, name) for name in fields(type(config))}
    return {n: python_value(v) for n, v in entries.items() if not isinstance(v, jax.core.Tracer)}


def _check_type(theory: Theory, config: Config) -> None:
    """Raise InputError unless a config is of this theory."""
    kind, expected = type(config), theory.Config
    if kind is expected:
        return
    require_present("config", kind, expected)
    raise InputError(
        f"config is a {kind.__name__} of {kind.__module__}; pass a {expected.__qualname__} of "
        f"{theory.name}"
    )


def read_schedule(record: Any, steps: Sequence[int] | np.ndarray, name: str = "record") -> Schedule:
    """Return the schedule of `record` for runs with these numbers of steps.

    Raises InputError, which calls it `name`, for steps outside [0, the largest number of steps].
    """
    ends = np.unique(np.array(steps)).tolist()
    if len(ends) > _ENDS:
        raise InputError(
            f"steps: {len(ends)} different numbers of steps, each of which is a record of every "
            f"run; at most {_ENDS} are allowed"
        )
    if isinstance(record, Mapping):
        if not record:
            raise InputError(
                "record: the dictionary is empty; give {metric: steps}, or omit record"
            )
        metric_steps = {
            metric: frozenset(map(int, read_schedule(r, ends).records))
            for metric, r in record.items()
        }
        return Schedule(
            np.array(sorted(frozenset().union(*metric_steps.values())), np.int32), metric_steps
        )
    if record is None:
        places = [_regular_steps(_round_interval(end), end) for end in ends]
    elif isinstance(record, int | np.integer) and not isinstance(record, bool | np.timedelta64):
        if record < 1:
            raise InputError(
                f"{name} = {brief(record)}: must be a step interval in [1, inf), a list of steps, "
                f"or {{metric: steps}}"
            )
        places = [_regular_steps(int(record), end) for end in ends]
    else:
        try:
            listed = list(record) if len(record) <= MOST else [-1]
            chosen = np.atleast_1d(np.asarray(listed, dtype=float))
        except Exception:  # the object may raise anything
            raise InputError(
                f"{name} = {brief(record)}: must be a step interval, a list of steps, or "
                f"{{metric: steps}}"
            ) from None
        if (
            chosen.size == 0
            or chosen.ndim > 1
            or not np.all((chosen >= 0) & (chosen <= ends[-1]) & (chosen == chosen.round()))
        ):
            raise InputError(
                f"{name} = {brief(record)}: must have at least one step, all integers in "
                f"[0, {ends[-1]}]"
            )
        places = [chosen]
    return Schedule(np.unique(np.concatenate(places)).astype(np.int32), None)


def _with_saved_steps(request: Request, names: Sequence[str], save_params: Any) -> Request:
    """The request with weights as metrics at steps of their own."""
    saved = read_schedule(save_params, request.points.values("steps"), "save_params").records
    schedule, steps = request.schedule, frozenset(saved.tolist())
    with numerics(request.dtype) as dtype:
        config = canonical(request.points.point(0).config, dtype)
        weights = {w for name in names for w in weight_names(request.theory, name, config)}
    which = schedule.which
    if which is None:
        recorded = frozenset(schedule.records.tolist())
        which = dict.fromkeys(_metric_shapes(request), recorded)
    which = which | dict.fromkeys(sorted(weights), steps)
    records = np.union1d(schedule.records, saved).astype(np.int32)
    return request._replace(schedule=Schedule(records, which), save_params=tuple(sorted(steps)))


def _regular_steps(interval: int, end: int) -> np.ndarray:
    """The steps 0, interval, 2 interval, ... and the end."""
    return np.append(np.arange(0, end, interval), end)


def _round_interval(end: int) -> int:
    """The least interval of 1, 2, 5, 10, 20, 50, ... of which at most 50 fit before the end."""
    intervals = (m * 10**k for k in itertools.count() for m in (1, 2, 5))
    return next(interval for interval in intervals if end <= 50 * interval)


def _metric_shapes(request: Request) -> dict[str, tuple[int, ...]]:
    """Shape of each metric at the first point, baselines included; nothing is computed."""
    theory, alg = request.theory, request.theory.algorithms[request.algorithm]

    def metrics(key: Any, config: Config) -> Any:
        problem = theory.problem(key, config)
        params = alg.params(alg.init(key, problem, config), problem, config)
        return theory.metrics(params, problem, config), theory.baselines(problem, config)

    with numerics(request.dtype) as dtype:
        config = canonical(request.points.point(0).config, dtype)
        metric_arrays, baselines = jax.eval_shape(metrics, jax.random.key(0), config)
    fixed = {name: array.shape[-1] for name, array in baselines.items()}
    longer = lambda shape, n: (*shape[:-1], shape[-1] + n) if n else shape
    return {name: longer(array.shape, fixed.get(name, 0)) for name, array in metric_arrays.items()}


def _check_record(request: Request) -> None:
    """Raise InputError if `record` names a metric that the theory does not have."""
    if request.schedule.which is None:
        return
    metrics = _metric_shapes(request)
    for name in request.schedule.which:
        if name not in metrics:
            known = suggest(name if isinstance(name, str) else brief(name), metrics)
            raise InputError(f"record: unknown metric {brief(name)}; {known}")


class _RecordedMetrics(dict):
    """Metrics for a stop rule, with an error that names a metric that is not recorded."""

    def __missing__(self, name: str) -> Any:
        raise InputError(f"stop reads the metric {name!r}; {suggest(str(name), self)}")


def _check_stop(request: Request) -> None:
    """Raise InputError if `stop` reads a metric that is not recorded, or returns no truth value.

    Before training it is called on metrics of ones. Other errors that it raises on these are
    ignored.
    """
    if request.stop is None:
        return
    shapes = _metric_shapes(request)
    for names in {request.schedule.metrics_at(t) for t in request.schedule.records.tolist()}:
        ones = {n: np.ones(shape) for n, shape in shapes.items() if names is None or n in names}
        try:
            stops(request.stop, _RecordedMetrics(ones))
        except InputError:
            raise
        except Exception:  # it may fail on numbers that no run would have
            continue


def _read_seeds(seeds: Any) -> np.ndarray:
    """Seeds 0 to n - 1 of a count n, or the listed seeds."""
    count = draws.integer(seeds)
    if count is not None and 1 <= count <= MOST:
        return np.arange(count, dtype=np.uint32)
    wrong = InputError(
        f"seeds = {brief(seeds)}: must be a count in [1, 2^25] or a list of different "
        "integers in [0, 2^32)"
    )
    if count is not None or isinstance(seeds, str | bytes) or not hasattr(seeds, "__iter__"):
        raise wrong
    try:
        is_oversized = hasattr(seeds, "__len__") and len(seeds) > MOST
        listed = [] if is_oversized else [draws.integer(seed) for seed in seeds]
    except Exception:  # the object may raise anything
        raise wrong from None
    if not listed or len(set(listed)) < len(listed):
        raise wrong
    if any(seed is None or not 0 <= seed < 2**32 for seed in listed):
        raise wrong
    return np.array(listed, np.uint32)
