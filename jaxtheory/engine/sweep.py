"""A sweep: a whole hyper-parameter study as one labeled dataset."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import jax
import xarray as xr

from jaxtheory.code import traces
from jaxtheory.code.plain import as_json
from jaxtheory.core.config import Config
from jaxtheory.core.theory import Theory
from jaxtheory.engine.execution.bar import Listener, listener
from jaxtheory.engine.execution.chunk_task import ChunkTask
from jaxtheory.engine.execution.local import Execute, require_executor, run_chunks, run_locally
from jaxtheory.engine.execution.progress import Meter
from jaxtheory.engine.fill import Way, fill
from jaxtheory.engine.planning.planner import plan_request
from jaxtheory.engine.records import Part
from jaxtheory.engine.request.request import Request, read
from jaxtheory.engine.request.settings import flag
from jaxtheory.engine.results.dataset import Described, assemble, describe, grid_of
from jaxtheory.engine.results.identity import identity
from jaxtheory.engine.results.without_effect import explained
from jaxtheory.engine.store.store import Store
from jaxtheory.system.backend import computes
from jaxtheory.texts.errors import InputError


@computes
def sweep(
    theory: Theory | ModuleType | str | Path,
    config: Config,
    *,
    vary: Mapping[str, Any] | None = None,
    zip: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    seeds: int | Sequence[int] = 1,
    steps: int,
    algorithm: str | None = None,
    key: int | jax.Array = 0,
    record: Any = None,
    start: Any = None,
    stop: Callable[[dict], bool] | None = None,
    problem: Any = None,
    dtype: Any = None,
    buckets: Literal["auto", "pad", "exact"] = "auto",
    save_params: bool | int | Sequence[int] = False,
    observe: Mapping[str, Callable] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    store: str | Path | None = None,
    execute: Execute = run_locally,
    progress: Listener = None,
    accept_versions: bool = False,
    wait: bool = True,
) -> xr.Dataset:
    """Train every combination of axis values and seeds, and return what was measured.

    Runs whose arrays have the same shapes are trained together in one compiled program. The numbers
    of a run do not depend on the other runs: the same config, seed and dtype draw the same data bit
    for bit in any sweep, and results computed from them agree up to rounding.

    Args:
        theory: A theory as a record (`jaxtheory.Theory`), as a module that defines `THEORY`, such
            as `jaxtheory.theories.random_walk`, by name, or as the path of a Python file.
        config: A config of this theory. Fields on an axis take the values of the axis instead.
        vary: A product of axes: a field (its name or its paper symbol), "algorithm" or "steps",
            with its values, for instance `{"p": [0.5, 0.7], "steps": [10, 100]}`.
        zip: Axes that move together, as one dimension named after the first of them. A first key
            that is not a field labels the dimension. A list of such groups gives one dimension
            each.
        seeds: A count n for the seeds 0 to n - 1, or a list of seeds in [0, 2^32).
        steps: The number of training steps of each run.
        algorithm: The name of an algorithm of the theory; None for its first.
        key: The base key, an integer in [0, 2^32). Seed s of base key k is the run of
            `jaxtheory.run_key(k, s)`.
        record: The steps at which metrics are evaluated: an interval n, a list of steps, or
            {metric: either}. Step 0 is before training. None: every 1, 2, 5, 10, 20, ... steps and
            the last, at most 51 records.
        start: A `Run`, or a pytree of parameters with a leading axis of the length of `seeds`, from
            which training starts in place of the theory's `init`.
        stop: `stop(metrics) -> bool`, evaluated for each run at recorded steps. A run that stops
            keeps its last state, and its later records are NaN.
        problem: Fixed data for every run, as returned by `theory.given(...)` or
            `theory.problem(key, config)`; fields that shape the data can then not be varied.
        dtype: "float32" or "float64"; None for JAX's setting.
        buckets: "pad" trains points of different sizes in one program on padded arrays, "exact" in
            one program per size; "auto" chooses by the estimated time.
        save_params: True to keep the weights of every run at its last step, or the steps at which
            they are kept: an interval n or a list. The array NAME of the theory's `Params` becomes
            the variable params_NAME, with the axes of its annotation; `jaxtheory.load_params`
            makes `Params` of them again.
        observe: Observables by name: functions of (params, problem, config) that return an array.
            They are recorded as metrics; `record={name: steps}` gives one steps of its own.
        dims: The names of the dimensions of observables, such as {"attention": ("query", "key")}.
        store: A directory that keeps what is finished. A call takes from it the runs that are
            there and computes the others: values, seeds and steps may grow in any directions at
            once, runs continue from their last step, and a part of what is stored is returned
            without computing. Observables at steps whose weights were kept are evaluated on these.
            Several processes with the same store share the work.
        execute: The executor that computes chunks of runs: this machine, or for instance
            `jaxtheory.cluster.on(client)`.
        progress: A function that is called with a `Progress` as runs advance: the finished share,
            the step, and the means of the metrics at each record. True shows a bar, False nothing,
            and None a bar in a notebook only. `jaxtheory.log` has functions that write logs.
        accept_versions: True to compute more of a store that was begun under another version of
            jax, jaxlib, numpy, scipy, optax or Python, on another backend or type of processor, or
            with other flags of XLA, which may differ in the last bits. Accepted versions are noted
            in the parts and in the dataset.
        wait: False to return what is finished when other processes compute the rest of the store;
            runs that are missing are NaN, in `diverged_at` too.

    Returns:
        An `xarray.Dataset` with the dimensions of the axes, then "seed", then "step" (of metrics
        and predictions), then those that `theory.dims` names. Entries beyond the sizes or steps of
        a run, and after it diverged, are NaN; `diverged_at` is the step at which a run was first
        not finite, -1 for never. `predicted_NAME` are the theory's curves for the metric NAME.

    Raises:
        InputError: An argument is invalid, the sweep does not fit into memory, or the store holds
            runs of another kind, for instance with another learning rate or of edited code.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> data = jaxtheory.sweep(
        ...     random_walk, random_walk.Config(), vary={"p": [0.5, 0.7]}, seeds=4, steps=5
        ... )
        >>> dict(data.loss.sizes)
        {'clockwise_probability': 2, 'seed': 4, 'step': 6}
    """
    request = read(
        theory,
        config,
        vary=vary,
        zip=zip,
        seeds=seeds,
        steps=steps,
        algorithm=algorithm,
        key=key,
        record=record,
        start=start,
        stop=stop,
        problem=problem,
        dtype=dtype,
        buckets=buckets,
        save_params=save_params,
        observe=observe,
        dims=dims,
    )
    require_executor(execute)
    if store is None and (accept_versions or not wait):
        option = "accept_versions=True" if accept_versions else "wait=False"
        raise InputError(f"{option} has no effect without a store; pass store= too")
    with traces.under(request.code):
        identified = identity(request)  # fails, if at all, before anything is trained
        described = describe(request, identified["code"])
        if store is None:
            return _in_memory(request, described, execute, progress)
        way = Way(execute, progress, accept_versions, wait)
        return fill(Store(store), request, as_json(identified), described, way)


def _in_memory(
    request: Request,
    described: Described,
    execute: Execute,
    progress: Listener,
) -> xr.Dataset:
    """Compute the dataset of a request without a store; parts are added as they are finished."""
    todo = plan_request(request)
    show = listener(progress, request.theory.name)
    meter = Meter(show, request.points.total, todo.chunks, todo.chunks)
    task = ChunkTask(request, finite=flag("jax_debug_nans"))

    def parts() -> Iterator[Part]:
        for chunk, part in run_chunks(execute, task, todo.chunks, meter.report):
            assert isinstance(part, Part)
            yield part
            meter.finished(chunk)

    return explained(request, assemble(grid_of(request), described, parts()))
