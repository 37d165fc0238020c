"""One run of a dataset: its config, its parameters and its problem."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from jaxtheory.code import traces
from jaxtheory.code.code_hash import code_hash
from jaxtheory.core.config import Config, canonical, fields
from jaxtheory.core.extended import named_weights
from jaxtheory.core.resolve import recorded_theory, theory_of
from jaxtheory.core.theory import P, Theory, TheoryModule, W
from jaxtheory.engine.compute.training import draw_problem
from jaxtheory.engine.planning.buckets import group, lanes
from jaxtheory.engine.records import Chunk
from jaxtheory.engine.request.observed import parameter_shapes
from jaxtheory.engine.request.request import read
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.request.values import brief
from jaxtheory.engine.results.attributes import problem_digest
from jaxtheory.engine.results.dataset import untupled
from jaxtheory.system.backend import computes
from jaxtheory.texts.errors import InputError, suggest

_TheoryLike = Theory | TheoryModule | ModuleType | str | Path


class StoredRun(NamedTuple):
    """One run of a dataset.

    theory: its theory. config: its config at its own sizes. algorithm: the name of its algorithm.
    steps: its number of steps. seed: its seed. at: its index on each dimension of the sweep.
    """

    theory: Theory
    config: Config
    algorithm: str
    steps: int
    seed: int
    at: dict[str, int]


def select(data: xr.Dataset, theory: _TheoryLike | None, where: dict[str, Any]) -> StoredRun:
    """Return the run of a dataset at these values of its axes and this seed.

    Raises InputError if no run or several runs have them.
    """
    if not isinstance(data, xr.Dataset) or "config" not in data.attrs or "diverged_at" not in data:
        raise InputError(
            "data must be the dataset of a sweep, as returned by jaxtheory.sweep(...) or "
            "jaxtheory.open_store('STORE')"
        )
    dataset_theory = theory_of_dataset(data, theory)
    table = fields(dataset_theory.Config)
    symbols = {field.symbol: name for name, field in table.items()}
    dims = [str(dim) for dim in data["diverged_at"].dims]
    coord_dims = {
        str(n): str(c.dims[0]) for n, c in data.coords.items() if c.dims and c.dims[0] in dims
    }
    masks = {dim: np.ones(data.sizes[dim], bool) for dim in dims}
    for word, value in where.items():
        name = word if word in coord_dims else symbols.get(word, word)
        if name not in coord_dims:
            raise InputError(f"{word}: the dataset has no such axis; {suggest(word, coord_dims)}")
        equal = _equals(data[name].values, value)
        if not equal.any():
            raise InputError(
                f"{word} = {brief(value)}: the dataset has no such value; it has "
                f"{brief(data[name].values.tolist())}"
            )
        masks[coord_dims[name]] &= equal
    at = {}
    for dim, mask in masks.items():
        if mask.sum() != 1:
            title = f"{dim} ({table[dim].symbol})" if dim in table else dim
            raise InputError(
                f"{title}: choose one of the {mask.sum() or mask.size} values "
                f"{brief(data[dim].values[mask if mask.any() else slice(None)].tolist())}"
            )
        at[dim] = int(np.flatnonzero(mask)[0])
    values = {n: data[n].values[at[dim]].item() for n, dim in coord_dims.items()}
    base = {n: untupled(v) for n, v in json.loads(data.attrs["config"]).items() if n in table}
    config = dataset_theory.Config(**base | {n: v for n, v in values.items() if n in table})
    return StoredRun(
        dataset_theory,
        config,
        str(values.get("algorithm", data.attrs.get("algorithm"))),
        int(values.get("steps", data.attrs.get("steps", 0))),
        int(values["seed"]),
        at,
    )


def theory_of_dataset(data: xr.Dataset, theory: _TheoryLike | None = None) -> Theory:
    """Return the theory of a dataset: the one that is given, or else the one that it names.

    Raises InputError if there is none, if the user's file that defined it is missing or has
    changed, or if the theory that is given has another name.
    """
    name, text = str(data.attrs["theory"]), data.attrs.get("theory_file")
    if theory is None:
        try:
            record = None if text is None else json.loads(text)
        except (TypeError, ValueError, RecursionError):
            record = text  # which is refused as damaged
        return recorded_theory(name, record)
    candidate: Theory = theory_of(theory)
    if candidate.name != name:
        raise InputError(f"theory is {candidate.name}, but the dataset is of {name}")
    return candidate


def _equals(values: np.ndarray, value: Any) -> np.ndarray:
    """True where a coordinate has a value; numbers may differ in the last digits of their text."""
    if values.dtype.kind in "iuf" and isinstance(value, int | float | np.number):
        return np.isclose(values.astype(float), float(value), rtol=1e-9, atol=0)
    return np.array([str(v) == str(value) for v in values.tolist()])


@computes
def load_params(
    data: xr.Dataset,
    theory: Theory[Any, Any, Any, W] | TheoryModule[Any, W] | ModuleType | str | Path | None = None,
    *,
    step: int | None = None,
    **where: Any,
) -> W:
    """Return the parameters of one run of a sweep that kept its weights.

    Args:
        data: The dataset of a sweep with `save_params`.
        theory: The theory; by default the one that the dataset names, by its name or its FILE.py.
        step: The step at which the weights were kept; None for the last of the run.
        **where: The value of each axis, by the name or symbol of its field, and the seed. An axis
            of one value may be left out.

    Returns:
        The theory's `Params` at the sizes and in the dtype of the run, ready for `theory.loss`,
        `jax.grad` or `start=`.

    Raises:
        InputError: No run or several runs have these values, the dataset has no weights or none at
            this step, or the run diverged or stopped before it.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> config = random_walk.Config()
        >>> data = jaxtheory.sweep(
        ...     random_walk, config, vary={"p": [0.5, 0.7]}, seeds=2, steps=5, save_params=True
        ... )
        >>> jaxtheory.load_params(data, p=0.7, seed=1).u.shape
        (6,)
    """
    run = select(data, theory, where)
    code = code_hash(run.theory._replace(checks=(), examples=()))
    with traces.under(code), numerics(data.attrs["dtype"]) as dtype:
        shapes, _ = parameter_shapes(run.theory, run.algorithm, canonical(run.config, dtype))
    arrays = {}
    for name, like in named_weights(shapes).items():
        if name not in data:
            raise InputError(
                "the dataset has no weights; pass save_params=True, or the steps, to "
                f"jaxtheory.sweep (--save-params) to keep {name}"
            )
        values = data[name].isel(run.at)
        if "step" in values.dims:
            values = _at_step(values, step, run)
        elif step is not None and step != run.steps:
            raise InputError(
                f"step = {step}: the dataset keeps the weights of step {run.steps} only; pass "
                f"save_params=[{step}] to jaxtheory.sweep"
            )
        own = np.asarray(values.values[tuple(slice(n) for n in like.shape)])
        if np.isnan(own).any():
            raise InputError(_why_missing(data, run, step))
        arrays[name] = own.astype(like.dtype)
    with numerics(data.attrs["dtype"]):
        leaves = [jnp.asarray(array) for array in arrays.values()]
    return jax.tree.unflatten(jax.tree.structure(shapes), leaves)


def _at_step(values: xr.DataArray, step: int | None, run: StoredRun) -> xr.DataArray:
    """The weights at a step, or at the last step at which there are some."""
    axes = [dim for dim in values.dims if dim != "step"]
    saved_steps = values["step"].values[values.notnull().any(axes).values]
    if step is None and len(saved_steps):
        return values.sel(step=saved_steps[-1])
    if step not in saved_steps:
        raise InputError(
            f"step = {step}: this run has weights of the steps {brief(saved_steps.tolist())}"
            if len(saved_steps)
            else f"this run has no weights: it diverged or stopped before step {run.steps}"
        )
    return values.sel(step=step)


def _why_missing(data: xr.Dataset, run: StoredRun, step: int | None) -> str:
    """A sentence on weights that are NaN."""
    diverged = int(data["diverged_at"].isel(run.at))
    when = f"at step {diverged}" if diverged >= 0 else f"by step {step}"
    return f"this run has no finite weights: it diverged {when}"


@computes
def load_problem(
    data: xr.Dataset,
    theory: Theory[Any, P, Any, Any] | ModuleType | str | Path | None = None,
    **where: Any,
) -> P:
    """Return the problem of one run of a sweep, drawn again from the key of the run.

    Args:
        data: The dataset of a sweep.
        theory: The theory; by default the one that the dataset names, by its name or its FILE.py.
        **where: The value of each axis, by the name or symbol of its field, and the seed. An axis
            of one value may be left out.

    Returns:
        The theory's problem at the sizes and in the dtype of the run. Its draws are those of the
        run bit for bit, and numbers computed from them agree up to rounding.

    Raises:
        InputError: No run or several runs have these values, or the problem cannot be drawn again:
            it was given by `problem=`, the sweep had the key of one run in place of a base key, or
            the code of the theory has changed.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import low_rank
        >>> data = jaxtheory.sweep(low_rank, low_rank.Config(), seeds=2, steps=5)
        >>> type(jaxtheory.load_problem(data, seed=1)).__name__
        'Problem'
    """
    run = select(data, theory, where)
    if "key" not in data.attrs:
        raise InputError(
            "the sweep was made with the key of one run in place of a base key; call "
            "theory.problem(key, config) with it"
        )
    if code_hash(run.theory.problem) != problem_digest(data):
        raise InputError(
            f"the problem of {run.theory.name} is not the one of the dataset: it was fixed by "
            "problem=, or the code of the theory has changed since"
        )
    request = read(
        run.theory,
        run.config,
        seeds=[run.seed],
        steps=0,
        algorithm=run.algorithm,
        key=int(data.attrs["key"]),
        dtype=data.attrs["dtype"],
    )
    with traces.under(request.code), numerics(request.dtype, request.partitionable):
        chunk = Chunk(group(request)[0], 0, 1)
        drawn = draw_problem(request, chunk, lanes(request, chunk))
        return jax.tree.map(lambda x: x[0, 0], drawn)
