"""Problems from a researcher's own task and samples."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxtheory.core.arrays import FLOATS, INTEGERS, read_arrays, settle
from jaxtheory.core.errors import InputError
from jaxtheory.ops import draws
from jaxtheory.theories.contextual_bigram import data, model
from jaxtheory.theories.contextual_bigram.model import Batch, Config, Problem

SUMS = 1e-5  # largest deviation of a law's sum from 1


def given(
    transition: Any = None,
    context: Any = None,
    tokens: Any = None,
    query: Any = None,
    labels: Any = None,
    *,
    pretrained: Any = None,
    seed: int = 0,
    **settings: Any,
) -> tuple[Problem, Batch, Config]:
    """Return (problem, batch, config) for your own task, or samples, or both: P (N, N) and Q (T,
    N), whose columns are laws; contexts (B, T), last tokens k (B,) and labels y (B,), integers in
    [0, N).

    Without samples the batch is drawn from the task by `seed`; training always draws. Without a
    task, P, Q and what is measured against them are NaN; loss and gradient need the samples alone.
    pretrained: P~, P itself if None. Start from A and V of your own by `Params(A, V)`. Raises
    InputError for arrays that do not fit each other or the settings.
    """
    arrays, n = read_arrays(
        {
            "transition": (transition, FLOATS, "N N"),
            "context": (context, FLOATS, "T N"),
            "pretrained": (pretrained, FLOATS, "N N"),
            "tokens": (tokens, INTEGERS, "B T"),
            "query": (query, INTEGERS, "B"),
            "labels": (labels, INTEGERS, "B"),
        }
    )
    task = [arrays[name] for name in ("transition", "context")]
    samples = [arrays[name] for name in ("tokens", "query", "labels")]
    for names, group in (("transition and context", task), ("tokens, query and labels", samples)):
        if any(x is None for x in group) != all(x is None for x in group):
            raise InputError(f"{names}: give all of them, or none")
    if task[0] is None and samples[0] is None:
        raise InputError("give transition and context, or tokens, query and labels, or all five")
    read = {"length": n["T"]} | ({"batch_size": n["B"]} if "B" in n else {})
    least: dict[str, Any] = {"stationary_floor": 0.0}
    if task[0] is None:
        top = max(int(jnp.max(x)) for x in samples)
        config = settle(Config, settings, read, num_states=max(2, top + 1), **least)
    else:
        places = [np.flatnonzero(q) for q in np.asarray(context).T]
        read |= {"num_states": n["N"], "sparsity": max(map(len, places))}
        even = all(
            np.ptp(q[at]) <= SUMS
            for q, at in zip(np.asarray(context).T, places, strict=True)
            if len(at)  # a column of zeros raises an error below
        )
        config = settle(Config, settings, read, weights="uniform" if even else "unequal", **least)
    N = config.num_states
    for name, x in zip(("tokens", "query", "labels"), samples, strict=True):
        if x is not None and not bool(jnp.all((x >= 0) & (x < N.cap))):
            raise InputError(f"{name}: must be integers in [0, num_states (N)) = [0, {N.cap})")
    problem = unknown_task(config) if task[0] is None else own_task(arrays, config)
    if samples[0] is None:
        return problem, data.sample(draws.run_key(seed, 0), problem, config), config
    kind = jnp.uint8 if N.cap <= 256 else jnp.int32
    return problem, Batch(samples[0].astype(kind), samples[1], samples[2]), config


def own_task(arrays: dict[str, Any], config: Config) -> Problem:
    """A given P with its stationary law, a given Q, and P~. Raise InputError where columns are not
    laws, or P fails the conditions on a given P.
    """
    for name in ("transition", "context", "pretrained"):
        x = arrays[name]
        if x is not None and not (
            bool(jnp.all(x >= 0)) and bool(jnp.all(jnp.abs(jnp.sum(x, axis=0) - 1) <= SUMS))
        ):
            raise InputError(
                f"{name}: entries must be >= 0 and columns must sum to 1; was it meant transposed?"
            )
    P, Q = (
        arrays[name] / jnp.sum(arrays[name], axis=0, keepdims=True)
        for name in ("transition", "context")
    )
    exact = np.asarray(P, float)
    wrong = model.given_violations(exact / exact.sum(axis=0), config.num_states.n)
    if wrong:
        raise InputError(wrong[0].replace("given (P)", "transition"))
    return Problem(
        P, data.stationary(P), Q, P if arrays["pretrained"] is None else arrays["pretrained"]
    )


def unknown_task(config: Config) -> Problem:
    """A task of NaN, for samples without a given task."""
    N, T = config.num_states.cap, config.length.cap
    return Problem(*(jnp.full(shape, jnp.nan) for shape in ((N, N), (N,), (T, N), (N, N))))
