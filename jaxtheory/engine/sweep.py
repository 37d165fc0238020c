"""A sweep: a whole hyper-parameter study as one labeled dataset."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Unpack

import xarray as xr

from jaxtheory.core.config import Config
from jaxtheory.core.errors import InputError
from jaxtheory.core.theory import Theory
from jaxtheory.engine.compute.part import Part
from jaxtheory.engine.execution.local import Execute, here
from jaxtheory.engine.execution.progress import Meter, Progress
from jaxtheory.engine.execution.task import Work
from jaxtheory.engine.planning import lay_out
from jaxtheory.engine.request.request import Asked, Request, read, takes_what_is_asked
from jaxtheory.engine.request.settings import flag
from jaxtheory.engine.results import versions
from jaxtheory.engine.results.dataset import Described, assemble, describe
from jaxtheory.engine.results.identity import identity
from jaxtheory.engine.results.store import Store
from jaxtheory.system.backend import computes


@takes_what_is_asked
@computes
def sweep(
    theory: Theory,
    config: Config,
    *,
    store: str | Path | None = None,
    execute: Execute = here,
    progress: Callable[[Progress], None] | None = None,
    accept_versions: bool = False,
    **asked: Unpack[Asked],
) -> xr.Dataset:
    """Train every combination of axis values and seeds; return metrics, analyses and predictions as
    one dataset.

    For the arguments see `Asked`: vary and zip span the axes, seeds repeat every point, steps,
    algorithm, key, record, start, stop, dtype and buckets say how. store: a directory that keeps
    what is finished; the same call resumes. execute: what computes the chunks,
    `jaxtheory.cluster.on(client)` for instance. accept_versions: whether to resume a store that was
    begun under another version of jax, jaxlib, numpy, optax or Python, or on another backend, whose
    numbers may differ in the last bits; what was accepted is noted in the manifest and in the
    dataset. A finished dataset is returned under any version: nothing is computed.
    Dimensions: axes, seed, step (metrics and predictions), then the theory's dims. NaN beyond a
    point's own sizes and steps, and after a run diverged (`diverged_at`, -1 for never).
    `predicted_NAME` are the theory's curves. Raises InputError for invalid input.
    """
    request = read(theory, config, **asked)
    identified = identity(request)  # fails, if at all, before anything is trained
    said = describe(request, identified["code"])
    if store is None:
        return in_memory(request, said, execute, progress)
    kept = Store(store, identified)
    if (finished := kept.dataset()) is not None:
        kept.tidy()
        return finished
    todo = lay_out.make(request)
    todo = todo.following(kept.begin(todo.layouts))
    said.attributes.update(versions.require(kept, accept_versions))
    missing = kept.missing(todo.chunks)
    meter = Meter(progress, request.points.total, todo.chunks, missing)
    work = Work(request, kept, flag("jax_debug_nans"))
    for chunk, _ in execute(work, missing, meter.tell):
        if not kept.has(chunk):
            raise InputError(
                f"store {kept.path}: {chunk.name}.part was written elsewhere; choose a directory "
                "that this machine and all workers share"
            )
        meter.finished(chunk)
    with kept.scratch() as allocate:
        return kept.finish(assemble(request, said, kept.read_parts(), allocate))


def in_memory(
    request: Request,
    said: Described,
    execute: Execute,
    progress: Callable[[Progress], None] | None,
) -> xr.Dataset:
    """The dataset of a request, without a store; each part is laid into it as it comes."""
    todo = lay_out.make(request)
    meter = Meter(progress, request.points.total, todo.chunks, todo.chunks)
    work = Work(request, None, flag("jax_debug_nans"))

    def parts() -> Iterator[Part]:
        for chunk, part in execute(work, todo.chunks, meter.tell):
            assert part is not None
            yield part
            meter.finished(chunk)

    return assemble(request, said, parts())
