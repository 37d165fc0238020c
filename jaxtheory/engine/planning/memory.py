"""Memory of this machine and this process, and refusal of sweeps that cannot fit."""

import os
from pathlib import Path

import jax

from jaxtheory.core.config import Size, fields
from jaxtheory.engine.planning.cost import nbytes, problem_and_state
from jaxtheory.engine.records import Bucket
from jaxtheory.engine.request.request import Request
from jaxtheory.system import machine
from jaxtheory.system.backend import backend, workers
from jaxtheory.texts.errors import InputError

_FIELDS = 3  # named in a refusal at most


def _limit() -> int:
    """Bytes of memory of the machine or its container, or of the accelerators that compute.

    It is 0 if that is unknown.
    """
    if backend() != "cpu":
        used = jax.local_devices()[: workers()]  # one chunk on each, see `execution.local.places`
        return sum(int((d.memory_stats() or {}).get("bytes_limit", 0)) for d in used)
    return machine.memory()


def resident() -> int:
    """Return the bytes of memory that this process uses now, or 0 if that cannot be read."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )
    except (OSError, ValueError, IndexError):
        return 0


def _least_bytes(request: Request, bucket: Bucket) -> int:
    """Lower bound on memory: problems, states and batches of all concurrent chunks.

    No fusion of operations can remove these arrays.
    """
    theory, layout = request.theory, bucket.layout
    key, problem, state = problem_and_state(theory, bucket.algorithm, bucket.template)
    sample = theory.algorithms[bucket.algorithm].sample or theory.sample
    batch = jax.eval_shape(sample, key, problem, bucket.template)
    row = nbytes(problem) + layout.runs * nbytes(state)
    return workers() * layout.rows * (layout.slots * row + nbytes(batch))


def refuse(request: Request, bucket: Bucket) -> None:
    """Raise InputError, with the size fields to reduce, if a bucket cannot fit into memory."""
    most = _limit()
    if not most or bucket.memory <= most or (least := _least_bytes(request, bucket)) <= most:
        return
    table = fields(type(bucket.template))
    halved = {}
    for name, field in table.items():
        if field.kind != "size" or (n := int(getattr(bucket.template, name).cap)) < 2:
            continue
        try:
            smaller = bucket.template.replace(**{name: Size(n // 2)})
            halved[name] = _least_bytes(request, bucket._replace(template=smaller))
        except InputError:  # half of the size is not valid
            continue
    helps = sorted((n for n in halved if halved[n] <= 0.75 * least), key=lambda n: halved[n])
    names = ", ".join(f"{n} ({table[n].symbol})" for n in helps[:_FIELDS]) or "the sizes"
    raise InputError(
        f"not enough memory: this sweep needs at least {machine.bytes_text(least)} and "
        f"{machine.bytes_text(most)} are available; reduce {names}"
    )


def refuse_results(runs: int, least: int) -> None:
    """Raise InputError if the results of these runs, of `least` bytes, exceed memory."""
    most = _limit()
    if most and least > most:
        raise InputError(
            f"not enough memory: the results of {runs} runs take {machine.bytes_text(least)} and "
            f"{machine.bytes_text(most)} are available; record fewer steps or metrics, shorten an "
            "axis, or set store=, which keeps results on disk"
        )
