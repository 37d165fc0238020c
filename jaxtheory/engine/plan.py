"""What a sweep would do, before it does it: `plan`, and the seconds measured on a first slot."""

import time
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from jaxtheory.engine.compute.training import train_chunk
from jaxtheory.engine.planning.lay_out import Plan, make, priced
from jaxtheory.engine.planning.layout import Bucket, Chunk, lanes
from jaxtheory.engine.planning.memory import refuse_results, resident
from jaxtheory.engine.request.request import (
    Asked,
    Request,
    read,
    read_schedule,
    takes_what_is_asked,
)
from jaxtheory.engine.request.settings import numerics
from jaxtheory.system.backend import computes, workers

LOOKS = 10  # that are timed
ENOUGH = 0.1  # seconds of steps that are long enough to be timed


@takes_what_is_asked
@computes
def plan(
    theory: Any, config: Any, *, compile: bool = False, store: Any = None, **asked: Unpack[Asked]
) -> Plan:
    """What `sweep` of the same arguments would do: points, runs, problems, buckets, compilations,
    memory and a rough time.

    With `compile=True` steps and looks at the metrics are compiled, and timed on the first slot of
    each bucket. Raises InputError as sweep does.
    """
    request = read(theory, config, **asked)
    made = make(request)
    buckets = priced(request, made.buckets)
    if store is None:
        refuse_results(request.runs, sum(b.kept for b in buckets))
    if compile:
        buckets = tuple(measure(request, bucket) for bucket in buckets)
    return made._replace(
        buckets=buckets,
        seconds=sum(b.seconds for b in buckets),
        memory_bytes=resident() + max(b.memory for b in buckets),
        measured=compile,
    )


def measure(request: Request, bucket: Bucket) -> Bucket:
    """The bucket with its seconds measured: compiling once, then steps and looks of the first slot,
    multiplied.
    """
    chunk, last = Chunk(bucket, 0, 1), bucket.longest
    with numerics(request.dtype, request.partitionable):
        inputs = lanes(request, chunk)

    def seconds(steps: int, records: Sequence[int], curves: bool = False) -> float:
        """Of a chunk of the first slot that makes so many steps, and looks at these."""
        short = request._replace(schedule=read_schedule(records, [steps]), stop=None)
        limited = inputs._replace(limit=np.minimum(inputs.limit, steps))
        begun = time.perf_counter()
        with numerics(request.dtype, request.partitionable):
            train_chunk(short, chunk, limited, lambda _: None, curves)
        return time.perf_counter() - begun

    looks = min(last, LOOKS)
    compiling, once = seconds(looks, [looks], curves=True), seconds(looks, [looks])
    looking = seconds(looks, range(looks + 1))
    steps, taken = last, once
    for steps in (6 * looks, 60 * looks, 600 * looks, last):
        steps = min(steps, last)
        taken = seconds(steps, [steps])
        if taken - once > ENOUGH:
            break
    step = max(taken - once, 0) / max(steps - looks, 1)
    look = max(looking - once, 0) / max(looks, 1)
    slots = float(bucket.steps.sum()) / len(bucket.steps) / max(last, 1) * bucket.slots
    each = once + step * (last - looks) + look * (len(request.schedule.records) - 1)
    return bucket._replace(
        seconds=max(compiling - once, 0) + each * slots / min(workers(), bucket.slots)
    )
