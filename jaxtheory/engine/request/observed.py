"""Observables and weights of a sweep: a theory whose metrics and analyses also return them."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
import xarray as xr

from jaxtheory.code import constant_draws
from jaxtheory.core.config import Config, fields
from jaxtheory.core.contract import same_structure
from jaxtheory.core.extended import (
    WEIGHTS,
    Extended,
    evaluate,
    named_weights,
    weight_dims,
    without_additions,
)
from jaxtheory.core.theory import Theory
from jaxtheory.engine.request.jaxprs import draws_numbers
from jaxtheory.texts.errors import InputError, brief, require_arguments, suggest, tried
from jaxtheory.texts.labels import name_fault

_TAKEN = (
    "seed",
    "step",
    "steps",
    "algorithm",
    "diverged_at",
    "stopped_at",
)  # names that every dataset has
# with a metric of such a name, data.mean would silently be something else
METHODS = frozenset(dir(xr.Dataset))
_steady: set[Any] = set()  # theories that passed `require_own_draws` in this process


def with_observables(
    theory: Theory,
    config: Config,
    algorithms: tuple[str, ...],
    axes: set[str],
    observe: Any,
    dims: Any,
    save_params: Any,
) -> Theory:
    """Return a theory that also returns observables and weights.

    Args:
        theory: The theory of the sweep.
        config: A canonical config, at which shapes are determined.
        algorithms: The algorithms of the sweep.
        axes: The names of its axes and of the fields on them.
        observe: Functions of (params, problem, config) by name, or None.
        dims: The names of the dimensions of observables, or None.
        save_params: False, True for analyses params_NAME, or steps for metrics params_NAME.

    Raises:
        InputError: An observable is not a function, fails, draws random numbers, does not return an
            array or the same array twice, or a name is taken.
    """
    if isinstance(save_params, np.ndarray | list | tuple | int) and save_params is not True:
        at_steps = save_params is not False
    elif isinstance(save_params, bool | None):
        at_steps = False
    else:
        raise InputError(
            f"save_params = {brief(save_params)}: must be True for the weights at the end, a step "
            "interval, or a list of steps"
        )
    if observe is None and dims is not None:
        raise InputError("dims: names the dimensions of observables; pass observe={name: function}")
    if observe is None and not at_steps and not save_params:
        return theory
    arguments = {name: parameter_shapes(theory, name, config) for name in algorithms}
    outputs = _outputs(theory, config, *arguments[algorithms[0]])
    observe = {} if observe is None else observe
    own_dims = _checked_dims({} if dims is None else dims, observe, axes)
    if isinstance(observe, Mapping):
        observe = {name: _of_theory(function, theory) for name, function in observe.items()}
    functions = _checked(theory, config, axes, arguments, observe, own_dims, outputs)
    named = {**theory.dims, **own_dims}
    metrics = Extended(theory.metrics, tuple(functions.items()), weights=at_steps)
    analyses: Callable = theory.analyses
    if at_steps or save_params:
        if not at_steps:
            analyses = Extended(theory.analyses, weights=True)
        used = {dim for names in named.values() for dim in names}
        named |= _weight_dims(
            theory, arguments, {*outputs, *functions, *fields(type(config))}, used
        )
    return theory._replace(metrics=metrics, analyses=analyses, dims=named)


def _of_theory(function: Any, theory: Theory) -> Any:
    """Return an observable, for a theory if it depends on the theory."""
    return function.of_theory(theory) if hasattr(function, "of_theory") else function


def weight_names(theory: Theory, algorithm: str, config: Config) -> list[str]:
    """Return the names of the weights of an algorithm in a dataset."""
    return list(named_weights(parameter_shapes(theory, algorithm, config)[0]))


def parameter_shapes(theory: Theory, name: str, config: Config) -> tuple[Any, Any]:
    """Return the shapes of the parameters of an algorithm and of the problem."""
    algorithm = theory.algorithms[name]

    def initialize(key: Any, config: Config) -> Any:
        problem = theory.problem(key, config)
        return algorithm.params(algorithm.init(key, problem, config), problem, config), problem

    shapes: tuple[Any, Any] = jax.eval_shape(
        initialize, jax.random.key(0, impl="threefry2x32"), config
    )
    return shapes


def _outputs(theory: Theory, config: Config, params: Any, problem: Any) -> dict[str, Any]:
    """Shapes of the metrics and analyses of a theory."""
    evaluate = lambda *args: {**theory.metrics(*args), **theory.analyses(*args)}
    return dict(jax.eval_shape(evaluate, params, problem, config))


def _checked(
    theory: Theory,
    config: Config,
    axes: set[str],
    arguments: dict[str, Any],
    observe: Any,
    dims: Mapping[str, tuple[str, ...]],
    outputs: dict[str, Any],
) -> dict[str, Callable]:
    """Functions of observables, after a trial with the shapes of each algorithm's parameters."""
    if not isinstance(observe, Mapping) or not all(map(callable, observe.values())):
        raise InputError(
            f"observe = {brief(observe)}: must be a dictionary {{name: function}} of functions of "
            "params, problem and config"
        )
    for name, function in observe.items():
        if fault := name_fault(name):
            raise InputError(f"observe: {fault}")
        if ":" in name:  # it divides the name of a prediction
            raise InputError(f"observe: {brief(name)}: must not contain ':'")
        if name in outputs or name.startswith((WEIGHTS, "predicted_")):
            raise InputError(
                f"observe: {name!r} is the name of a metric, an analysis, a prediction or the "
                f"weights of {theory.name}; choose another"
            )
        own = {f"{n}_{i}" for n, array in outputs.items() for i in range(len(array.shape))}
        if name in own | {dim for names in theory.dims.values() for dim in names}:
            raise InputError(f"observe: {name!r} is the name of a dimension; choose another")
        if name in {*_TAKEN, *axes}:
            raise InputError(f"observe: {name!r} is the name of an axis; choose another")
        if name in METHODS:
            raise InputError(f"observe: {name!r} is a method of datasets; choose another")
        for params, problem in arguments.values():
            _try(name, function, dims.get(name), params, problem, config)
    return dict(observe)


