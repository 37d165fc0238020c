"""Problems from a researcher's own prompts."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxtheory.core.arrays import FLOATS, INTEGERS, read_arrays, settle, unknown
from jaxtheory.ops.positions import indices
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.causal_graph import data
from jaxtheory.theories.causal_graph.model import Batch, Config, Problem

SUMS = 1e-5  # largest deviation of a law's sum from 1


def given(
    tokens: Any,
    transitions: Any,
    parents: Any = None,
    test: Any = None,
    **settings: Any,
) -> tuple[Problem, Batch, Config]:
    """Return a problem with your own prompts.

    The parents are used by the metrics alone: training sees only tokens and transitions. The last
    token is the query s_T, and its row of the prompt's transitions is the target.

    Args:
        tokens: The states s_1..s_T of each prompt, integers in [0, S), shape (P, T).
        transitions: The matrix pi of each prompt, whose rows are laws, shape (P, S, S).
        parents: The parents p(i), counted from 1, with 0 where a token has none, shape (T,). None
            for those of the setting `graph`, which must then be "chain" or "pairs".
        test: A tuple (tokens, transitions) of test prompts.
        **settings: Fields of the config, by name or paper symbol.

    Returns:
        (problem, batch, config). Pass the problem as `problem=` to `jaxtheory.simulate` or `sweep`.
        The weights of the prompts are equal and sum to 1.

    Raises:
        InputError: Arrays do not fit each other or the settings, rows are not laws, a matrix has
            more than one stationary law, or a parent does not come before its token.

    Example:
        >>> import numpy as np
        >>> from jaxtheory.theories import causal_graph
        >>> tokens = np.array([[0, 1, 1, 0], [1, 0, 1, 1]])
        >>> transitions = np.full((2, 2, 2), 0.5)
        >>> problem, batch, config = causal_graph.THEORY.given(tokens, transitions)
        >>> config.num_states.n, config.length.n, problem.parents.tolist()
        (2, 4, [0, 1, 2, 0])
    """
    arrays, n = read_arrays(
        {
            "tokens": (tokens, INTEGERS, "P T"),
            "transitions": (transitions, FLOATS, "P S S"),
            "parents": (parents, INTEGERS, "T"),
        }
    )
    read = {"num_states": n["S"], "length": n["T"], "num_prompts": n["P"]}
    config = settle(Config, settings, read)
    s, pi, p = arrays["tokens"], arrays["transitions"], arrays["parents"]
    if p is None:
        if config.graph == "tree":
            raise InputError('parents: give them, as those of graph="tree" are random')
        p = data.parents(jax.random.key(0), config)
    elif bool(jnp.any((p < 0) | (p > indices(n["T"])))):
        raise InputError("parents: p(i) must be 0, or one of 1..i-1; they are counted from 1")
    train = _batch("", s, pi, config)
    test_batch = unknown(train)
    if test is not None:
        if not isinstance(test, tuple) or len(test) != 2:
            raise InputError("test: give (tokens, transitions)")
        test_arrays, m = read_arrays(
            {
                "test tokens": (test[0], INTEGERS, "B T"),
                "test transitions": (test[1], FLOATS, "B S S"),
            }
        )
        for symbol in ("T", "S"):
            if m[symbol] != n[symbol]:
                what = "tokens" if symbol == "T" else "transitions"
                raise InputError(
                    f"test {what}: {symbol} = {m[symbol]}, but {what} have {symbol} = {n[symbol]}"
                )
        test_batch = _batch(
            "test ", test_arrays["test tokens"], test_arrays["test transitions"], config
        )
    statistics = data.information(pi, p, n["P"], config)
    return Problem(p, train, test_batch, *statistics), train, config


def _batch(kind: str, s: Int[Array, "P T"], pi: Float[Array, "P S S"], config: Config) -> Batch:
    """The batch of these prompts; raise InputError where they are not prompts."""
    P, S = pi.shape[:2]
    if not bool(jnp.all((s >= 0) & (s < S))):
        raise InputError(f"{kind}tokens: must be integers in [0, num_states (S)) = [0, {S})")
    if not (bool(jnp.all(pi >= 0)) and bool(jnp.all(jnp.abs(jnp.sum(pi, axis=2) - 1) <= SUMS))):
        raise InputError(
            f"{kind}transitions: entries must be >= 0 and rows must sum to 1; were they meant "
            "transposed?"
        )
    faults = np.linalg.matrix_rank(np.eye(S) - np.asarray(pi, float), tol=SUMS) < S - 1
    if faults.any():
        raise InputError(
            f"{kind}transitions: matrix {int(np.argmax(faults))} has more than one stationary law"
        )
    return data.batch(data.Prompts(s, pi), P, config)
