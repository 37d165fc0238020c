"""Continue a run where it ended."""

from typing import Any

import jax
import numpy as np

from jaxtheory.code.keys import host, raw
from jaxtheory.core.config import canonical
from jaxtheory.core.contract import same_structure
from jaxtheory.engine.records import NEVER, Resumed, Run
from jaxtheory.engine.request.request import Request
from jaxtheory.texts.errors import InputError, require_present


def going_on(request: Request, run: Run, free: bool) -> Request:
    """Return the request of the longer run, with a schedule that has the records of this one.

    With `free`, the schedule was not chosen by the user, and may be changed. Raises InputError if
    the run is not the beginning of the requested one.
    """
    done, end = int(run.steps[-1]), request.points.steps
    if not equal_trees(run.config, canonical(request.config, request.dtype)):
        raise InputError(
            "resume: the run has another config or dtype than this call; pass config=run.config"
        )
    if end < done:
        raise InputError(
            f"steps = {end}: the run to resume has {done} steps already; steps counts from the "
            "beginning, so it must be larger"
        )
    records = request.schedule.records
    early = records[records <= done]
    if free and not np.isin(early, run.steps).all():
        records = np.union1d(run.steps, records[records > done]).astype(np.int32)
        return request._replace(schedule=request.schedule._replace(records=records))
    if missing := sorted({*early.tolist()} - {*run.steps.tolist()}):
        raise InputError(
            f"record: step {missing[0]} is before the end of the run to resume, which has no "
            f"record of it; record steps after {done}, or those of run.steps"
        )
    return request


def resumed_lane(request: Request, run: Run, problem: Any) -> Resumed:
    """Wrap the state of a run as that of a chunk with one run.

    Raises InputError if the problem [slot, row] drawn from the key is not the run's.
    """
    require_present("config of the run to resume", type(run.config), type(request.config))
    if not equal_trees(jax.tree.map(lambda x: host(x)[0, 0], problem), run.problem):
        raise InputError(
            "resume: the run was made with another key, config or problem than this call; pass "
            "the same ones"
        )
    at = lambda step: np.full((1, 1, 1), NEVER if step is None else step, np.int32)
    state = jax.tree.map(lambda x: host(x)[None, None, None], run.state)
    return Resumed(int(run.steps[-1]), state, at(run.diverged_at), at(run.stopped_at))


def prepend_records(
    metrics: dict[str, np.ndarray], request: Request, run: Run
) -> dict[str, np.ndarray]:
    """Return metrics [record, ...] with the records that the run had before."""
    records = request.schedule.records
    early = np.flatnonzero(records <= run.steps[-1])
    places = np.searchsorted(run.steps, records[early])
    which = request.schedule.which
    full_metrics = {}
    for name in {**metrics, **run.metrics}:
        if name not in metrics:  # it was recorded before this run went on
            if which is not None and not {*records[early].tolist()} & which.get(name, frozenset()):
                continue
            stored = run.metrics[name]
            values = np.full((len(records), *stored.shape[1:]), np.nan, stored.dtype)
        else:
            values = np.array(metrics[name])
        if name in run.metrics:
            values[early] = run.metrics[name][places]
        full_metrics[name] = values
    return full_metrics


def equal_trees(one: Any, other: Any) -> bool:
    """True if two trees have equal structures and arrays."""
    leaves = [[raw(x) for x in jax.tree.leaves(tree)] for tree in (one, other)]
    return same_structure(one, other) and all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(*leaves, strict=True)
    )
