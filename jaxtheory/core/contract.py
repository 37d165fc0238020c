"""The contract of the slots of a user's theory: what each must return.

Structure, shapes and names are checked with abstract values, before anything is compiled. The
theories of this package are checked by their tests instead.
"""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.code import externals, traces
from jaxtheory.core.config import Config, fields
from jaxtheory.core.extended import WEIGHTS, Extended
from jaxtheory.core.theory import Theory
from jaxtheory.texts.errors import InputError, code_line, suggest, tried
from jaxtheory.texts.labels import label_fault, name_fault

_RECORDS = 7  # number of steps for which predict is evaluated
_AXES = (
    "seed",
    "step",
    "steps",
    "algorithm",
    "diverged_at",
    "stopped_at",
)  # names that every dataset has
# modules of this package that define functions of theories
_OWN = (
    "jaxtheory.core.theory",
    "jaxtheory.theories.",
    "jaxtheory._sweeps.",
    "jaxtheory.engine.request.fixed_problem.",
    "jaxtheory.observables.",
)
_DESCENT = "jaxtheory.core.from_optax"
_formed: set[Any] = set()  # keys of theories and configs that have passed in this process

_Shapes = dict[str, tuple[int, ...]]


def ships(theory: Theory) -> bool:
    """True if every function of a theory belongs to jaxtheory, whose tests check it.

    It is False for a theory of this package in which a user has replaced a loss, a metric or an
    optimizer.
    """
    slots = [slot for slot in theory if callable(slot)]
    steps = [part for algorithm in theory.algorithms.values() for part in algorithm if part]
    return all(_is_ours(part) for part in (*slots, *steps))


def _is_ours(part: Any) -> bool:
    """True if a function belongs to jaxtheory.

    A function that `from_optax` made does if its optimizer and its gradient do.
    """
    if isinstance(part, Extended):
        return all(map(_is_ours, part.functions))
    home = str(getattr(part, "__module__", ""))
    if home != _DESCENT:
        return home == _OWN[0] or f"{home}.".startswith(_OWN[1:])
    cells = inspect.getclosurevars(inspect.unwrap(part)).nonlocals.values()
    inside = [x for cell in cells for x in (cell if isinstance(cell, tuple) else (cell,))]
    return all(_is_ours(x) for x in inside if callable(x))


def require_contract(
    theory: Theory,
    config: Config,
    algorithms: Any = None,
    methods: Collection[str] = (),
) -> None:
    """Raise InputError for the first slot of a user's theory that violates the contract.

    Args:
        theory: The theory; one that belongs to jaxtheory passes unchecked.
        config: A canonical config, at which the slots are evaluated with abstract values.
        algorithms: The names of the algorithms to check; None for all.
        methods: The methods of datasets, which name no metric.
    """
    if ships(theory):
        return
    externals.require_none(
        theory.name, externals.package_of(theory.Config), externals.functions_of(theory)
    )
    names = tuple(algorithms or theory.algorithms)
    slots = [slot for slot in theory if callable(slot)]
    steps = [theory.algorithms[name] for name in names]
    dims = tuple(sorted((name, tuple(dim)) for name, dim in theory.dims.items()))
    code = traces.digest((*slots, *steps, theory.Config))
    key = (*slots, *steps, code, dims, jax.tree.structure(config), jnp.result_type(float))
    if key in _formed:
        return
    problem, params = _check_training(theory, config, names)
    _check_outputs(theory, config, problem, params, methods)
    _formed.add(key)


def _shapes_of(what: str, function: Callable, *args: Any) -> Any:
    """Return the shapes of what a slot returns. Raises InputError if it fails or has no arrays."""
    raw: list[Any] = []

    def traced(*args: Any) -> Any:
        raw.append(function(*args))
        leaves = jax.tree.leaves_with_path(raw[0])
        odd = [(path, x) for path, x in leaves if not _is_array(x)]
        if odd:
            (path, x), *_ = odd
            name = jax.tree_util.keystr(path, simple=True, separator=".")
            raise InputError(
                f"{what} returns a {type(x).__name__}{f' as {name}' if name else ''}, expected "
                f"arrays{code_line(function)}"
            )
        return jax.tree.map(jnp.asarray, raw[0])

    return tried(what, jax.eval_shape, traced, *args)


def _is_array(x: Any) -> bool:
    """True if JAX accepts it as an array of numbers."""
    if isinstance(x, bool | int | float | complex | jax.Array):
        return True
    return isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "biufc"


def _described(tree: Any) -> str:
    """Describe a tree, as in "Params(weights float32[10])"."""
    leaves = jax.tree.leaves_with_path(tree)
    parts = [
        f"{jax.tree_util.keystr(path, simple=True, separator='.')} "
        f"{x.dtype}[{', '.join(map(str, x.shape))}]".strip()
        for path, x in leaves
    ]
    if len(leaves) == 1 and not leaves[0][0]:
        return parts[0]
    return f"{type(tree).__name__}({', '.join(parts)})"


