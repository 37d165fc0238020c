"""The config fields on which the slots of a theory depend, from their traced programs.

A number counts as read if it enters a result, even if it does not change it. A size or a static
field counts as read if another value of it changes the program.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from jaxtheory.core.config import Config, Size, canonical, fields, leaf_names
from jaxtheory.core.theory import Theory
from jaxtheory.core.validation import validate
from jaxtheory.engine.request.jaxprs import called
from jaxtheory.ops.draws import run_key
from jaxtheory.texts.errors import InputError


class Slot(NamedTuple):
    """A slot of a theory as a program of (config, *arguments), with the shapes of its results."""

    name: str
    program: Any
    shape: Any


def unread(
    theory: Theory,
    config: Config,
    names: Iterable[str],
    algorithms: Sequence[str],
    among: Callable[[str], bool] = lambda slot: True,
) -> list[str]:
    """Return the named fields on which no result of a theory depends at a config.

    A size or a static field of which no other valid value is known counts as read.

    Args:
        theory: The theory.
        config: The config at which its slots are traced.
        names: The fields.
        algorithms: The algorithms to trace, each as a whole: its state, a step, the parameters.
        among: True for the slots that count, by name, as in "loss" or "algorithm sgd".
    """
    at = _arrays(config)
    slots = list(_slots(theory, at, algorithms, among))
    read = {name for slot in slots for name in _read_numbers(slot, at)}
    candidates = [name for name in names if name not in read]
    fingerprint = functools.cache(lambda i: _fingerprint(slots[i].program))

    def changes(name: str, variant: Config) -> bool:
        """True if labels, or a program with another size or static value, differ or fail."""
        arrays = _arrays(variant)
        try:
            if among("coords") and str(theory.coords(config)) != str(theory.coords(variant)):
                return True
            if name in leaf_names(at):
                return False
            changed = enumerate(_slots(theory, arrays, algorithms, among))
            return any(_fingerprint(slot.program) != fingerprint(i) for i, slot in changed)
        except Exception:  # a function of the user fails there
            return True

    near = {name: neighbors(config, name) for name in candidates}
    return [
        name
        for name in candidates
        if (near[name] or name in leaf_names(at))
        and not any(changes(name, neighbor) for neighbor in near[name])
    ]


def _arrays(config: Config) -> Config:
    """Return a config whose numbers are arrays of JAX, as in a program."""
    at: Config = jax.tree.map(jnp.asarray, canonical(config, jnp.result_type(float)))
    return at


def trains(slot: str) -> bool:
    """True for the slots that decide trained parameters."""
    return slot == "problem" or slot.startswith("algorithm ")


def _slots(
    theory: Theory, config: Config, algorithms: Sequence[str], among: Callable[[str], bool]
) -> Iterator[Slot]:
    """Yield those slots of a theory at a config whose names are among the wanted ones."""
    key, steps = run_key(0, 0), np.arange(3)

    def slot(name: str, function: Callable, *args: Any) -> Slot:
        return Slot(name, *jax.make_jaxpr(function, return_shape=True)(config, *args))

    def trained(label: str) -> Callable:
        """All of an algorithm: its first state, a step from there, and the parameters."""
        algorithm = theory.algorithms[label]

        def run(c: Any, key: Any, t: Any, problem: Any) -> Any:
            batch = (algorithm.sample or theory.sample)(key, problem, c)
            state = algorithm.init(key, problem, c)
            new = algorithm.step(key, t, state, batch, problem, c)
            return state, new, algorithm.params(new, problem, c)

        return run

    draw = lambda c, key: theory.problem(key, c)
    sample = lambda c, key, problem: theory.sample(key, problem, c)
    init = lambda c, key, problem: theory.init(key, problem, c)
    problem = slot("problem", draw, key)
    sampled = slot("sample", sample, key, problem.shape)
    start = slot("init", init, key, problem.shape)
    runs = [
        slot(f"algorithm {label}", trained(label), key, np.int32(0), problem.shape)
        for label in algorithms
    ]
    yield from (
        candidate for candidate in (problem, sampled, start, *runs) if among(candidate.name)
    )
    further = {
        "loss": (start.shape, sampled.shape, problem.shape),
        "gradient": (start.shape, sampled.shape, problem.shape),
        "metrics": (runs[0].shape[2], problem.shape),
        "analyses": (runs[0].shape[2], problem.shape),
        "baselines": (problem.shape,),
        "assumptions": (problem.shape,),
    }
    for name, args in further.items():
        if among(name):
            function = getattr(theory, name)
            yield slot(name, lambda c, *args, f=function: f(*args, c), *args)
    if among("predict"):
        predict = lambda c, problem: theory.predict(problem, c, steps)
        yield slot("predict", predict, problem.shape)


def _read_numbers(slot: Slot, config: Config) -> set[str]:
    """Return the leaves of a config that enter the results of a slot."""
    program, leaves = slot.program.jaxpr, leaf_names(config)
    entering = _entering(program, [True] * len(program.outvars))
    return {name for name, enters in zip(leaves, entering, strict=False) if enters}


def _entering(program: Any, wanted: Sequence[bool]) -> list[bool]:
    """Return which arguments of a jaxpr enter the results that are wanted."""
    live = {v for v, w in zip(program.outvars, wanted, strict=True) if w and _is_variable(v)}
    for eqn in reversed(program.eqns):
        liveness = [v in live for v in eqn.outvars]
        if any(liveness) or eqn.effects:
            entering = zip(eqn.invars, _entering_equation(eqn, liveness), strict=True)
            live.update(v for v, enters in entering if enters and _is_variable(v))
    return [v in live for v in program.invars]


def _is_variable(x: Any) -> bool:
    return not isinstance(x, Literal)


def _entering_equation(eqn: Any, wanted: list[bool]) -> list[bool]:
    """Return which operands of an equation enter the results that are wanted.

    All of them, unless the equation calls programs whose arguments are known.
    """
    inner, count = called(eqn), len(eqn.invars)
    if eqn.primitive.name == "scan":
        consts, carried = eqn.params["num_consts"], eqn.params["num_carry"]
        loop = lambda carry: _entering(inner[0], [*carry, *wanted[carried:]])
        return _until_same(loop, wanted[:carried], slice(consts, consts + carried))
    if eqn.primitive.name == "while":
        condition, body = eqn.params["cond_jaxpr"].jaxpr, eqn.params["body_jaxpr"].jaxpr
        before, consts = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        ends = _entering(condition, [True])
        start = [a or b for a, b in zip(wanted, ends[before:], strict=True)]
        loop = lambda carry: _entering(body, carry)
        return ends[:before] + _until_same(loop, start, slice(consts, None))
    if eqn.primitive.name == "cond":
        branches = [_entering(branch, wanted) for branch in inner]
        return [True, *map(any, zip(*branches, strict=True))]
    if len(inner) == 1 and len(inner[0].invars) == count and len(inner[0].outvars) == len(wanted):
        return _entering(inner[0], wanted)
    return [True] * count


def _until_same(loop: Callable, carry: list[bool], place: slice) -> list[bool]:
    """Return which operands of a loop enter, where those that it carries make others enter."""
    while True:
        entering = list(loop(carry))
        more = [a or b for a, b in zip(carry, entering[place], strict=True)]
        if more == carry:
            entering[place] = carry
            return entering
        carry = more


def neighbors(config: Config, name: str) -> list[Config]:
    """Return configs that differ in the value of one field, as far as they are valid."""
    value, field = getattr(config, name), fields(type(config))[name]
    if field.kind == "static" and field.valid:
        values = [choice for choice in field.valid if choice != value]
    elif isinstance(value, bool):
        values = [not value]
    elif isinstance(value, Size):
        values = [value.cap + 1, value.cap - 1]
    elif isinstance(value, int):
        values = [value + 1, value - 1]
    else:
        values = [2 * value, value / 2, value + 1] if field.kind != "static" else []
    valid = []
    for candidate in values:
        try:
            validate(new := config.replace(**{name: candidate}))
        except InputError:
            continue
        valid.append(new)
    return valid


def traced(function: Callable, args: tuple) -> tuple[list, Any]:
    """Return (the text and the constants of a program, the shapes of its results)."""
    fresh = lambda *args: function(*args)  # JAX caches the trace of a function object
    closed, shape = jax.make_jaxpr(fresh, return_shape=True)(*args)
    return _fingerprint(closed), shape


def _fingerprint(program: Any) -> list:
    """Return the text and the constants of a program."""
    text = re.sub(r" at 0x[0-9a-f]+", "", str(program))
    return [text, *map(_raw, _constants(program))]


def _constants(program: Any) -> Iterator[Any]:
    """Yield the constant arrays of a program and of the programs inside it."""
    yield from getattr(program, "consts", ())
    for step in getattr(program, "eqns", ()):
        yield from (x.val for x in step.invars if hasattr(x, "val"))
        for value in step.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                yield from _constants(inner)


def _raw(value: Any) -> bytes:
    """Return the bytes of an array, or of the data of a PRNG key."""
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    return np.asarray(value).tobytes()
