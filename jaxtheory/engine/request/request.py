"""What a user asks for, checked once: `read` makes a `Request`, which holds all that determines the
numbers.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core import contract
from jaxtheory.core.config import Config, canonical, fields
from jaxtheory.core.contract import check_theory
from jaxtheory.core.decimals import plain
from jaxtheory.core.errors import InputError, suggest
from jaxtheory.core.theory import Theory
from jaxtheory.engine.request.axes import MOST, Axis, Points, check_points, read_axes
from jaxtheory.engine.request.current import require_current
from jaxtheory.engine.request.fixed_problem import with_problem
from jaxtheory.engine.request.settings import dtype_name, flag, numerics
from jaxtheory.engine.request.values import brief, checked_algorithm, checked_steps, refuse_tracers
from jaxtheory.ops import draws
from jaxtheory.system.backend import backend

ENDS = 2**16  # different numbers of steps in a sweep


class Asked(TypedDict, total=False):
    """The keyword arguments of `sweep` and `plan`, and those of `simulate` among them.

    vary: field (word or symbol), `algorithm` or `steps` -> values, a product axis each. zip: values
    that run together, as one dimension named after its first key (a key that is no field labels
    it); a list of such groups gives a dimension each.
    seeds: a count or a list; seed s of base key k is the run `simulate(..., run_key(k, s))`.
    steps: how many; algorithm: its name (None: the theory's first). record: every n steps, a list
    of steps, or {metric: steps}; None: every 1, 2, 5, 10, 20, ... steps and the last, at most 51
    records; step 0 is before training.
    start: a Run, or a pytree of parameters with the leading axis seed. The problem of each run is
    drawn from its own key, time starts at 0, and a run whose key is that of the run it starts from
    draws the same batches again. stop(metrics) -> bool is
    tested per run at recorded steps.
    problem: your own data for every run, as `theory.given(...)` makes them of arrays; then fields
    that the data depend on stay as they are.
    dtype: "float32" or "float64" (None: JAX's setting). buckets: "auto", "pad" or "exact", how
    points of different sizes share programs.
    """

    vary: Mapping[str, Sequence] | None
    zip: Mapping[str, Sequence] | Sequence[Mapping[str, Sequence]] | None
    seeds: int | Sequence[int]
    steps: int
    algorithm: str | None
    key: int | jax.Array
    record: Any
    start: Any
    stop: Callable[[dict], bool] | None
    problem: Any
    dtype: Any
    buckets: str


class Schedule(NamedTuple):
    """The recorded steps, and per metric which of them (None: all metrics at all of them)."""

    records: np.ndarray
    which: dict[str, frozenset[int]] | None

    def metrics_at(self, step: int) -> frozenset[str] | None:
        """The metrics that are looked at after `step` steps; None for all."""
        return (
            None
            if self.which is None
            else frozenset(name for name, steps in self.which.items() if step in steps)
        )


class Request(NamedTuple):
    """All that determines the numbers of a sweep, and nothing else. `key` is the base key number,
    or one run's key itself.
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

    @property
    def runs(self) -> int:
        """Points times seeds."""
        return self.points.total * len(self.seeds)


def takes_what_is_asked(function: Callable) -> Callable:
    """Show the keyword arguments of `Asked` in the signature of a public face."""
    import inspect

    given = inspect.signature(function)
    defaults = {"seeds": 1, "steps": inspect.Parameter.empty, "key": 0, "buckets": "auto"}
    kind = inspect.Parameter.KEYWORD_ONLY
    asked = [
        inspect.Parameter(n, kind, default=defaults.get(n), annotation=a)
        for n, a in Asked.__annotations__.items()
    ]
    own = [p for p in given.parameters.values() if p.kind is not p.VAR_KEYWORD]
    shown = [p for p in own if p.kind is not kind] + asked + [p for p in own if p.kind is kind]
    public: Any = function
    public.__signature__ = given.replace(parameters=shown)
    return function


def read(theory: Theory, config: Config, **asked: Unpack[Asked]) -> Request:
    """The checked request. Raises InputError that says what is wrong, which range is valid and what
    to do.
    """
    backend()
    check_theory(theory)
    if unknown := asked.keys() - Asked.__annotations__.keys():
        name = min(unknown)
        raise InputError(f"unknown argument {name!r}; {suggest(name, Asked.__annotations__)}")
    if "steps" not in asked:
        raise InputError("steps: give the number of training steps")
    check_type(theory, config)
    config = config.replace(**written(config))
    key, mode, stop = asked.get("key", 0), asked.get("buckets", "auto"), asked.get("stop")
    refuse_tracers(theory.name, (config, key, asked.get("start")))
    axes = read_axes(theory, asked.get("vary"), asked.get("zip"))
    name = checked_algorithm(theory, asked.get("algorithm"))
    if asked.get("algorithm") is not None and any("algorithm" in axis.values for axis in axes):
        raise InputError("algorithm is given and also stands on an axis")
    if mode not in ("auto", "pad", "exact"):
        raise InputError(f"buckets = {mode!r}: choose 'auto', 'pad' or 'exact'")
    if stop is not None and not callable(stop):
        raise InputError(
            f"stop = {stop!r}: must be a function of the metrics of one run, such as lambda "
            "metrics: metrics['loss'] < 0.1"
        )
    seeds = read_seeds(asked.get("seeds", 1))
    points = Points(config, axes, name, checked_steps(asked["steps"]))
    check_points(points)  # values that axes replace need not fit together; every point must
    schedule = read_schedule(asked.get("record"), points.values("steps"))
    dtype = dtype_name(asked.get("dtype"))
    drawn = bool(flag("jax_threefry_partitionable"))
    if asked.get("problem") is not None:
        refuse_tracers(theory.name, asked["problem"])
        with numerics(dtype):
            theory = with_problem(theory, points, asked["problem"])
    made = Request(
        theory,
        config,
        axes,
        points,
        seeds,
        schedule,
        name,
        read_key(key),
        asked.get("start"),
        stop,
        dtype,
        mode,
        drawn,
    )
    check_forms(made)
    require_current(theory, dict.fromkeys(points.values("algorithm")))
    check_record(made)
    check_stop(made)
    return made


def check_forms(request: Request) -> None:
    """Raise InputError where a theory from outside gives what the engine cannot take."""
    with numerics(request.dtype) as dtype:
        config = canonical(request.points.point(0).config, dtype)
        contract.require(request.theory, config, dict.fromkeys(request.points.values("algorithm")))


def read_key(key: Any) -> int | jax.Array:
    """A base key number, or the key of one run."""
    if hasattr(key, "dtype") and jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.ndim == 0:
        run: jax.Array = key
        return run
    found: int = draws.number("key", key)
    return found


def written(config: Config) -> dict[str, Any]:
    """The numbers of a config that are not Python numbers, as those: a float of less than 64 bits
    is the shortest decimal that rounds to it, as on an axis.
    """
    each = {name: getattr(config, name) for name in fields(type(config))}
    return {n: plain(v) for n, v in each.items() if not isinstance(v, jax.core.Tracer)}


def check_type(theory: Theory, config: Config) -> None:
    """A config of this theory, or InputError."""
    if type(config) is not theory.Config:
        raise InputError(
            f"config is a {type(config).__name__} of {type(config).__module__}, expected "
            f"{theory.name}'s {theory.Config.__qualname__}"
        )


def read_schedule(record: Any, steps: Sequence[int] | np.ndarray) -> Schedule:
    """The schedule of `record`, for runs of these numbers of steps. Raises InputError for steps
    outside [0, the largest].
    """
    ends = np.unique(np.array(steps)).tolist()
    if len(ends) > ENDS:
        raise InputError(
            f"steps: {len(ends)} different numbers of steps, and each is a record of every run; a "
            f"sweep has at most {ENDS}"
        )
    if isinstance(record, Mapping):
        if not record:
            raise InputError("record: an empty dictionary; give {metric: steps}, or leave it out")
        each = {
            name: frozenset(map(int, read_schedule(r, ends).records)) for name, r in record.items()
        }
        return Schedule(np.array(sorted(frozenset().union(*each.values())), np.int32), each)
    if record is None:
        places = [every(round_interval(end), end) for end in ends]
    elif isinstance(record, int | np.integer) and not isinstance(record, bool):
        if record < 1:
            raise InputError(
                f"record = {record}: must be a step interval in [1, inf), a list of steps, or "
                f"{{metric: steps}}"
            )
        places = [every(int(record), end) for end in ends]
    else:
        try:
            chosen = np.atleast_1d(np.asarray(list(record), dtype=float))
        except (TypeError, ValueError):
            raise InputError(
                f"record = {brief(record)}: must be a step interval, a list of steps, or "
                f"{{metric: steps}}"
            ) from None
        if chosen.size == 0 or not np.all(
            (chosen >= 0) & (chosen <= ends[-1]) & (chosen == chosen.round())
        ):
            raise InputError(
                f"record = {brief(record)}: steps must be integers in [0, {ends[-1]}], at least one"
            )
        places = [chosen]
    return Schedule(np.unique(np.concatenate(places)).astype(np.int32), None)


def every(interval: int, end: int) -> np.ndarray:
    """0, interval, 2 interval, ... and the end."""
    return np.append(np.arange(0, end, interval), end)


def round_interval(end: int) -> int:
    """The least of 1, 2, 5, 10, 20, 50, ... of which 50 reach the end."""
    intervals = (m * 10**k for k in itertools.count() for m in (1, 2, 5))
    return next(interval for interval in intervals if end <= 50 * interval)


def metric_shapes(request: Request) -> dict[str, tuple[int, ...]]:
    """The shape of each metric at the first point, baselines included, read from shapes alone."""
    theory, alg = request.theory, request.theory.algorithms[request.algorithm]

    def metrics(key: Any, config: Config) -> Any:
        problem = theory.problem(key, config)
        params = alg.params(alg.init(key, problem, config), problem, config)
        return theory.metrics(params, problem, config), theory.baselines(problem, config)

    with numerics(request.dtype) as dtype:
        config = canonical(request.points.point(0).config, dtype)
        found, more = jax.eval_shape(metrics, jax.random.key(0), config)
    fixed = {name: array.shape[-1] for name, array in more.items()}
    longer = lambda shape, n: (*shape[:-1], shape[-1] + n) if n else shape
    return {name: longer(array.shape, fixed.get(name, 0)) for name, array in found.items()}


def check_record(request: Request) -> None:
    """Raise InputError where `record` names a metric the theory does not have."""
    if request.schedule.which is None:
        return
    known = metric_shapes(request)
    for name in request.schedule.which:
        if name not in known:
            raise InputError(f"record: unknown metric {name!r}; {suggest(name, known)}")


class Recorded(dict):
    """Metrics as a stop rule reads them; one that is not recorded is named."""

    def __missing__(self, name: str) -> Any:
        raise InputError(f"stop reads the metric {name!r}; {suggest(str(name), self)}")


def check_stop(request: Request) -> None:
    """Raise InputError where `stop` reads a metric that is not recorded at some step, before
    anything is trained. It is called on metrics of ones; what else it raises on them is not judged.
    """
    if request.stop is None:
        return
    shapes = metric_shapes(request)
    for names in {request.schedule.metrics_at(t) for t in request.schedule.records.tolist()}:
        ones = {n: np.ones(shape) for n, shape in shapes.items() if names is None or n in names}
        try:
            request.stop(Recorded(ones))
        except InputError:
            raise
        except Exception:  # on numbers that no run has given
            continue


def read_seeds(seeds: Any) -> np.ndarray:
    """Seeds 0..n-1 of a count, or the listed ones."""
    count = draws.integer(seeds)
    if count is not None and 1 <= count <= MOST:
        return np.arange(count, dtype=np.uint32)
    wrong = InputError(
        f"seeds = {brief(seeds)}: must be a count in [1, 2^25] or a list of different "
        "integers in [0, 2^32)"
    )
    if count is not None or isinstance(seeds, str | bytes) or not hasattr(seeds, "__iter__"):
        raise wrong
    listed = [draws.integer(seed) for seed in seeds]
    if not listed or len(set(listed)) < len(listed):
        raise wrong
    if any(seed is None or not 0 <= seed < 2**32 for seed in listed):
        raise wrong
    return np.array(listed, np.uint32)
