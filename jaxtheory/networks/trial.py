"""The trial of a network when a theory is made of it: abstract calls on its first example."""

import builtins
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from jaxtheory.core.code_hash import functions
from jaxtheory.core.config import Config, canonical, fields
from jaxtheory.core.errors import InputError, tried
from jaxtheory.core.names import uses
from jaxtheory.core.theory import Theory
from jaxtheory.core.validation import validate

_FILES = {"open", "input", "print"}  # built-in functions that read or write
_CALLBACKS = {"pure_callback", "io_callback", "debug_callback", "debug_print", "outside_call"}


def require_network(theory: Theory, module: Callable, example: Config) -> None:
    """Raise InputError if a network fails on an example, or is not a function of its arguments."""
    _require_no_files(theory.name, module)
    validate(example)
    config = canonical(example, jax.numpy.result_type(float))
    try:
        callbacks = _callbacks(theory, config)
        first, second = _traced(theory, config), _traced(theory, config)
    except InputError as error:
        if field := _needed(theory, config):
            kind = fields(type(config))[field]
            value = np.asarray(getattr(config, field)).item()
            raise InputError(
                f"{theory.name}: {field} ({kind.symbol}) = {value} is a traced field, but the "
                "module uses it as a Python number, such as a shape; declare it as a size or a "
                "static field"
            ) from error
        raise
    if callbacks:
        raise InputError(
            f"{theory.name}: the module calls back into Python ({callbacks[0]}), but a network "
            "must be a function of its variables, its inputs and the config without input and "
            "output"
        )
    if str(first) != str(second) or not all(map(_equal, first.consts, second.consts)):
        raise InputError(
            f"{theory.name}: two traces of the module differ, but a network must be a function of "
            "its variables, its inputs and the config alone; it may read a clock, a file or a "
            "random generator"
        )


def _callbacks(theory: Theory, config: Any) -> list[str]:
    """Return the operations of the loss that call back into Python."""

    def loss(key: Any, config: Any) -> Any:
        problem = theory.problem(key, config)
        batch, params = theory.sample(key, problem, config), theory.init(key, problem, config)
        return theory.loss(params, batch, problem, config)

    program = jax.make_jaxpr(loss)(jax.random.key(0), config)
    return [step for step in _steps(program.jaxpr) if step in _CALLBACKS]


def metrics(theory: Theory, example: Config) -> set[str]:
    """Return the names of the metrics of a theory on an example."""

    def found(key: Any, config: Any) -> Any:
        problem = theory.problem(key, config)
        return theory.metrics(theory.init(key, problem, config), problem, config)

    config = canonical(example, jax.numpy.result_type(float))
    return set(tried(f"{theory.name}.metrics", jax.eval_shape, found, jax.random.key(0), config))


def _require_no_files(name: str, module: Callable) -> None:
    """Raise InputError if the code of a module names a built-in function that reads or writes."""
    for function in functions(module):
        if str(function.__globals__.get("__name__")).startswith("jaxtheory."):
            continue
        for use in uses(function.__code__):
            free = use.name in function.__code__.co_freevars or use.name in function.__globals__
            if use.name in _FILES and not free and hasattr(builtins, use.name):
                raise InputError(
                    f"{name}: {function.__qualname__} calls {use.name}(), but a network must be a "
                    "function of its variables, its inputs and the config without input and output"
                )


def _traced(theory: Theory, config: Any) -> Any:
    """Return the program of the first loss and the first step of an algorithm."""
    algorithm = next(iter(theory.algorithms.values()))

    def program(key: Any, config: Any) -> Any:
        problem = theory.problem(key, config)
        batch = theory.sample(key, problem, config)
        state = algorithm.init(key, problem, config)
        value = theory.loss(state.params, batch, problem, config)
        return value, algorithm.step(key, np.int32(0), state, batch, problem, config)

    return jax.make_jaxpr(program)(jax.random.key(0), config)


def _needed(theory: Theory, config: Any) -> str | None:
    """Return the traced field without which the program cannot be traced, if there is one."""
    for name, field in fields(type(config)).items():
        if field.kind not in ("traced", "evaluation"):
            continue
        value = np.asarray(getattr(config, name)).item()
        for number in (value, int(value)):
            fixed = lambda given, name=name, number=number: given.replace(**{name: number})
            with contextlib.suppress(InputError):
                _traced(_at(theory, fixed), config)
                return name
    return None


def _at(theory: Theory, fixed: Callable) -> Theory:
    """Return a theory whose functions see fixed(config)."""

    def seen(function: Callable) -> Callable:
        return lambda *args: function(*args[:-1], fixed(args[-1]))

    algorithms = {
        label: each._replace(init=seen(each.init), step=seen(each.step))
        for label, each in list(theory.algorithms.items())[:1]
    }
    slots = {slot: seen(getattr(theory, slot)) for slot in ("problem", "sample", "loss")}
    return theory._replace(algorithms=algorithms, **slots)


def _steps(program: Any) -> Iterator[str]:
    """Yield the names of the operations of a program and of the programs inside it."""
    for step in program.eqns:
        yield step.primitive.name
        for value in step.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from _steps(inner)


def _equal(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    return one.shape == other.shape and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
