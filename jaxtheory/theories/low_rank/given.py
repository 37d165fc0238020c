"""Problems from a researcher's own samples and start matrices."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxtheory.core import config as fields
from jaxtheory.core.arrays import FLOATS, INTEGERS, read_arrays, settle, unknown, with_settings
from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.low_rank import data, model
from jaxtheory.theories.low_rank.model import Batch, Config, Params, Problem

EXTRAS = {
    "pattern": (INTEGERS, "n L"),
    "patterns": (FLOATS, "M d"),
    "signs": (FLOATS, "K m T"),
    "test_tokens": (FLOATS, "tests L d"),
    "test_labels": (INTEGERS, "tests"),
    "test_pattern": (INTEGERS, "tests L"),
}


@with_settings
def given(
    tokens: Any,
    labels: Any,
    query: Any = None,
    key: Any = None,
    value: Any = None,
    output: Any = None,
    /,
    **more: Any,
) -> tuple[Problem, Batch, Config]:
    """Return a problem with your own samples and, if you like, start matrices.

    With several layers and heads W_Q, W_K and W_V have the leading axes (n_l, H). The start is
    drawn by `seed` where it is not given.

    Args:
        tokens: The tokens X, shape (n, L, d).
        labels: Classes, integers from 0, shape (n,). With two classes, 0 is y = +1 and 1 is y = -1.
        query: The start W_Q, shape (m_b, d). Give all four start matrices or none.
        key: The start W_K, shape (m_b, d).
        value: The start W_V, shape (m_a, d).
        output: The start W_O, shape (m, m_a).
        **more: Fields of the config, by name or paper symbol; `seed`; and these arrays:
            `patterns` (M, d) is U, and `pattern` (n, L) holds the index in U of each token; without
            it no token is relevant. `signs` (K, m, T) are the signs of A, drawn if not given.
            `test_tokens`, `test_labels` and `test_pattern` are for the test metrics, which are NaN
            without.

    Returns:
        (problem, batch, config). Pass the problem as `problem=` to `jaxtheory.simulate` or `sweep`.
        The weights of the samples are equal and sum to 1.

    Raises:
        InputError: Arrays do not fit each other or the settings.

    Example:
        >>> import numpy as np
        >>> from jaxtheory.theories import low_rank
        >>> X, y = np.ones((6, 3, 4)), np.array([0, 1, 0, 1, 0, 1])
        >>> problem, batch, config = low_rank.THEORY.given(X, y, num_neurons=8)
        >>> config.num_samples.n, config.dimension.n
        (6, 4)
    """
    heads = "nl H " if np.ndim(query) == 4 else ""
    seed, extras = more.pop("seed", 0), {name: more.pop(name, None) for name in EXTRAS}
    arrays, n = read_arrays(
        {
            "tokens": (tokens, FLOATS, "n L d"),
            "labels": (labels, INTEGERS, "n"),
            "query": (query, FLOATS, f"{heads}q d"),
            "key": (key, FLOATS, f"{heads}q d"),
            "value": (value, FLOATS, f"{heads}m_a d"),
            "output": (output, FLOATS, "m m_a"),
            **{name: (array, *EXTRAS[name]) for name, array in extras.items()},
        }
    )
    matrices = [arrays[name] for name in Params._fields]
    if any(W is None for W in matrices) != all(W is None for W in matrices):
        raise InputError("query, key, value and output: give all four start matrices, or none")
    if (arrays["test_tokens"] is None) != (arrays["test_labels"] is None):
        raise InputError("test_tokens and test_labels: give both, or neither")
    config = own_config(arrays, n, more)
    train = samples(arrays, "", config)
    test = unknown(train) if arrays["test_tokens"] is None else samples(arrays, "test_", config)
    drawn, normal, basis, shuffle = data.start(draws.run_key(seed, 0), config)
    A = drawn if arrays["signs"] is None else arrays["signs"]
    nowhere = jnp.full((config.num_patterns.cap, n["d"]), jnp.nan)
    U = nowhere if arrays["patterns"] is None else arrays["patterns"]
    lead = lambda W: W if heads else W[None, None]
    W_Q, W_K, W_V, W_O = matrices
    start = None if W_Q is None else Params(lead(W_Q), lead(W_K), lead(W_V), W_O)
    problem = Problem(train, test, U, A, normal, basis, shuffle, start)
    model.fit(model.initial(problem, config), train, problem, config)
    return problem, train, config


def samples(arrays: dict[str, Any], kind: str, config: Config) -> Batch:
    """Given samples with weights 1/n. Tokens of unknown pattern have none."""
    tokens, labels, pattern = (arrays[kind + name] for name in ("tokens", "labels", "pattern"))
    if pattern is None:
        pattern = jnp.full(tokens.shape[:2], config.num_patterns.cap, jnp.int32)
    return Batch(tokens, labels, pattern, Size(len(labels)).weights())


def own_config(arrays: dict[str, Any], n: dict[str, int], settings: dict[str, Any]) -> Config:
    """The config of given samples.

    All L tokens count as `num_relevant` where the settings name no counts, and the other sizes that
    nothing determines are as small as possible.
    """
    labels = [arrays[name] for name in ("labels", "test_labels") if arrays[name] is not None]
    low, top = (int(f(jnp.stack([f(y) for y in labels]))) for f in (jnp.min, jnp.max))
    heads, layers = n.get("H", 1), n.get("nl", 1)
    read = {"dimension": n["d"], "num_samples": n["n"]}
    words = {"m_a": "value_dim", "m": "num_neurons", "M": "num_patterns", "tests": "num_test"}
    read |= {word: n[symbol] for symbol, word in words.items() if symbol in n}
    read |= {"query_dim": n["q"] * heads} if "q" in n else {}
    table = fields.fields(Config)
    small = {word: min(table[word].default, n["d"]) for word in ("query_dim", "value_dim")}
    classes = max(2, top + 1)
    sizes = {
        **small,
        "num_classes": classes,
        "task": "binary" if classes == 2 else "multiclass",
        "num_relevant_patterns": classes,
        "num_patterns": max(3, classes),
        "num_relevant": n["L"],
        "num_confusion": 0,
        "num_irrelevant_each": 0,
        "num_heads": heads,
        "num_layers": layers,
        "num_test": n["n"],
        "batch_size": min(table["batch_size"].default, n["n"]),
        "truncation_rank": min(2, *(n.get(s, n["d"]) for s in ("q", "m_a", "m", "d"))),
    }
    config = settle(Config, settings, read, **sizes)
    L, C = model.length(config).cap, config.num_classes.cap
    if n["L"] != L:
        raise InputError(
            f"num_relevant (nrel): L = nrel + nconf + per (M - R) is {L}, tokens have "
            f"{n['L']}; leave the counts out, or change them"
        )
    if low < 0 or top >= C:
        raise InputError(f"num_classes (C) = {C}: labels are {low} to {top}, expected 0 to {C - 1}")
    return config