def _try(
    name: str, function: Callable, dims: Any, params: Any, problem: Any, config: Config
) -> None:
    """Raise InputError if a function is not an observable."""
    what, keyed = f"observe[{name!r}]", getattr(function, "keyed", False)
    if not keyed:
        called = getattr(function, "__name__", "<lambda>")
        hint = "" if called == "<lambda>" else f"; if {called} returns one, write {called}(...)"
        require_arguments(what, function, "params, problem, config", hint)
    of_run = functools.partial(evaluate, function)
    out = tried(what, jax.eval_shape, of_run, params, problem, config)
    if not hasattr(out, "shape"):
        raise InputError(
            f"{what} returns a {type(out).__name__}, but must return one array; make an observable "
            "of each array"
        )
    if dims is not None and len(dims) != len(out.shape):
        raise InputError(
            f"dims[{name!r}] names {len(dims)} dimensions ({', '.join(dims)}), but the observable "
            f"returns an array of shape {out.shape}"
        )
    first, second = (
        tried(what, jax.make_jaxpr(lambda *args: of_run(*args)), params, problem, config)
        for _ in range(2)  # a new lambda each time, because traces are cached
    )
    if draws_numbers(first.jaxpr) and not keyed:
        raise InputError(
            f"{what} draws random numbers, but must be a function of params, problem and config; "
            "draw in `problem`, or use jaxtheory.observables.on_batch"
        )
    if str(first) != str(second) or not all(map(_equal, first.consts, second.consts)):
        raise InputError(
            f"{what} differs from call to call; it must be a function of params, problem and "
            "config alone"
        )


def _equal(one: Any, two: Any) -> bool:
    one, two = np.asarray(one), np.asarray(two)
    return one.shape == two.shape and np.array_equal(one, two, equal_nan=one.dtype.kind == "f")


def require_own_draws(
    theory: Theory, config: Config, algorithms: tuple[str, ...], code: str
) -> None:
    """Raise InputError where metrics or analyses draw the same random numbers in every run.

    code: the hash under which a theory that passes is remembered.
    """
    if (known := (code, algorithms, jax.tree.structure(config))) in _steady:
        return
    plain = without_additions(theory)
    of_run = lambda tree: constant_draws.attach_origins(tree, constant_draws.OF_RUN)
    for name in algorithms:
        arguments = [of_run(tree) for tree in (*parameter_shapes(plain, name, config), config)]
        for slot in ("metrics", "analyses"):
            if constant_draws.follow(getattr(plain, slot), *arguments).draws:
                raise InputError(
                    f"{theory.name}.{slot} draws random numbers from a key of its own, which are "
                    "the same in every run and at every step; draw in `problem`, or from "
                    "jaxtheory.draws.fixed_key(0) what is meant to be equal"
                )
    _steady.add(known)


def _checked_dims(
    dims: Any, functions: Mapping[str, Any], axes: set[str]
) -> dict[str, tuple[str, ...]]:
    """Names of the dimensions of observables, none of which is that of an axis."""
    if not isinstance(dims, Mapping):
        raise InputError(f"dims = {brief(dims)}: must be a dictionary {{observable: names}}")
    if not isinstance(functions, Mapping):
        return {}  # refused as an argument
    for name, names in dims.items():
        if name not in functions:
            raise InputError(f"dims: unknown observable {name!r}; {suggest(str(name), functions)}")
        if not isinstance(names, tuple | list) or not all(isinstance(dim, str) for dim in names):
            raise InputError(f"dims[{name!r}] = {brief(names)}: must be a tuple of names")
        for dim in names:
            if fault := name_fault(dim):
                raise InputError(f"dims[{name!r}]: {fault}")
            if dim in {*_TAKEN, *axes, *functions}:
                raise InputError(
                    f"dims[{name!r}]: {dim!r} is the name of an axis or an observable; choose "
                    "another"
                )
    return {name: tuple(names) for name, names in dims.items()}


def _weight_dims(
    theory: Theory, arguments: dict[str, Any], other_names: set[str], used: set[str]
) -> dict[str, tuple[str, ...]]:
    """Names of the dimensions of the weights of all algorithms of a sweep.

    A symbol that is taken by another name, or that has another length elsewhere, becomes part of a
    name of its own.
    """
    lengths: dict[str, int] = {}
    chosen: dict[str, tuple[str, ...]] = {}
    trees = [params for params, _ in arguments.values()]
    for params in trees:
        shapes = {name: leaf.shape for name, leaf in named_weights(params).items()}
        for name, symbols in weight_dims(params).items():
            axes = [
                f"{name}_{s}"
                if s in other_names | used | {*shapes, *_TAKEN} or lengths.setdefault(s, n) != n
                else s
                for s, n in zip(symbols, shapes[name], strict=True)
            ]
            if len(before := chosen.setdefault(name, tuple(axes))) != len(axes):
                raise InputError(
                    f"save_params: {name} has {len(axes)} axes in one algorithm and {len(before)} "
                    "in another; sweep the algorithms apart"
                )
            if before != tuple(axes):
                chosen[name] = tuple(f"{name}_{i}" for i in range(len(axes)))
    if len(trees) > 1 and not all(same_structure(trees[0], tree) for tree in trees):
        return {name: tuple(f"{name}_{i}" for i in range(len(a))) for name, a in chosen.items()}
    return chosen
