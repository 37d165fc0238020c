"""Every entry of metrics, baselines, analyses and predict against plain NumPy, theory by theory.

`THEORY_entries.py` beside this file has the derivations, written from the docstrings:

    CASES                               configs with parameters, degenerate ones among them
    metrics(params, problem, config)    and `baselines`, `analyses` and `predict` with the arguments
                                        of the theory's, on NumPy arrays without padding
    law(problem, batch, config)         asserts what the docstrings of `problem` and `sample` say
    TOLERANCES                          by entry, where the library's own accuracy is less
    widen(params, config)               parameters for padded arrays; only where cases are padded
    FILLED                              True where, beyond the sizes, problem and sample are zero
                                        and entries are NaN
    EXCEPTIONS                          entries without a derivation, with the reason

The functions of the theory are looked up in their modules at each call, so that
`tests/mutation/edits.py` can put wrong versions in their place.
"""

import functools
import importlib
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxtheory
from jaxtheory.verification.padding import widened
from tests.reference.agree import agree

THEORIES = tuple(jaxtheory.theories.names())
SLOTS = ("metrics", "baselines", "analyses", "predict")
STEPS = np.array([0, 1, 2, 5, 17])
TOLERANCE = 1e-10


class Case(NamedTuple):
    """A config and the parameters at which its entries are compared; without any, only its draws
    are. Of a problem that is made without the theory's draws, its entries alone are compared.
    """

    name: str
    config: Any
    params: tuple[Callable[[Any, Any], Any], ...] = ()  # of (problem, config)
    padded: bool = False
    seed: int = 5
    problem: Callable[[Any], Any] | None = None  # the problem of a config


class Material(NamedTuple):
    """What the theory is called on, and what the reference says."""

    problem: Any
    config: Any
    params: list[Any]
    want: dict[str, list[dict[str, Any]]]


def reference(name: str) -> ModuleType:
    """The module of a theory's reference."""
    return importlib.import_module(f"tests.reference.{name}_entries")


def cases(name: str) -> tuple[Case, ...]:
    """The cases of a theory."""
    catalog: tuple[Case, ...] = reference(name).CASES
    return catalog


def slot(name: str, which: str) -> Callable:
    """The function of a slot as its module has it now."""
    function = getattr(jaxtheory.theories.get(name), which)
    if not function.__module__.startswith("jaxtheory.theories."):
        return function  # the default of a theory without that slot
    return getattr(sys.modules[function.__module__], function.__name__)


def draw(name: str, config: Any, seed: int) -> Any:
    """The problem of a config."""
    return slot(name, "problem")(jax.random.key(seed), config)


@functools.cache
def material(name: str, index: int) -> Material:
    """A case with its problem, its parameters and the reference's values."""
    case, numpy = cases(name)[index], reference(name)
    drawn = case.problem or functools.partial(draw, name, seed=case.seed)
    plain = jax.tree.map(np.asarray, drawn(case.config))
    params = [make(plain, case.config) for make in case.params]
    config = widened(case.config) if case.padded else case.config
    want: dict[str, list[dict[str, Any]]] = {
        "metrics": [numpy.metrics(p, plain, case.config) for p in params],
        "analyses": [_optional(numpy, "analyses")(p, plain, case.config) for p in params],
    }
    if params:
        want["baselines"] = [_optional(numpy, "baselines")(plain, case.config)]
        want["predict"] = [_optional(numpy, "predict")(plain, case.config, STEPS)]
    problem = drawn(config)
    if case.padded:
        params = [numpy.widen(p, config) for p in params]
    return Material(problem, config, [_arrays(p) for p in params], want)


Part = tuple[str, int]  # a slot, and the place of the parameters


def parts(name: str, index: int) -> list[Part]:
    """What is compared on a case."""
    return [
        (which, i) for which, rows in material(name, index).want.items() for i in range(len(rows))
    ]


def compute(name: str, index: int, part: Part) -> tuple[Callable, tuple[Any, ...]]:
    """The function that gives the entries of a part, and its arguments."""
    problem, config, params, _ = material(name, index)
    which, i = part
    function = slot(name, which)
    if which in ("metrics", "analyses"):
        return function, (params[i], problem, config)
    if which == "baselines":
        return function, (problem, config)
    return lambda problem, config: function(problem, config, STEPS), (problem, config)


def compare(
    name: str, index: int, part: Part, through: Callable[[Callable], Callable] = jax.jit
) -> None:
    """Assert that the entries of a part are the reference's. Without jax.jit nothing is compiled
    again for a wrong version.
    """
    tolerances, (which, i) = getattr(reference(name), "TOLERANCES", {}), part
    function, arguments = compute(name, index, part)
    got, want = through(function)(*arguments), material(name, index).want[which][i]
    assert set(got) == set(want), f"{which}: entries {set(got) ^ set(want)}"
    for entry, value in want.items():
        tolerance = tolerances.get(entry, TOLERANCE)
        try:
            agree(*_align(name, got[entry], value, np.nan), tolerance, unknown=True)
        except AssertionError as error:
            raise AssertionError(f"{which} {entry!r}, parameters {i}: {error}") from None


def compare_draws(name: str, index: int) -> None:
    """Assert what the reference says of the problem and the batch of a case, and that padding
    changes neither.
    """
    case = cases(name)[index]
    if case.problem:
        return
    problem = draw(name, case.config, case.seed)
    batch = slot(name, "sample")(jax.random.key(case.seed + 1), problem, case.config)
    plain = jax.tree.map(np.asarray, (problem, batch))
    reference(name).law(*plain, case.config)
    if case.padded:
        config = widened(case.config)
        problem = draw(name, config, case.seed)
        batch = slot(name, "sample")(jax.random.key(case.seed + 1), problem, config)
        pairs = zip(jax.tree.leaves((problem, batch)), jax.tree.leaves(plain), strict=True)
        for got, want in pairs:
            agree(*_align(name, got, want, 0.0), 1e-14)


def names(name: str, configs: Iterable[Any]) -> dict[str, set[str]]:
    """The entries of each slot on these configs, with the parameters at the start."""
    theory, slots = jaxtheory.theories.get(name), {which: set[str]() for which in SLOTS}

    def values(key: jax.Array, config: Any) -> dict[str, dict]:
        problem = theory.problem(key, config)
        params = theory.init(key, problem, config)
        return {
            "metrics": theory.metrics(params, problem, config),
            "analyses": theory.analyses(params, problem, config),
            "baselines": theory.baselines(problem, config),
            "predict": theory.predict(problem, config, STEPS),
        }

    for config in configs:
        shapes = jax.eval_shape(values, jax.random.key(0), config)
        for which, entries in shapes.items():
            slots[which] |= {*entries}
    return slots


def _align(name: str, got: Any, want: Any, fill: float) -> tuple[np.ndarray, np.ndarray]:
    """Both arrays without what lies beyond the sizes, or with `fill` there where FILLED says so."""
    got, want = np.asarray(got), np.asarray(want)
    inside = tuple(map(slice, want.shape))
    if got.ndim != want.ndim:
        return got, want
    if not getattr(reference(name), "FILLED", False):
        return got[inside], want
    full_array = np.full(got.shape, fill)
    full_array[inside] = want
    return got, full_array


def _optional(numpy: ModuleType, which: str) -> Callable:
    return getattr(numpy, which, lambda *_: {})


def _arrays(tree: Any) -> Any:
    return jax.tree.map(jax.numpy.asarray, tree)
