"""The trial of a network when a theory is made of it: abstract calls on its first example."""

import builtins
import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from jaxtheory.code import constant_draws
from jaxtheory.code.code_hash import functions
from jaxtheory.code.keys import raw
from jaxtheory.code.names import uses
from jaxtheory.core.config import Config, canonical, fields
from jaxtheory.core.theory import Theory
from jaxtheory.core.validation import validate
from jaxtheory.texts.decimals import python_value
from jaxtheory.texts.errors import InputError, tried

MODULE = "module"
_FILES = {"open", "input", "print"}  # built-in functions that read or write
_CALLBACKS = {"pure_callback", "io_callback", "debug_callback", "debug_print", "outside_call"}
_DRAWS = {  # what the module does -> where it draws from a key that is not the run's
    "init": "draws initial values from a key of its own, so that they are the same for all seeds; "
    "draw them from the key that Flax passes to the initializer, or from rngs in NNX",
    "evaluation": "draws random numbers in evaluation, the same ones in every call; draw only in "
    "training, which __call__ is told by train=True, and keep what is drawn once as a variable",
    "training": "draws random numbers from a key of its own, the same ones in every step and for "
    "all seeds; draw from self.make_rng('dropout'), or from rngs.dropout() in NNX",
}
_MEANT = "what is meant to be equal is drawn from jaxtheory.draws.fixed_key(0)"


def require_parts(name: str, parts: Mapping[str, Callable], example: Config) -> None:
    """Raise InputError for a part of a network that is not a function of its arguments.

    parts: functions of (key, config) by the name that messages use. That of the module returns a
    dictionary of what it does in each mode.
    """
    validate(example)
    config = canonical(example, jax.numpy.result_type(float))
    for what, part in parts.items():
        try:
            first, second = (_traced(name, what, part, config) for _ in range(2))
        except InputError as error:
            if (cause := _of_field(name, what, part, config, error)) is not None:
                raise cause from error
            raise
        if callbacks := [step for step in _steps(first.jaxpr) if step in _CALLBACKS]:
            raise InputError(
                f"{name}: the {what} calls back into Python ({callbacks[0]}), but it must be a "
                "function of its arguments without input and output"
            )
        if str(first) != str(second) or not all(map(_equal, first.consts, second.consts)):
            raise InputError(
                f"{name}: two traces of the {what} differ, but it must be a function of its "
                "arguments alone; it may read a clock, a file or a random generator"
            )


def require_keys(name: str, module: Callable, inputs: Any, example: Config) -> None:
    """Raise InputError if a module draws from a key that is not the run's.

    module: a function of (key, inputs, config) as that of `require_parts`, with the inputs beside.
    """
    config = canonical(example, jax.numpy.result_type(float))
    arguments = (
        constant_draws.attach_origins(jax.random.key(0), constant_draws.OF_RUN),
        constant_draws.attach_origins(inputs, constant_draws.OF_RUN),
        constant_draws.attach_origins(config, constant_draws.CONSTANT),
    )
    for act, why in _DRAWS.items():
        of_act = lambda *args, act=act: module(*args)[act]
        for line in sorted(constant_draws.follow(of_act, *arguments).draws):
            raise InputError(f"{name}: the module {why}; {_MEANT}{line}")


def metrics(theory: Theory, example: Config) -> set[str]:
    """Return the names of the metrics of a theory on an example."""

    def evaluate(key: Any, config: Any) -> Any:
        problem = theory.problem(key, config)
        return theory.metrics(theory.init(key, problem, config), problem, config)

    config = canonical(example, jax.numpy.result_type(float))
    return set(tried(f"{theory.name}.metrics", jax.eval_shape, evaluate, jax.random.key(0), config))


def require_no_files(name: str, module: Callable) -> None:
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


def _traced(name: str, what: str, part: Callable, config: Any) -> Any:
    """Return the program of a part."""
    fresh = lambda key, config: part(key, config)  # JAX caches the trace of a function object
    return tried(f"{name}.{what}", jax.make_jaxpr(fresh), jax.random.key(0), config)


def _of_field(
    name: str, what: str, part: Callable, config: Any, error: InputError
) -> InputError | None:
    """Return the error of the module as one about the traced field that causes it, if one does."""
    begin = f"{name}.{what}: "
    if what != MODULE or not str(error).startswith(begin):
        return None
    for field, kind in fields(type(config)).items():
        if kind.kind not in ("traced", "evaluation"):
            continue
        value = python_value(np.asarray(getattr(config, field))[()])
        for number in (value, int(value)):
            at = lambda key, config, n=number, field=field: part(key, config.replace(**{field: n}))
            with contextlib.suppress(InputError):
                _traced(name, what, at, config)
                return InputError(
                    f"{name}: {field} ({kind.symbol}) = {value} is a traced field, but the module "
                    "uses it as a Python number, such as a shape; declare it as a size or a static "
                    f"field; {str(error).removeprefix(begin)}"
                )
    return None


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
    a, b = raw(one), raw(other)
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
