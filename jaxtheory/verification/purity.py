"""Hidden state in a theory's functions: values beyond their arguments that may change.

`jit` keeps the value that was read at trace time, so a sweep would silently use a stale one. Two
methods find such reads. The code shows names that functions of the same module rebind or change,
random generators, iterators and clocks. The programs show functions of which two traces differ.
"""

import collections
import datetime
import dis
import inspect
import random
import types
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence, MutableSet
from typing import Any, NamedTuple

import numpy as np

from jaxtheory.code import externals
from jaxtheory.code.code_hash import LIBRARIES, functions
from jaxtheory.code.names import uses
from jaxtheory.core.config import Config, canonical
from jaxtheory.core.theory import Theory
from jaxtheory.engine.request.dependence import traced
from jaxtheory.engine.request.settings import numerics
from jaxtheory.ops.draws import run_key
from jaxtheory.texts.errors import tried

TITLE = "reads beyond the config"
HINT = "make it a field of Config or a part of Problem"
SEEDED = {  # module -> the generators in it, which a seed makes constants
    "random": {"Random"},
    "numpy.random": {"default_rng", "Generator", "RandomState", "SeedSequence"}
    | {"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"},
}
_IMPURE = {  # module -> the names in it that may be used
    **SEEDED,
    "time": {"sleep", "struct_time"},
    "secrets": set[str](),
    "uuid": {"UUID"},
}
_NOW = {"now", "today", "utcnow"}  # of datetime's classes
_STATEFUL = (np.random.Generator, np.random.RandomState, random.Random, Iterator)
_MUTABLE = (MutableMapping, MutableSequence, MutableSet, collections.deque, np.ndarray)


class HiddenRead(NamedTuple):
    """A name that some slots read beyond the config, and the reason why it may change."""

    name: str
    slots: tuple[str, ...]
    why: str


def _reads(theory: Theory) -> list[HiddenRead]:
    """List what the code of a theory's functions reads and what may change."""
    reached = {slot: own(functions(part)) for slot, part in externals.functions_of(theory).items()}
    everything = list({id(f): f for of_slot in reached.values() for f in of_slot}.values())
    homes = {id(f.__globals__): f.__globals__ for f in everything}
    writers = everything + [f for home in homes.values() for f in _functions_in(home)]
    changed = {key: why for function in writers for key, why in _changes(function)}
    slots_of: dict[tuple[str, str], list[str]] = {}
    for slot, of_slot in reached.items():
        for name, why in dict.fromkeys(x for f in of_slot for x in _impurities(f, changed)):
            slots_of.setdefault((name, why), []).append(slot)
    return [HiddenRead(name, tuple(slots), why) for (name, why), slots in slots_of.items()]


def own(reached: list[types.FunctionType]) -> list[types.FunctionType]:
    """Leave out functions of libraries and of installed packages other than the first one's."""
    mine = [f for f in reached if externals.package_of(f) not in LIBRARIES]
    return externals.without_packages(mine, externals.package_of(mine[0])) if mine else []


def _functions_in(home: Mapping[str, Any]) -> Iterator[types.FunctionType]:
    """Yield the functions and methods that a module defines."""
    for value in list(home.values()):
        for part in list(vars(value).values()) if isinstance(value, type) else [value]:
            function = inspect.unwrap(part) if callable(part) else part
            if isinstance(function, types.FunctionType) and function.__globals__ is home:
                yield function


def _changes(function: types.FunctionType) -> Iterator[tuple[tuple[int, str], str]]:
    """Yield ((home, name), why) of each name that a function rebinds or changes."""
    by = function.__qualname__.replace(".<locals>", "")
    for use in uses(function.__code__):
        if use.act == "read" or (at := externals.binding(function, use)) is None:
            continue
        if use.act == "rebind" or isinstance(function.__globals__.get(use.name), types.ModuleType):
            yield (at.home, at.name), f"{by} rebinds it"
        elif use.act == "change" or isinstance(at.value, _MUTABLE):
            yield (at.home, at.name), f"{by} changes it, a {type(at.value).__name__}"


