"""Sweeps on fixed data: the theory with one problem in place of drawn ones."""

import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.code.keys import host, is_key
from jaxtheory.core.config import Config, Size, canonical, fields, leaf_names
from jaxtheory.core.theory import Theory
from jaxtheory.engine.request.axes import Points
from jaxtheory.engine.request.dependence import neighbors
from jaxtheory.engine.request.jaxprs import reads
from jaxtheory.texts.errors import InputError, require_present


class FixedProblem:
    """A slot `problem` that returns the same problem for every key and config."""

    def __init__(self, problem: Any):
        self.problem = problem

    def __call__(self, key: Any, config: Any) -> Any:
        return jax.tree.map(jnp.asarray, self.problem)


def with_problem(theory: Theory, points: Points, problem: Any) -> Theory:
    """Return the theory with a fixed problem, on which every run of every seed is trained.

    The problem belongs to the config of the first point, and is made by `theory.given(...)` or
    `theory.problem(key, config)`. Raises InputError if its arrays do not fit the config, or if an
    axis varies a field that the data depend on.
    """
    shaping = [word for word in _words_of(points) if _shapes_data(theory, points, word)]
    if shaping:
        word = shaping[0]
        raise InputError(
            f"{word} ({fields(theory.Config)[word].symbol}): cannot be varied, because the data "
            "depend on it and problem= fixes them; vary other fields, or omit problem"
        )
    float_dtype = jnp.result_type(float)
    config = canonical(points.point(0).config, float_dtype)
    want = _shapes(theory, config)
    kind = type(jax.eval_shape(theory.problem, jax.random.key(0), config))
    require_present("problem", type(problem), kind)
    if type(problem) is not kind:
        raise InputError(
            f"problem is a {type(problem).__name__}; pass the result of {theory.name}.given(...) "
            f"or {theory.name}.problem(key, config)"
        )
    leaves = dict(_paths(problem))
    if missing := want.keys() - leaves.keys():
        raise InputError(
            f"problem.{min(missing)} is missing; {theory.name} needs it for this config"
        )
    for path, like in want.items():
        _check_fit(theory, config, path, np.shape(leaves[path]), like.shape)
    kinds = {path: like.dtype for path, like in want.items()}

    def cast(path: Any, leaf: Any) -> Any:
        array = host(leaf)
        if is_key(array):
            return array
        kind = float_dtype if array.dtype.kind == "f" else array.dtype
        return array.astype(kinds.get(_name_of(path), kind))

    return theory._replace(problem=FixedProblem(jax.tree_util.tree_map_with_path(cast, problem)))


def _name_of(path: Any) -> str:
    """Name of a leaf, such as train.tokens."""
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _paths(tree: Any) -> Iterator[tuple[str, Any]]:
    """Leaves of a tree with their names."""
    return ((_name_of(path), leaf) for path, leaf in jax.tree.leaves_with_path(tree))


def _shapes(theory: Theory, config: Config) -> dict[str, Any]:
    """Shape and dtype of each array of a theory's problem."""
    return dict(_paths(jax.eval_shape(theory.problem, jax.random.key(0), config)))


def _check_fit(theory: Theory, config: Config, path: str, got: tuple, want: tuple) -> None:
    """Raise InputError if a shape differs from that of the config.

    A length that no size and no static field changes, such as the number of test samples, is free.
    """
    if got == want:
        return
    ways, shaped = list[str](), len(got) != len(want)
    for word, field in fields(type(config)).items():
        value = getattr(config, word)
        larger = [config.replace(**{word: Size(value.cap + 1)})] if field.kind == "size" else []
        for neighbor in neighbors(config, word) if field.kind == "static" else larger:
            try:
                shape = _shapes(theory, neighbor)[path].shape
            except Exception:  # the theory does not take this value, or with this one alone
                continue
            if len(shape) != len(want) or len(got) != len(want):
                continue
            changed = [i for i, n in enumerate(want) if shape[i] != n and got[i] != n]
            shaped |= bool(changed)
            if field.kind == "size":
                ways += [f"set {word}={value.cap + got[i] - want[i]}" for i in changed]
            elif shape == got:
                ways.append(f"set {word}={getattr(neighbor, word)!r}")
    if shaped:
        hint = f": {', or '.join(dict.fromkeys(ways))}, or change the array" if ways else ""
        raise InputError(f"problem.{path} has shape {got}, but the config needs {want}{hint}")


def _words_of(points: Points) -> list[str]:
    """The config fields that vary."""
    words = [word for axis in points.axes for word in axis.values]
    return [word for word in words if word not in ("algorithm", "steps")]


def _shapes_data(theory: Theory, points: Points, word: str) -> bool:
    """True if the problem depends on a field: it reads the number, or its jaxpr changes."""
    config = points.point(0).config
    key = jax.random.key(0, impl="threefry2x32")
    if fields(theory.Config)[word].kind in ("traced", "evaluation"):
        template = canonical(config, jnp.result_type(float))
        return bool(reads(theory.problem, template, leaf_names(template), key) & {word})
    traced = functools.partial(jax.make_jaxpr(theory.problem), key)
    return len({str(traced(config.replace(**{word: v}))) for v in points.values(word)}) > 1