def same_structure(one: Any, other: Any) -> bool:
    """True if two pytrees have the same structure, whatever their leaves."""
    structures: list[Any] = [jax.tree.structure(tree) for tree in (one, other)]
    return bool(structures[0] == structures[1])


def _require_like(what: str, function: Any, got: Any, name: str, want: Any) -> None:
    """Raise InputError unless a tree has the structure, shapes and number types that it must have.

    Integers are accepted for real numbers.
    """
    pairs = zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=False)
    if same_structure(got, want) and all(
        g.shape == w.shape and (g.dtype == w.dtype or np.can_cast(g.dtype, w.dtype, "same_kind"))
        for g, w in pairs
    ):
        return
    raise InputError(
        f"{what} returns {_described(got)}, expected {name} {_described(want)}{code_line(function)}"
    )


def _check_training(theory: Theory, config: Config, algorithms: tuple[str, ...]) -> tuple[Any, Any]:
    """Check the slots that train; return the problem and the first algorithm's parameters."""
    key, t, name = jax.random.key(0), jax.ShapeDtypeStruct((), np.int32), theory.name
    problem = _shapes_of(f"{name}.problem", theory.problem, key, config)
    batch = _shapes_of(f"{name}.sample", theory.sample, key, problem, config)
    start = _shapes_of(f"{name}.init", theory.init, key, problem, config)
    what = f"{name}.loss"
    value = _shapes_of(what, theory.loss, start, batch, problem, config)
    _require_like(
        what, theory.loss, value, "a number", jax.ShapeDtypeStruct((), jnp.result_type(float))
    )
    what = f"{name}.gradient"
    slope = _shapes_of(what, theory.gradient, start, batch, problem, config)
    for path, leaf in jax.tree.leaves_with_path(slope):
        if leaf.dtype == jax.dtypes.float0:
            entry = jax.tree_util.keystr(path, simple=True, separator=".") or "the array"
            raise InputError(
                f"{what} returns float0 as {entry}, which JAX gives for integers; integers are not "
                f"trained: keep them in the problem{code_line(theory.gradient)}"
            )
    _require_like(what, theory.gradient, slope, "that of params,", start)
    parameters: list[Any] = []
    for label in algorithms:
        algorithm, what = theory.algorithms[label], f"{name}.algorithms[{label!r}]"
        drawn = batch
        if algorithm.sample is not None:
            drawn = _shapes_of(f"{what}.sample", algorithm.sample, key, problem, config)
        state = _shapes_of(f"{what}.init", algorithm.init, key, problem, config)
        if not jax.tree.leaves(state):
            raise InputError(
                f"{what}.init returns no array, expected a state{code_line(algorithm.init)}"
            )
        new = _shapes_of(f"{what}.step", algorithm.step, key, t, state, drawn, problem, config)
        _require_like(f"{what}.step", algorithm.step, new, "that of the state,", state)
        parameters.append(_shapes_of(f"{what}.params", algorithm.params, state, problem, config))
    return problem, parameters[0]


def _arrays_by_name(theory: Theory, slot: str, function: Callable, *args: Any) -> dict[str, Any]:
    """Return the shapes of a slot by name. Raises InputError if it is not a dict of arrays."""
    arrays = _shapes_of(f"{theory.name}.{slot}", function, *args)
    if not isinstance(arrays, dict):
        _refuse(
            theory, slot, f" returns {_described(arrays)}, expected a dictionary {{name: array}}"
        )
    for name, array in arrays.items():
        if fault := name_fault(name):  # a variable of the dataset has this name
            _refuse(theory, slot, f": {fault}")
        if ":" in name and slot != "predict" and not name.startswith(WEIGHTS):
            why = f": {name!r}: must not contain ':', which divides the name of a prediction"
            _refuse(theory, slot, why)
        if not hasattr(array, "shape"):
            _refuse(theory, slot, f"[{name!r}] returns {_described(array)}, expected an array")
    return dict(arrays)


def _check_outputs(
    theory: Theory, config: Config, problem: Any, params: Any, methods: Collection[str]
) -> None:
    """Raise InputError if the outputs of a theory do not fit together by name or shape.

    These are metrics, analyses, baselines, predictions, assumptions, dims and coords.
    """
    metrics = _arrays_by_name(theory, "metrics", theory.metrics, params, problem, config)
    analyses = _arrays_by_name(theory, "analyses", theory.analyses, params, problem, config)
    outputs = {**metrics, **analyses}
    axis_names = {*_AXES, *fields(type(config))}
    observed = {
        name for name, _ in getattr(theory.metrics, "observe", ())
    }  # checked by the request
    for slot, arrays in (("metrics", metrics), ("analyses", analyses)):
        for name in arrays:
            if slot == "analyses" and name in metrics:
                _refuse(theory, slot, f": {name!r} is the name of a metric; choose another")
            if name in axis_names - observed:
                why = f": {name!r} is the name of a field or an axis; choose another"
                _refuse(theory, slot, why)
            if name in methods:
                _refuse(theory, slot, f": {name!r} is a method of datasets; choose another")
    shapes: _Shapes = {name: array.shape for name, array in outputs.items()}
    baselines = _arrays_by_name(theory, "baselines", theory.baselines, problem, config)
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
    _check_predictions(theory, config, problem, {name: shapes[name] for name in metrics})
    _check_assumptions(theory, config, problem)
    _check_labels(theory, config, shapes, axis_names)


