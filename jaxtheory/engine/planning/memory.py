"""Bytes: what this machine has, what this process holds, and a refusal of what cannot fit."""

import os
from pathlib import Path

import jax

from jaxtheory.core.config import Size, fields
from jaxtheory.core.errors import InputError
from jaxtheory.engine.planning.cost import given, nbytes
from jaxtheory.engine.planning.layout import Bucket
from jaxtheory.engine.request.request import Request
from jaxtheory.system import machine
from jaxtheory.system.backend import backend, workers

_FIELDS = 3  # that a refusal names at most


def _limit() -> int:
    """Bytes that a process can have: of the machine or of its container; of an accelerator where
    JAX uses one. 0: not known.
    """
    if backend() != "cpu":
        return int((jax.local_devices()[0].memory_stats() or {}).get("bytes_limit", 0))
    return machine.memory()


def resident() -> int:
    """Bytes that this process holds now; 0 where that cannot be read."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )
    except (OSError, ValueError, IndexError):
        return 0


def _held(request: Request, bucket: Bucket) -> int:
    """Bytes of problems, states and batches of the chunks side by side: what no fusion of
    operations spares.
    """
    theory, layout = request.theory, bucket.layout
    key, problem, state = given(theory, bucket.algorithm, bucket.template)
    sample = theory.algorithms[bucket.algorithm].sample or theory.sample
    batch = jax.eval_shape(sample, key, problem, bucket.template)
    row = nbytes(problem) + layout.runs * nbytes(state)
    return workers() * layout.rows * (layout.slots * row + nbytes(batch))


def refuse(request: Request, bucket: Bucket) -> None:
    """Raise InputError where what a bucket holds exceeds this machine's memory, with the size
    fields to lower.
    """
    most = _limit()
    if not most or bucket.memory <= most or (least := _held(request, bucket)) <= most:
        return
    table = fields(type(bucket.template))
    halved = {}
    for name, field in table.items():
        if field.kind != "size" or (n := int(getattr(bucket.template, name).cap)) < 2:
            continue
        try:
            smaller = bucket.template.replace(**{name: Size(n // 2)})
            halved[name] = _held(request, bucket._replace(template=smaller))
        except InputError:  # no valid size
            continue
    helps = sorted((n for n in halved if halved[n] <= 0.75 * least), key=lambda n: halved[n])
    lower = ", ".join(f"{n} ({table[n].symbol})" for n in helps[:_FIELDS]) or "the sizes"
    raise InputError(
        f"memory: this holds {machine.bytes_text(least)} at once, and there are "
        f"{machine.bytes_text(most)}; lower {lower}"
    )


def refuse_results(runs: int, least: int) -> None:
    """Raise InputError where so many bytes of results of so many runs exceed this machine's
    memory.
    """
    most = _limit()
    if most and least > most:
        raise InputError(
            f"memory: the results of {runs} runs take {machine.bytes_text(least)}, and there are "
            f"{machine.bytes_text(most)}; record fewer steps or metrics, cut an axis, "
            "or give a store, which keeps them on disk"
        )
