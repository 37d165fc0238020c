"""What the slots of a theory from outside must give: structure, shapes, names. Read from shapes
alone, before anything is compiled; the rooms are held to it by their tests.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.config import Config, fields
from jaxtheory.core.errors import InputError, suggest, tried
from jaxtheory.core.theory import Algorithm, Check, Theory

_RECORDS = 7  # steps that predict is asked for
_AXES = ("seed", "step", "steps", "algorithm", "diverged_at")  # names that every dataset has
# homes of functions
_OWN = (
    "jaxtheory.core.theory",
    "jaxtheory.theories.",
    "jaxtheory._sweeps.",
    "jaxtheory.engine.request.fixed_problem.",
)
_DESCENT = "jaxtheory.core.from_optax"
_formed: set[Any] = set()  # what has been found to be in form, of this process

_Shapes = dict[str, tuple[int, ...]]


def ships(theory: Theory) -> bool:
    """Whether every function of a theory is jaxtheory's own, which its tests hold. A room with a
    loss, a metric or an optimizer from outside is no such theory.
    """
    slots = [slot for slot in theory if callable(slot)]
    steps = [part for algorithm in theory.algorithms.values() for part in algorithm if part]
    return all(_own(part) for part in (*slots, *steps))


def _own(part: Any) -> bool:
    """Whether a function is jaxtheory's; one that `from_optax` makes, whether all that it is made
    of is, optimizer and gradient.
    """
    home = str(getattr(part, "__module__", ""))
    if home != _DESCENT:
        return home == _OWN[0] or f"{home}.".startswith(_OWN[1:])
    held = inspect.getclosurevars(inspect.unwrap(part)).nonlocals.values()
    inside = [x for whole in held for x in (whole if isinstance(whole, tuple) else (whole,))]
    return all(_own(x) for x in inside if callable(x))


def require_contract(theory: Theory, config: Config, algorithms: Any = None) -> None:
    """Raise InputError for the first slot of a theory from outside that gives, on a canonical
    config, what the engine cannot take; of these algorithms (None: of all).
    """
    if ships(theory):
        return
    names = tuple(algorithms or theory.algorithms)
    slots = [slot for slot in theory if callable(slot)]
    steps = [theory.algorithms[name] for name in names]
    dims = tuple(sorted((name, tuple(dim)) for name, dim in theory.dims.items()))
    key = (*slots, *steps, dims, jax.tree.structure(config), jnp.result_type(float))
    if key in _formed:
        return
    problem, params = _trained(theory, config, names)
    _looked_at(theory, config, problem, params)
    _formed.add(key)


def _source(function: Any) -> str:
    """`(FILE.py, line n)` of a function; empty where there is none."""
    code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
    return f" ({Path(code.co_filename).name}, line {code.co_firstlineno})" if code else ""


def _given(what: str, function: Callable, *args: Any) -> Any:
    """What a slot gives, as shapes. Raises InputError where it fails, or gives what is no array."""
    raw: list[Any] = []

    def traced(*args: Any) -> Any:
        raw.append(function(*args))
        leaves = jax.tree.leaves_with_path(raw[0])
        odd = [(path, x) for path, x in leaves if not _is_array(x)]
        if odd:
            (path, x), *_ = odd
            name = jax.tree_util.keystr(path, simple=True, separator=".")
            raise InputError(
                f"{what} gives a {type(x).__name__}{f' as {name}' if name else ''}, expected "
                f"arrays{_source(function)}"
            )
        return jax.tree.map(jnp.asarray, raw[0])

    return tried(what, jax.eval_shape, traced, *args)


def _is_array(x: Any) -> bool:
    """Whether JAX takes it for an array of numbers."""
    if isinstance(x, bool | int | float | complex | jax.Array):
        return True
    return isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "biufc"


def _told(tree: Any) -> str:
    """A tree in words: Params(weights float32[10])."""
    leaves = jax.tree.leaves_with_path(tree)
    parts = [
        f"{jax.tree_util.keystr(path, simple=True, separator='.')} "
        f"{x.dtype}[{', '.join(map(str, x.shape))}]".strip()
        for path, x in leaves
    ]
    if len(leaves) == 1 and not leaves[0][0]:
        return parts[0]
    return f"{type(tree).__name__}({', '.join(parts)})"


def _like(what: str, function: Any, got: Any, name: str, want: Any) -> None:
    """Raise InputError where a tree has another structure, shapes, or kind of numbers than it must;
    integers do for real numbers.
    """
    structures: list[Any] = [jax.tree.structure(tree) for tree in (got, want)]
    pairs = zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=False)
    if structures[0] == structures[1] and all(
        g.shape == w.shape and (g.dtype == w.dtype or np.can_cast(g.dtype, w.dtype, "same_kind"))
        for g, w in pairs
    ):
        return
    raise InputError(f"{what} gives {_told(got)}, expected {name} {_told(want)}{_source(function)}")


def _trained(theory: Theory, config: Config, algorithms: tuple[str, ...]) -> tuple[Any, Any]:
    """The problem, and the parameters that the first algorithm shows."""
    key, t, name = jax.random.key(0), jax.ShapeDtypeStruct((), np.int32), theory.name
    problem = _given(f"{name}.problem", theory.problem, key, config)
    batch = _given(f"{name}.sample", theory.sample, key, problem, config)
    start = _given(f"{name}.init", theory.init, key, problem, config)
    what = f"{name}.loss"
    found = _given(what, theory.loss, start, batch, problem, config)
    _like(what, theory.loss, found, "a number", jax.ShapeDtypeStruct((), jnp.result_type(float)))
    what = f"{name}.gradient"
    slope = _given(what, theory.gradient, start, batch, problem, config)
    _like(what, theory.gradient, slope, "that of params,", start)
    seen: list[Any] = []
    for label in algorithms:
        algorithm, what = theory.algorithms[label], f"{name}.algorithms[{label!r}]"
        drawn = batch
        if algorithm.sample is not None:
            drawn = _given(f"{what}.sample", algorithm.sample, key, problem, config)
        state = _given(f"{what}.init", algorithm.init, key, problem, config)
        if not jax.tree.leaves(state):
            raise InputError(
                f"{what}.init gives no array, expected a state{_source(algorithm.init)}"
            )
        new = _given(f"{what}.step", algorithm.step, key, t, state, drawn, problem, config)
        _like(f"{what}.step", algorithm.step, new, "that of the state,", state)
        seen.append(_given(f"{what}.params", algorithm.params, state, problem, config))
    return problem, seen[0]


def _named(theory: Theory, slot: str, function: Callable, *args: Any) -> dict[str, Any]:
    """What a slot gives by name. Raises InputError where it is no dictionary of arrays."""
    found = _given(f"{theory.name}.{slot}", function, *args)
    if not isinstance(found, dict):
        _refuse(theory, slot, f" gives {_told(found)}, expected a dictionary {{name: array}}")
    for name, array in found.items():
        if not isinstance(name, str) or "/" in name or not name:
            _refuse(theory, slot, f": {name!r} is no name; give a text without '/'")
        if not hasattr(array, "shape"):
            _refuse(theory, slot, f"[{name!r}] gives {_told(array)}, expected an array")
    return dict(found)


def _looked_at(theory: Theory, config: Config, problem: Any, params: Any) -> None:
    """Raise InputError where the names or shapes of metrics, analyses, baselines, predictions,
    assumptions, dims and coords do not fit together.
    """
    metrics = _named(theory, "metrics", theory.metrics, params, problem, config)
    analyses = _named(theory, "analyses", theory.analyses, params, problem, config)
    known = {**metrics, **analyses}
    taken = {*_AXES, *fields(type(config))}
    for slot, found in (("metrics", metrics), ("analyses", analyses)):
        for name in found:
            other = "a metric's" if slot == "analyses" and name in metrics else "a field's"
            if name in taken or (slot == "analyses" and name in metrics):
                _refuse(theory, slot, f": {name!r} is {other} or an axis' name; choose another")
    shapes: _Shapes = {name: array.shape for name, array in known.items()}
    baselines = _named(theory, "baselines", theory.baselines, problem, config)
    for name, array in baselines.items():
        _require_known(theory, "baselines", name, shapes)
        shape = shapes[name]
        if not shape or array.shape[:-1] != shape[:-1] or array.ndim != len(shape):
            _refuse(
                theory,
                "baselines",
                f"[{name!r}] has shape {array.shape}; it is appended to {name}, of shape {shape}, "
                "along the last axis",
            )
        shapes[name] = (*shape[:-1], shape[-1] + array.shape[-1])
    _predicted(theory, config, problem, {name: shapes[name] for name in metrics})
    _assumed(theory, config, problem)
    _labeled(theory, config, shapes, taken)


def _refuse(theory: Theory, slot: str, why: str) -> NoReturn:
    """Raise InputError about a slot."""
    value = getattr(theory, slot)
    where = _source(value) or _source(theory.metrics).partition(",")[0] + ")"
    raise InputError(f"{theory.name}.{slot}{why}{where}")


def _require_known(theory: Theory, slot: str, name: str, known: Mapping[str, Any]) -> bool:
    """Raise InputError for the name of no metric or analysis; False where a room says it, whose
    metrics were replaced by fewer.
    """
    if name in known:
        return True
    if slot != "baselines" and _own(theory.Config) and (slot == "dims" or _own(theory.predict)):
        return False
    hint = suggest(str(name), known) if known else "there is none"
    _refuse(theory, slot, f": no metric is called {name!r}; {hint}")


def _predicted(theory: Theory, config: Config, problem: Any, metrics: _Shapes) -> None:
    """Raise InputError where predictions are not of metrics, or not one for each step."""
    steps = np.arange(_RECORDS, dtype=np.int32)
    at_steps = lambda *args: theory.predict(*args, steps)
    curves = _named(theory, "predict", at_steps, problem, config)
    for name, array in curves.items():
        metric = name.partition(":")[0]
        if not _require_known(theory, "predict", metric, metrics):
            continue
        if array.shape[:1] != (_RECORDS,):
            _refuse(
                theory,
                "predict",
                f"[{name!r}] has shape {array.shape} for {_RECORDS} steps, expected "
                f"{(_RECORDS, *metrics[metric])}",
            )
        if array.ndim - 1 > len(metrics[metric]):
            _refuse(
                theory,
                "predict",
                f"[{name!r}] has shape {array.shape[1:]} at each step, the metric "
                f"{metrics[metric]}",
            )


def _assumed(theory: Theory, config: Config, problem: Any) -> None:
    """Raise InputError where an assumption is no pair of numbers."""
    found = _given(f"{theory.name}.assumptions", theory.assumptions, problem, config)
    if not isinstance(found, dict):
        _refuse(theory, "assumptions", f" gives {_told(found)}, expected {{name: (holds, margin)}}")
    for name, pair in found.items():
        if not isinstance(pair, tuple) or [getattr(x, "shape", None) for x in pair] != [(), ()]:
            _refuse(
                theory, "assumptions", f"[{name!r}] gives {_told(pair)}, expected (holds, margin)"
            )


def _labeled(theory: Theory, config: Config, shapes: _Shapes, taken: set[str]) -> None:
    """Raise InputError where `dims` do not name the axes of metrics and analyses, or `coords` label
    a dimension that is not there.
    """
    lengths: dict[str, int] = {}
    for name, dims in theory.dims.items():
        if not _require_known(theory, "dims", name, shapes):
            continue
        if len(dims) != len(shapes[name]):
            _refuse(
                theory,
                "dims",
                f"[{name!r}] names {len(dims)} dimensions ({', '.join(dims)}) of an array of shape "
                f"{shapes[name]}",
            )
        for dim in dims:
            if dims.count(dim) > 1:
                _refuse(theory, "dims", f"[{name!r}]: {dim!r} stands twice; choose another")
            if dim in taken or dim in shapes:
                why = f"{dim!r} is a field's, an axis' or an array's name; choose another"
                _refuse(theory, "dims", f"[{name!r}]: {why}")
        for dim, length in zip(dims, shapes[name], strict=True):
            if lengths.setdefault(dim, length) != length:
                _refuse(
                    theory,
                    "dims",
                    f"[{name!r}]: {dim!r} has length {length}, and {lengths[dim]} in another array",
                )
    known = {**lengths, **dict(_unnamed(theory, shapes))}
    labels = tried(f"{theory.name}.coords", theory.coords, config)
    if not isinstance(labels, dict):
        _refuse(
            theory, "coords", f" gives a {type(labels).__name__}, expected {{dimension: labels}}"
        )
    for dim, each in labels.items():
        if dim not in known and _own(theory.coords):
            continue
        if dim not in known:
            hint = suggest(str(dim), known) if known else "there is none"
            _refuse(theory, "coords", f": no dimension is called {dim!r}; {hint}")
        if isinstance(each, str) or np.ndim(each) != 1:
            _refuse(theory, "coords", f"[{dim!r}] is a {type(each).__name__}, expected labels")


def _unnamed(theory: Theory, shapes: _Shapes) -> Iterator[tuple[str, int]]:
    """The dimensions of arrays that `dims` does not name."""
    for name, shape in shapes.items():
        if name not in theory.dims:
            yield from ((f"{name}_{i}", length) for i, length in enumerate(shape))


# The record itself, before any of its functions is called

_THEORY_SLOTS = {
    "problem": "key config",
    "sample": "key problem config",
    "init": "key problem config",
    "loss": "params batch problem config",
    "gradient": "params batch problem config",
    "metrics": "params problem config",
    "baselines": "problem config",
    "analyses": "params problem config",
    "coords": "config",
    "predict": "problem config steps",
    "assumptions": "problem config",
}
_THEORY_TYPES = {"name": str, "algorithms": dict, "dims": dict, "checks": tuple, "examples": tuple}
_ALGORITHM_SLOTS = {
    "init": "key problem config",
    "step": "key t state batch problem config",
    "params": "state problem config",
    "sample": "key problem config",
}
_CHECK_KINDS = ("equal", "bound", "sample")


def _signature_fault(where: str, function: Any, expected: str) -> str | None:
    """What is wrong with a function's arguments, or None. An underscore may precede a name that is
    not used.
    """
    if not callable(function):
        return (
            f"{where} is {type(function).__name__}, expected a function "
            f"({expected.replace(' ', ', ')})"
        )
    want = expected.split()
    parameters = inspect.signature(function).parameters.values()
    got = [
        p.name
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    for position, (g, w) in enumerate(zip(got, want, strict=False), start=1):
        if g.lstrip("_") != w:
            return f"{where}: argument {position} is {g!r}, expected {w!r} in ({', '.join(want)})"
    if len(got) != len(want):
        return (
            f"{where} takes {len(got)} arguments ({', '.join(got)}), expected {len(want)} "
            f"({', '.join(want)})"
        )
    return None


def _home(kind: Any) -> str:
    """A class with the module it comes from."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _odd_names(theory: Theory) -> list[str]:
    """What is wrong with the names that dictionaries and checks hold."""
    found = []
    for slot in ("algorithms", "dims"):
        names = getattr(theory, slot)
        odd = [name for name in (names if isinstance(names, dict) else ()) if type(name) is not str]
        found += [f"{theory.name}.{slot}: {name!r} is no name, expected a text" for name in odd]
    for name, dims in theory.dims.items() if isinstance(theory.dims, dict) else ():
        if not isinstance(dims, tuple) or not all(isinstance(dim, str) for dim in dims):
            found.append(
                f"{theory.name}.dims[{name!r}] is {dims!r}, expected a tuple of names, such as "
                f"({dims!r},)"
                if isinstance(dims, str)
                else f"{theory.name}.dims[{name!r}] is {dims!r}, expected a tuple of names"
            )
    for check in theory.checks if isinstance(theory.checks, tuple) else ():
        if isinstance(check, Check) and not isinstance(check.name, str):
            found.append(f"{theory.name}.checks: name is {check.name!r}, expected a text")
        if isinstance(check, Check) and not isinstance(check.tolerance, int | float):
            found.append(
                f"{theory.name}.checks[{check.name!r}].tolerance is {check.tolerance!r}, expected "
                "a number"
            )
    return found


