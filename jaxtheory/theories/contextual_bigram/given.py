"""Problems from a researcher's own task and samples."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxtheory.core.arrays import FLOATS, INTEGERS, read_arrays, settle
from jaxtheory.ops import draws
from jaxtheory.texts.errors import InputError
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
    """Return a problem with your own task, your own samples, or both.

    Without samples the batch is drawn from the task by `seed`. Training always draws its batches.
    Without a task, P, Q and the metrics that compare with them are NaN, while loss and gradient
    need only the samples. To start from your own A and V, pass `Params(A, V)` as `start=`.

    Args:
        transition: P, whose columns are laws, shape (N, N).
        context: Q, whose columns are laws, shape (T, N).
        tokens: The contexts x_1..x_T of B samples, integers in [0, N), shape (B, T).
        query: Their last tokens k, integers in [0, N), shape (B,).
        labels: Their labels y, integers in [0, N), shape (B,).
        pretrained: P~, shape (N, N); None for P itself.
        seed: The seed of the batch.
        **settings: Fields of the config, by name or paper symbol.

    Returns:
        (problem, batch, config). Pass the problem as `problem=` to `jaxtheory.simulate` or `sweep`.

    Raises:
        InputError: Arrays do not fit each other or the settings.

    Example:
        >>> import numpy as np
        >>> from jaxtheory.theories import contextual_bigram
        >>> P, Q = np.array([[0.9, 0.2], [0.1, 0.8]]), np.eye(3, 2)
        >>> problem, batch, config = contextual_bigram.THEORY.given(P, Q)
        >>> config.num_states.n, config.length.n
        (2, 3)
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
    """A given P with its stationary law, a given Q, and P~.

    Raise InputError where columns are not laws, or P fails the conditions on a given P.
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
