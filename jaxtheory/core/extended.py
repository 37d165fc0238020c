"""The slot `metrics` or `analyses` of a theory, with further entries: observables and weights."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from jaxtheory.core.shapes import annotations
from jaxtheory.texts.errors import InputError

WEIGHTS = "params_"  # prefix of the names of weights in a dataset


@dataclasses.dataclass(frozen=True)
class Extended:
    """A slot of a theory that also returns observables, and the parameters themselves.

    slot: the function of the theory. observe: further entries (name, function of params, problem
    and config). weights: True to return each array of the parameters under the name params_NAME.
    Two of them with equal parts are equal, so that they share compiled programs.
    """

    slot: Callable
    observe: tuple[tuple[str, Callable], ...] = ()
    weights: bool = False

    @property
    def __wrapped__(self) -> Callable:
        return self.slot

    @property
    def functions(self) -> tuple[Callable, ...]:
        """The functions that are called."""
        return (self.slot, *(function for _, function in self.observe))

    def __call__(self, params: Any, problem: Any, config: Any, key: Any = None) -> dict[str, Any]:
        """Evaluate with the key of the run; without one, only the shapes are meaningful."""
        entries = dict(self.slot(params, problem, config))
        for name, function in self.observe:
            entries[name] = evaluate(function, params, problem, config, key)
        if self.weights:
            entries |= {name: jnp.asarray(leaf) for name, leaf in named_weights(params).items()}
        return entries


def evaluate(function: Callable, params: Any, problem: Any, config: Any, key: Any = None) -> Any:
    """Evaluate an observable, with the key of the run if it is marked by `keyed`."""
    if not getattr(function, "keyed", False):
        return function(params, problem, config)
    if key is None:
        key = jax.random.key(0, impl="threefry2x32")
    return function(params, problem, config, key)


def named_weights(params: Any) -> dict[str, Any]:
    """Return the arrays of parameters by their names in a dataset, such as params_W.

    Slashes in the name of an array, as Flax writes them, become underscores.
    """
    leaves = jax.tree.leaves_with_path(params)
    named = {WEIGHTS + _array_name(path): leaf for path, leaf in leaves}
    if len(named) < len(leaves):
        names = [WEIGHTS + _array_name(path) for path, _ in leaves]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"save_params: two arrays of the parameters are named {twice!r}; rename one"
        )
    return named


def weight_dims(params: Any) -> dict[str, tuple[str, ...]]:
    """Return the names of the axes of each array of parameters.

    They are the symbols of its annotation, such as `W: Float[Array, "d D"]`. A symbol that occurs
    again in the same array gets a number, as in (d, d_2). An axis without a symbol is numbered.
    """
    return {
        WEIGHTS + _array_name(path): _axes(WEIGHTS + _array_name(path), symbols, len(leaf.shape))
        for path, leaf, symbols in _annotated(params)
    }


def _array_name(path: Any) -> str:
    """Name of an array in a pytree, such as layer_query."""
    text: str = jax.tree_util.keystr(path, simple=True, separator="_")
    return text.replace("/", "_").replace("\\", "_") or "value"


def _annotated(params: Any) -> Iterator[tuple[Any, Any, list[str]]]:
    """Yield each array with its path and the symbols of its annotation, [] if it has none."""
    for path, leaf in jax.tree.leaves_with_path(params):
        record, kind = params, None
        for key in path:
            name = getattr(key, "name", None)
            known: Any = type(record)
            kind = annotations(known).get(name) if name is not None else None
            step = getattr(key, "key", getattr(key, "idx", None))
            record = getattr(record, name) if name is not None else record[step]
        yield path, leaf, kind.dim_str.split() if kind is not None else []


def _axes(name: str, symbols: list[str], ndim: int) -> tuple[str, ...]:
    """Names of the axes of one array."""
    if len(symbols) != ndim or any(symbol[:1] in ("*", ".", "#", "_") for symbol in symbols):
        symbols = [""] * ndim
    named = [s if s and not s.isdigit() else f"{name}_{i}" for i, s in enumerate(symbols)]
    return tuple(
        s if s not in named[:i] else f"{s}_{named[: i + 1].count(s)}" for i, s in enumerate(named)
    )


def without_additions(theory: Any) -> Any:
    """Return a theory without the observables and weights that a sweep added to its slots."""
    slots = {
        slot: function
        for slot in ("metrics", "analyses")
        if isinstance(function := getattr(theory, slot), Extended)
    }
    if not slots:
        return theory
    added = {name for function in slots.values() for name, _ in function.observe}
    dims = {
        name: axes
        for name, axes in theory.dims.items()
        if name not in added and not name.startswith(WEIGHTS)
    }
    return theory._replace(**{slot: f.slot for slot, f in slots.items()}, dims=dims)