def check_theory(theory: Any) -> None:
    """Test a record against the contract. Raises InputError that names each wrong slot and
    argument, a line each.
    """
    if not isinstance(theory, Theory):
        raise InputError(f"THEORY is a {type(theory).__name__}, expected a jaxtheory.Theory")
    name = theory.name
    faults: list[str | None] = [
        f"{name}.{slot} is a {type(value).__name__}, expected a {kind.__name__}"
        for slot, kind in _THEORY_TYPES.items()
        if not isinstance(value := getattr(theory, slot), kind)
    ]
    faults += [
        f"{name}.checks: a {type(check).__name__}, expected a jaxtheory.Check"
        for check in (theory.checks if isinstance(theory.checks, tuple) else ())
        if not isinstance(check, Check)
    ]
    faults += _odd_names(theory)
    if any(faults):
        raise InputError("\n".join(filter(None, faults)))
    faults = [
        _signature_fault(f"{name}.{slot}", getattr(theory, slot), want)
        for slot, want in _THEORY_SLOTS.items()
    ]
    if not (isinstance(theory.Config, type) and issubclass(theory.Config, Config)):
        faults.append(f"{name}.Config: expected a subclass of jaxtheory.Config")
    else:
        table = fields(theory.Config)
        symbols = [field.symbol for field in table.values()]
        for symbol in sorted(
            {s for s in symbols if symbols.count(s) > 1 or (s in table and table[s].symbol != s)}
        ):
            faults.append(f"{name}.Config: symbol {symbol!r} is not unique")
        faults += [
            f"{name}.Config: field {word!r} is reserved for an axis"
            for word in ("algorithm", "steps", "seed")
            if word in table
        ]
    if theory.given is not None and not callable(theory.given):
        faults.append(
            f"{name}.given is {type(theory.given).__name__}, expected a function of arrays"
        )
    if not theory.algorithms:
        faults.append(f"{name}.algorithms is empty; the first entry is the default")
    for label, algorithm in theory.algorithms.items():
        if not isinstance(algorithm, Algorithm):
            faults.append(
                f"{name}.algorithms[{label!r}] is a {type(algorithm).__name__}, expected a "
                "jaxtheory.Algorithm"
            )
            continue
        for slot, want in _ALGORITHM_SLOTS.items():
            function = getattr(algorithm, slot)
            if not (slot == "sample" and function is None):
                faults.append(
                    _signature_fault(f"{name}.algorithms[{label!r}].{slot}", function, want)
                )
    for check in theory.checks:
        if check.kind not in _CHECK_KINDS:
            faults.append(
                f"{name}.checks[{check.name!r}].kind is {check.kind!r}, expected one of "
                f"{', '.join(_CHECK_KINDS)}"
            )
        if check.kind == "equal" and check.tolerance > 1e-11:
            faults.append(
                f"{name}.checks[{check.name!r}].tolerance is {check.tolerance:g}; exact checks "
                "hold to 1e-11"
            )
        faults.append(_signature_fault(f"{name}.checks[{check.name!r}].fn", check.fn, "key config"))
    if other := [e for e in theory.examples if type(e) is not theory.Config]:
        faults.append(
            f"{name}.examples: {len(other)} of {len(theory.examples)} are a "
            f"{_home(type(other[0]))}, expected {_home(theory.Config)}; give "
            f"examples=({theory.Config.__name__}(),) too"
        )
    found = [fault for fault in faults if fault]
    if found:
        raise InputError("\n".join(found))
