"""Random numbers of a theory that are the same for all seeds, because they ignore the key.

The programs show draws from keys that do not depend on the key of the run. The code shows
generators of NumPy and Python with a fixed seed, whose numbers a program holds as constants.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from jaxtheory.code import constant_draws, externals
from jaxtheory.code.code_hash import functions
from jaxtheory.code.constant_draws import CONSTANT, OF_RUN, Followed
from jaxtheory.code.names import uses
from jaxtheory.core.config import Config, canonical
from jaxtheory.core.theory import Theory
from jaxtheory.engine.request.settings import numerics
from jaxtheory.ops.draws import run_key
from jaxtheory.texts.errors import code_line, tried
from jaxtheory.verification.purity import SEEDED, own

TITLE = "constant keys"
HINT = "draw from `key`, or from jaxtheory.draws.fixed_key(0) what is meant to be equal"


class ConstantDraw(NamedTuple):
    """A slot that draws the same numbers for all seeds, and why."""

    slot: str
    why: str


def find_constant_draws(theory: Theory) -> list[ConstantDraw]:
    """List the slots that train and draw numbers that do not depend on the key of the run."""
    draws = [*_seeded(theory)]
    for example in theory.examples:
        with numerics("float64") as dtype:
            draws += _drawn(theory, canonical(example, dtype))
    return list(dict.fromkeys(draws))


def _drawn(theory: Theory, config: Config) -> Iterator[ConstantDraw]:
    """Yield the draws from constant keys in the programs of an example."""
    key = constant_draws.attach_origins(run_key(0, 0), OF_RUN)
    step, at = (constant_draws.attach_origins(x, CONSTANT) for x in (np.int32(0), config))
    news: list[ConstantDraw] = []

    def follow(slot: str, function: Callable, *args: Followed) -> Followed:
        """Follow a slot, and note the draws that its arguments do not have already."""
        out = tried(f"{theory.name}.{slot}", constant_draws.follow, function, *args, at)
        old = frozenset().union(*(arg.draws for arg in args))
        for line in sorted(out.draws - old):
            why = f"draws from a key that is not that of the run{line}"
            news.append(ConstantDraw(slot, why))
        return out

    problem = follow("problem", theory.problem, key)
    batch = follow("sample", theory.sample, key, problem)
    params = follow("init", theory.init, key, problem)
    follow("loss", theory.loss, params, batch, problem)
    follow("gradient", theory.gradient, params, batch, problem)
    for label, algorithm in theory.algorithms.items():
        part = f"algorithm {label}."
        drawn = batch
        if algorithm.sample is not None:
            drawn = follow(part + "sample", algorithm.sample, key, problem)
        state = follow(part + "init", algorithm.init, key, problem)
        new = follow(part + "step", algorithm.step, key, step, state, drawn, problem)
        if new.origins != state.origins:  # the second step starts from what the first one leaves
            follow(part + "step", algorithm.step, key, step, new, drawn, problem)
    yield from news


def _seeded(theory: Theory) -> Iterator[ConstantDraw]:
    """Yield the generators with a fixed seed in the code of the slots that train."""
    parts: dict[str, Any] = {
        slot: getattr(theory, slot) for slot in ("problem", "sample", "init", "loss", "gradient")
    }
    for label, algorithm in theory.algorithms.items():
        of_algorithm = {f"algorithm {label}.{n}": f for n, f in algorithm._asdict().items() if f}
        parts |= {slot: f for slot, f in of_algorithm.items() if not slot.endswith(".params")}
    for slot, part in parts.items():
        for function in own(functions(part)):
            for use in uses(function.__code__):
                at = externals.binding(function, use) if use.act == "read" else None
                home = getattr(getattr(at, "value", None), "__module__", None)
                name = getattr(getattr(at, "value", None), "__name__", None)
                if name in SEEDED.get(str(home), ()):
                    why = f"{home}.{name} has a fixed seed{code_line(function)}"
                    yield ConstantDraw(slot, why)
