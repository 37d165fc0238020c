"""Results times a factor: whether the checks that name a function notice its wrong versions.

Every function that a check names, times each of FACTORS, as a whole and each float array of its
result for itself. One compilation of a check serves all factors, which are its arguments.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxtheory.core.theory import Check, Theory
from jaxtheory.engine.request import settings
from jaxtheory.engine.request.settings import numerics
from jaxtheory.verification import verify

FACTORS = (-1.0, 0.5, 0.9, 0.97, 1.1, 2.0)
EACH = (-1.0, 0.9, 2.0)  # of one array of several
MOST = 16  # arrays of a result that are scaled one by one; the last factor serves the rest
SEEDS = 2


class Mutant(NamedTuple):
    """A wrong version of a function and the check that noticed it, or None."""

    function: str
    change: str
    killed_by: str | None


def guarded(theory: Theory) -> dict[str, list[Check]]:
    """The checks that name each function."""
    named: dict[str, list[Check]] = {}
    for check in theory.checks:
        named.setdefault(check.name.partition(":")[0], []).append(check)
    return named


def home(theory: Theory, function: str) -> Any:
    """The module in which a function or constant of a theory, of core or of ops, is defined."""
    package = importlib.import_module(f"jaxtheory.theories.{theory.name}")
    names = [
        m.name
        for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if ".checks" not in m.name
    ]
    for folder in ("jaxtheory.core", "jaxtheory.ops"):
        shared = importlib.import_module(folder)
        names += [m.name for m in pkgutil.iter_modules(shared.__path__, f"{folder}.")]
    for name in names:
        module = importlib.import_module(name)
        member = vars(module).get(function)
        if isinstance(member, float) or getattr(member, "__module__", None) == name:
            return module
    raise LookupError(f"{theory.name}: no module defines {function}")


@contextmanager
def replaced(place: Any, function: str, wrong: Any) -> Iterator[None]:
    """The wrong version in place of the function."""
    original = getattr(place, function)
    setattr(place, function, wrong)
    try:
        yield
    finally:
        setattr(place, function, original)


def scaled(original: Any, factors: Any, counts: set[int]) -> Any:
    """The function with the i-th float array of its result times factors[i]; adds to `counts` how
    many there are.
    """
    if not callable(original):
        counts.add(1)
        return original * factors[0]

    def wrong(*args: Any, **options: Any) -> Any:
        leaves, tree = jax.tree.flatten(original(*args, **options))
        place, new = 0, []
        for leaf in leaves:
            if np.issubdtype(np.result_type(leaf), np.floating):
                leaf = leaf * factors[min(place, MOST - 1)]
                place += 1
            new.append(leaf)
        counts.add(place)
        return jax.tree.unflatten(tree, new)

    return wrong


def versions(arrays: int) -> tuple[list[str], np.ndarray]:
    """(what is changed, factors); the first is no change."""
    changes, rows = ["none"], [np.ones(MOST)]
    for factor in FACTORS:
        changes.append(f"x {factor:g}")
        rows.append(np.full(MOST, factor))
    for i in range(min(arrays, MOST) if arrays > 1 else 0):
        for factor in EACH:
            changes.append(f"array {i} x {factor:g}")
            rows.append(np.where(np.arange(MOST) == i, factor, 1.0))
    return changes, np.stack(rows)


def runs(check: Check, theory: Theory, change: Callable[[Any], Any], factors: Any) -> Iterator[Any]:
    """What a check returns on each example that it speaks about, with a leading axis of factors
    and one of variations; change(factors) is the context of the wrong version.
    """
    for index, example in enumerate(theory.examples):
        varied = verify.vary_config(theory, example, index, SEEDS, np.float64)
        keys = jax.random.split(jax.random.key(index, impl="rbg"), SEEDS)

        def evaluate(factors: Any, keys: Any, varied: Any) -> Any:
            with change(factors):
                return jax.vmap(check.fn)(keys, varied)

        over = jax.vmap(evaluate, in_axes=(0, None, None))
        parts = jax.jit(over, compiler_options=settings.compiler_options(level=0))(
            factors, keys, varied
        )
        if parts is not None:
            yield jax.device_get(parts)


def passes(check: Check, parts: Any, place: int) -> bool:
    """Whether a check passes under the version at a place."""
    return bool(verify._judge(check, *jax.tree.map(lambda x: x[place], parts))[2])


def try_scaled(theory: Theory, function: str) -> list[Mutant]:
    """Every scaled version of a function against the checks that name it. Empty where its results
    have no float arrays. Raises AssertionError where a check fails without any change.
    """
    place, checks = home(theory, function), guarded(theory)[function]
    original, counts = getattr(place, function), {0}
    change = lambda factors: replaced(place, function, scaled(original, factors, counts))
    with numerics("float64"):
        for check in checks:  # how many arrays there are, from tracing alone
            for index, example in enumerate(theory.examples):
                varied = verify.vary_config(theory, example, index, 1, np.float64)
                with change(np.ones(MOST)):
                    keys = jax.random.split(jax.random.key(0, impl="rbg"), 1)
                    jax.eval_shape(jax.vmap(check.fn), keys, varied)
        if max(counts) == 0:
            return []
        changes, factors = versions(max(counts))
        killed: dict[str, str | None] = dict.fromkeys(changes)
        for check in checks:
            for parts in runs(check, theory, change, factors):
                assert passes(check, parts, 0), f"{check.name} fails without a change"
                for i, name in enumerate(changes[1:], 1):
                    if killed[name] is None and not passes(check, parts, i):
                        killed[name] = check.name
            if all(killed[name] for name in changes[1:]):
                break
    return [Mutant(function, name, killed[name]) for name in changes[1:]]


def notices(theory: Theory, function: str) -> str | None:
    """The check that fails, of those that name a function; None if all pass. They run operation by
    operation, as nothing of a wrong version is worth compiling.
    """
    with numerics("float64"):
        for check in guarded(theory).get(function, []):
            for index, example in enumerate(theory.examples):
                varied = verify.vary_config(theory, example, index, SEEDS, np.float64)
                keys = jax.random.split(jax.random.key(index, impl="rbg"), SEEDS)
                parts = jax.vmap(check.fn)(keys, varied)
                if parts is not None and not verify._judge(check, *jax.device_get(parts))[2]:
                    return check.name
    return None