def _refuse(theory: Theory, slot: str, why: str) -> NoReturn:
    """Raise InputError about a slot."""
    value = getattr(theory, slot)
    where = code_line(value) or code_line(theory.metrics).partition(",")[0] + ")"
    raise InputError(f"{theory.name}.{slot}{why}{where}")


def _require_known(theory: Theory, slot: str, name: str, names: Mapping[str, Any]) -> bool:
    """Raise InputError if a name is not that of a metric or an analysis.

    Return False instead if the name comes from a theory of this package whose metrics a user has
    replaced by fewer.
    """
    if name in names:
        return True
    if (
        slot != "baselines"
        and _is_ours(theory.Config)
        and (slot == "dims" or _is_ours(theory.predict))
    ):
        return False
    hint = suggest(str(name), names) if names else "there are no metrics"
    _refuse(theory, slot, f": no metric is called {name!r}; {hint}")


def _check_predictions(theory: Theory, config: Config, problem: Any, metrics: _Shapes) -> None:
    """Raise InputError if predictions are not those of metrics, or not one for each step."""
    steps = np.arange(_RECORDS, dtype=np.int32)
    at_steps = lambda problem, config: theory.predict(problem, config, steps)
    curves = _arrays_by_name(theory, "predict", at_steps, problem, config)
    titles = [f"predicted_{name.removesuffix(':').replace(':', '_', 1)}" for name in curves]
    for name, title in zip(curves, titles, strict=True):
        if title in metrics or titles.count(title) > 1:
            why = f": {name!r}: two variables of the dataset would be named {title!r}"
            _refuse(theory, "predict", f"{why}; choose another label")
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
                f"[{name!r}] has shape {array.shape[1:]} at each step, but the metric has shape "
                f"{metrics[metric]}",
            )


def _check_assumptions(theory: Theory, config: Config, problem: Any) -> None:
    """Raise InputError if an assumption is not a pair of numbers."""
    pairs = _shapes_of(f"{theory.name}.assumptions", theory.assumptions, problem, config)
    if not isinstance(pairs, dict):
        why = f" returns {_described(pairs)}, expected {{name: (holds, margin)}}"
        _refuse(theory, "assumptions", why)
    for name, pair in pairs.items():
        if not isinstance(pair, tuple) or [getattr(x, "shape", None) for x in pair] != [(), ()]:
            _refuse(
                theory,
                "assumptions",
                f"[{name!r}] returns {_described(pair)}, expected (holds, margin)",
            )


def _check_labels(theory: Theory, config: Config, shapes: _Shapes, axis_names: set[str]) -> None:
    """Raise InputError if `dims` or `coords` do not fit the axes of metrics and analyses."""
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
                _refuse(theory, "dims", f"[{name!r}]: {dim!r} occurs twice; names must differ")
            if dim in axis_names or dim in shapes:
                why = f"{dim!r} is the name of a field, an axis or an array; choose another"
                _refuse(theory, "dims", f"[{name!r}]: {why}")
        for dim, length in zip(dims, shapes[name], strict=True):
            if lengths.setdefault(dim, length) != length:
                _refuse(
                    theory,
                    "dims",
                    f"[{name!r}]: {dim!r} has length {length}, but {lengths[dim]} in another array",
                )
    dimensions = {**lengths, **dict(_unnamed(theory, shapes))}
    labels = tried(f"{theory.name}.coords", theory.coords, config)
    if not isinstance(labels, dict):
        _refuse(
            theory, "coords", f" returns a {type(labels).__name__}, expected {{dimension: labels}}"
        )
    for dim, coordinates in labels.items():
        if dim not in dimensions and _is_ours(theory.coords):
            continue
        if dim not in dimensions:
            hint = suggest(str(dim), dimensions) if dimensions else "there are no dimensions"
            _refuse(theory, "coords", f": no dimension is called {dim!r}; {hint}")
        if isinstance(coordinates, str) or np.ndim(coordinates) != 1:
            _refuse(
                theory, "coords", f"[{dim!r}] is a {type(coordinates).__name__}, expected labels"
            )
        for value in np.asarray(coordinates).tolist():
            if isinstance(value, str) and value and (fault := label_fault(value)):
                _refuse(theory, "coords", f"[{dim!r}]: {fault}")


def _unnamed(theory: Theory, shapes: _Shapes) -> Iterator[tuple[str, int]]:
    """Yield the dimensions of arrays that `dims` does not name, with their lengths."""
    for name, shape in shapes.items():
        if name not in theory.dims:
            yield from ((f"{name}_{i}", length) for i, length in enumerate(shape))
