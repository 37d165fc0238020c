"""What a sweep must give, worked out from the request in plain Python and step by step."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory.core.config import canonical
from jaxtheory.engine.request.settings import numerics
from properties.strategies import Asked, Point, plain


def recorded(record: Any, ends: list[int]) -> list[int]:
    """The recorded steps of runs of these numbers of steps; with less than 50 of them the interval
    of None is 1.
    """
    if isinstance(record, dict):
        return sorted({t for own in record.values() for t in recorded(own, ends)})
    if isinstance(record, list):
        return sorted(set(record))
    return sorted({t for end in ends for t in [*range(0, end, record or 1), end]})


def ends(request: Asked) -> list[int]:
    """The numbers of steps of its points."""
    return [point.steps for point in request.points()]


def labels_are_right(data: xr.Dataset, request: Asked) -> None:
    """Raise AssertionError where dimensions or labels are not those asked for."""
    leading = (*(axis.name for axis in request.axes), "seed")
    for axis in request.axes:
        own = {axis.name: axis.labels, **axis.values}
        for name, values in own.items():
            assert data[name].dims == (axis.name,), (name, data[name].dims)
            assert data[name].values.tolist() == [plain(v) for v in values], (name, values)
    assert data.seed.values.tolist() == request.seed_list
    assert data.step.values.tolist() == recorded(request.record, ends(request))
    for name, variable in data.data_vars.items():
        assert variable.dims[: len(leading)] == leading, (name, variable.dims)
    assert data.diverged_at.dims == leading
    if isinstance(request.record, dict):
        for name, record in request.record.items():
            own = recorded(record, ends(request))
            never = data[name].sel(step=[t for t in data.step.values.tolist() if t not in own])
            assert np.isnan(never.values).all(), (name, own)


def simulate_point(request: Asked, point: Point, seed: int) -> jaxtheory.Run:
    """The run of one point and seed by itself, recorded where the sweep is."""
    own = [t for t in recorded(request.record, ends(request)) if t <= point.steps]
    return jaxtheory.simulate(
        request.theory,
        point.config,
        jaxtheory.run_key(request.key, seed),
        steps=point.steps,
        algorithm=point.algorithm,
        record=own or [point.steps],
        stop=request.stop,
        dtype=request.dtype,
    )


def looked_at(request: Asked, name: str) -> list[int]:
    """The steps at which a metric is recorded."""
    record = request.record
    if isinstance(record, dict):
        return recorded(record[name], ends(request)) if name in record else []
    return recorded(record, ends(request))


def run_of(data: xr.Dataset, request: Asked, point: Point, seed: int) -> xr.Dataset:
    """What a sweep says of one run, selected by its labels."""
    place = {
        axis.name: plain(axis.labels[i]) for axis, i in zip(request.axes, point.place, strict=True)
    }
    return data.sel(seed=seed, **place)


def within(values: np.ndarray, shape: tuple[int, ...], name: str) -> np.ndarray:
    """The leading entries of a shape; AssertionError where a number lies beyond them."""
    inside = tuple(map(slice, shape))
    margin = np.array(values, float)
    margin[inside] = np.nan
    assert np.isnan(margin).all(), (name, "a number beyond the sizes of the point", shape, values)
    return values[inside]


def of_the_run(run: xr.Dataset, request: Asked, point: Point, ran: Any) -> tuple[dict, dict]:
    """What a sweep says of one run and what the run alone gives, as arrays of one shape."""
    got: dict[str, np.ndarray] = {"diverged_at": run.diverged_at.values}
    want: dict[str, np.ndarray] = {
        "diverged_at": np.asarray(-1 if ran.diverged_at is None else ran.diverged_at)
    }
    steps = run.step.values.tolist()
    for name, values in ran.metrics.items():
        own = [t for t in looked_at(request, name) if t <= point.steps]
        if name not in run:
            assert not looked_at(request, name), (name, "is missing")
            continue
        late = [i for i, t in enumerate(steps) if t > point.steps]
        assert np.isnan(run[name].values[late]).all(), (name, "a number after the last step")
        at = [steps.index(t) for t in own]
        shape = (len(own), *values.shape[1:])
        got[name] = within(run[name].values[at], shape, name)
        want[name] = np.asarray(values[[ran.steps.tolist().index(t) for t in own]])
    for name, values in ran.analyses.items():
        got[name], want[name] = within(run[name].values, values.shape, name), np.asarray(values)
    return got, want


def diverges_at(request: Asked, point: Point, seed: int) -> int:
    """The step after which the state is not finite, -1 for never: a plain loop over the slots of a
    theory.
    """
    theory, algorithm = request.theory, request.theory.algorithms[point.algorithm]
    with numerics(request.dtype) as dtype:
        config = jax.tree.map(jnp.asarray, canonical(point.config, dtype))
        key = jaxtheory.run_key(request.key, seed)

        @jax.jit
        def begin(config: Any) -> Any:
            problem = theory.problem(jax.random.fold_in(key, 0), config)
            return problem, algorithm.init(jax.random.fold_in(key, 1), problem, config)

        @jax.jit
        def step(t: Any, state: Any, problem: Any, config: Any) -> Any:
            own = jax.random.fold_in(jax.random.fold_in(key, 2), t)
            sample = algorithm.sample or theory.sample
            batch = sample(jax.random.fold_in(own, 0), problem, config)
            new = algorithm.step(jax.random.fold_in(own, 1), t, state, batch, problem, config)
            return jax.tree.map(lambda n, o: n.astype(o.dtype), new, state)

        problem, state = begin(config)
        state = jax.tree.map(jnp.asarray, state)
        for t in range(point.steps):
            state = step(jnp.int32(t), state, problem, config)
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state)]
            if not all(np.isfinite(x).all() for x in leaves if x.dtype.kind == "f"):
                return t + 1
    return -1