def _impurities(
    function: types.FunctionType, changed: Mapping[tuple[int, str], str]
) -> Iterator[tuple[str, str]]:
    """Yield (name, why) of each value that a function reads and that may change."""
    code = [function.__code__, *filter(inspect.iscode, function.__code__.co_consts)]
    for step in (step for c in code for step in dis.get_instructions(c)):
        if step.opname == "IMPORT_NAME" and step.argval in _IMPURE:
            yield str(step.argval), "differs from call to call"
    for read in externals.reads(function):
        if read.what != externals.CLOCK:  # these are found below
            yield read.name, f"reads {read.what}"
    for use in uses(function.__code__):
        if use.act != "read" or (at := externals.binding(function, use)) is None:
            continue
        if (library := _changing(at)) is not None:
            yield library, "differs from call to call"
        elif isinstance(at.value, _STATEFUL):
            yield at.path, f"a {type(at.value).__name__}, which each use changes"
        elif (at.home, at.name) in changed:
            yield at.path, changed[at.home, at.name]


def _changing(at: externals.Binding) -> str | None:
    """Return the name of a library function whose result differs at each call, else None."""
    module, owner = getattr(at.value, "__module__", None), getattr(at.value, "__self__", None)
    name = getattr(at.value, "__name__", at.name)
    if isinstance(owner, random.Random | np.random.RandomState):
        return f"{'random' if isinstance(owner, random.Random) else 'numpy.random'}.{name}"
    if inspect.ismodule(at.value):
        return name if name in _IMPURE and not at.chain else None
    if isinstance(at.value, type) and issubclass(at.value, datetime.date):
        return f"datetime.{name}.{at.chain[0]}" if _NOW & {*at.chain[:1]} else None
    return f"{module}.{name}" if module in _IMPURE and name not in _IMPURE[module] else None


def _unlike(theory: Theory, example: Config) -> list[str]:
    """List the slots of which two traces on an example differ."""
    unlike = []
    with numerics("float64") as dtype:
        key, config = run_key(0, 0), canonical(example, dtype)

        def twice(slot: str, function: Callable, *args: Any) -> Any:
            name = f"{theory.name}.{slot}"
            (trace, shape), (repeat, _) = (tried(name, traced, function, args) for _ in range(2))
            if trace != repeat:
                unlike.append(slot)
            return shape

        problem = twice("problem", theory.problem, key, config)
        batch = twice("sample", theory.sample, key, problem, config)
        params = twice("init", theory.init, key, problem, config)
        twice("loss", theory.loss, params, batch, problem, config)
        twice("gradient", theory.gradient, params, batch, problem, config)
        for label, algorithm in theory.algorithms.items():
            part = f"algorithm {label}."
            drawn = batch
            if algorithm.sample is not None:
                drawn = twice(part + "sample", algorithm.sample, key, problem, config)
            state = twice(part + "init", algorithm.init, key, problem, config)
            t = np.int32(0)
            twice(part + "step", algorithm.step, key, t, state, drawn, problem, config)
            twice(part + "params", algorithm.params, state, problem, config)
        twice("metrics", theory.metrics, params, problem, config)
        twice("analyses", theory.analyses, params, problem, config)
        twice("baselines", theory.baselines, problem, config)
        steps = np.arange(3)
        twice("predict", lambda p, c: theory.predict(p, c, steps), problem, config)
        twice("assumptions", theory.assumptions, problem, config)
    return unlike


def find_hidden_reads(theory: Theory) -> list[HiddenRead]:
    """List what a theory's functions read beyond the config, as far as it can be detected."""
    reads = _reads(theory)
    slots = {slot for read in reads for slot in read.slots}
    for example in theory.examples:
        for slot in _unlike(theory, example):
            if slot not in slots:
                slots.add(slot)
                reads.append(HiddenRead(slot, (slot,), "two traces of it differ"))
    return reads
