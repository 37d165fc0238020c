"""Plan a sweep without training it, and measure its time on a first slot if asked to."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import jax
import numpy as np

from jaxtheory.code import traces
from jaxtheory.core.config import Config
from jaxtheory.core.theory import Theory
from jaxtheory.engine.compute.training import train_chunk
from jaxtheory.engine.planning.buckets import lanes
from jaxtheory.engine.planning.memory import refuse_results, resident
from jaxtheory.engine.planning.planner import Plan, plan_request, priced
from jaxtheory.engine.records import Bucket, Chunk
from jaxtheory.engine.request.request import Request, read, read_schedule
from jaxtheory.engine.request.settings import numerics
from jaxtheory.system.backend import computes, workers
from jaxtheory.texts.errors import InputError, brief

_RECORDS = 10  # evaluations of the metrics that are timed
_ENOUGH = 0.1  # seconds of steps that suffice for a measurement


@computes
def plan(
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
    compile: bool = False,
) -> Plan:
    """Estimate what `sweep` would do with the same arguments, without training.

    Args:
        theory: As in `sweep`.
        config: As in `sweep`.
        vary: As in `sweep`.
        zip: As in `sweep`.
        seeds: As in `sweep`.
        steps: As in `sweep`.
        algorithm: As in `sweep`.
        key: As in `sweep`.
        record: As in `sweep`.
        start: As in `sweep`.
        stop: As in `sweep`.
        problem: As in `sweep`.
        dtype: As in `sweep`.
        buckets: As in `sweep`.
        save_params: As in `sweep`. Weights count as results.
        observe: As in `sweep`.
        dims: As in `sweep`.
        store: As in `sweep`. Results that a store keeps on disk need not fit into memory. The store
            is neither read nor written.
        compile: True to measure instead of estimating: steps and metrics are compiled, and timed on
            the first runs of each bucket.

    Returns:
        A `Plan`: points, runs, problems, compilations, chunks, devices, bytes of memory, seconds,
        and the buckets of runs that share a program (`plan.rows()` as a table).

    Raises:
        InputError: As in `sweep`.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.theories import random_walk
        >>> sizes = {"K": [4, 6]}
        >>> plan = jaxtheory.plan(random_walk, random_walk.Config(), vary=sizes, seeds=8, steps=50)
        >>> plan.points, plan.runs
        (2, 16)
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
    if not isinstance(compile, bool):
        raise InputError(f"compile = {brief(compile)}: must be True or False")
    with traces.under(request.code):
        unpriced = plan_request(request)
        estimated = priced(request, unpriced.buckets)
        if store is None:
            refuse_results(request.runs, sum(b.result_bytes for b in estimated))
        if compile:
            estimated = tuple(_measure(request, bucket) for bucket in estimated)
    return unpriced._replace(
        buckets=estimated,
        seconds=sum(b.seconds for b in estimated),
        memory_bytes=resident() + max(b.memory for b in estimated),
        measured=compile,
    )


def _measure(request: Request, bucket: Bucket) -> Bucket:
    """A bucket with seconds that are scaled from the measured ones of its first slot."""
    chunk, last = Chunk(bucket, 0, 1), bucket.longest
    with numerics(request.dtype, request.partitionable):
        inputs = lanes(request, chunk)

    def seconds(steps: int, records: Sequence[int], curves: bool = False) -> float:
        """Time the first slot with so many steps, and metrics at these records."""
        short = request._replace(schedule=read_schedule(records, [steps]), stop=None)
        limited = inputs._replace(limit=np.minimum(inputs.limit, steps))
        begun = time.perf_counter()
        with numerics(request.dtype, request.partitionable):
            train_chunk(short, chunk, limited, lambda *_: None, curves)
        return time.perf_counter() - begun

    count = min(last, _RECORDS)
    compiling, once = seconds(count, [count], curves=True), seconds(count, [count])
    recording = seconds(count, range(count + 1))
    steps, duration = last, once
    for steps in (6 * count, 60 * count, 600 * count, last):
        steps = min(steps, last)
        duration = seconds(steps, [steps])
        if duration - once > _ENOUGH:
            break
    step = max(duration - once, 0) / max(steps - count, 1)
    record = max(recording - once, 0) / max(count, 1)
    slots = float(bucket.steps.sum()) / len(bucket.steps) / max(last, 1) * bucket.slots
    slot_seconds = once + step * (last - count) + record * (len(request.schedule.records) - 1)
    return bucket._replace(
        seconds=max(compiling - once, 0) + slot_seconds * slots / min(workers(), bucket.slots)
    )
