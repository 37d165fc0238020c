"""Problems from a researcher's own facts."""

from typing import Any

import jax.numpy as jnp

from jaxtheory.core.arrays import FLOATS, INTEGERS, read_arrays, settle
from jaxtheory.core.config import Size
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.factual_recall import data
from jaxtheory.theories.factual_recall.model import Batch, Config, Embedding, Problem


def given(
    facts: Any,
    counts: Any = None,
    test_counts: Any = None,
    answer_embedding: Any = None,
    token_embedding: Any = None,
    **settings: Any,
) -> tuple[Problem, Batch, Config]:
    """Return a problem with your own facts.

    Args:
        facts: The answer a*(s, r) of each subject and relation, integers in [0, D), shape (S, R).
        counts: How often each noise token is in each training prompt, shape (S, R, n, N); None for
            prompts without noise.
        test_counts: The same for test prompts; the metrics of the test are NaN without them.
        answer_embedding: Phi, shape (R, D, d), for the setting embedding = "random".
        token_embedding: E of subjects, relations and noise tokens one after the other, shape
            (V, d), for the same setting.
        **settings: Fields of the config, by name or paper symbol. D is by default the largest
            entry of `facts` plus 1.

    Returns:
        (problem, batch, config). Pass the problem as `problem=` to `jaxtheory.simulate` or `sweep`.

    Raises:
        InputError: Arrays do not fit each other or the settings.

    Example:
        >>> import numpy as np
        >>> from jaxtheory.theories import factual_recall
        >>> facts = np.array([[0, 1], [2, 0], [1, 1]])
        >>> problem, batch, config = factual_recall.THEORY.given(facts)
        >>> config.num_subjects.n, config.num_relations.n, config.num_answers.n
        (3, 2, 3)
    """
    arrays, n = read_arrays(
        {
            "facts": (facts, INTEGERS, "S R"),
            "counts": (counts, FLOATS, "S R n N"),
            "test_counts": (test_counts, FLOATS, "S R n N"),
            "answer_embedding": (answer_embedding, FLOATS, "R D d"),
            "token_embedding": (token_embedding, FLOATS, "V d"),
        }
    )
    answers = arrays["facts"]
    if not bool(jnp.all(answers >= 0)):
        raise InputError("facts: answers of each relation are counted from 0")
    least = int(jnp.max(answers)) + 1
    read = {"num_subjects": n["S"], "num_relations": n["R"]}
    words = {"n": "num_draws", "N": "num_noise", "D": "num_answers", "d": "dimension"}
    read |= {word: n[symbol] for symbol, word in words.items() if symbol in n}
    if "num_answers" not in read and not {"num_answers", "D"} & {*settings}:
        read["num_answers"] = least
    known = arrays["counts"]
    if known is None:
        read |= {"num_noise": 1, "num_draws": 1, "length": 2}
    else:
        totals = jnp.sum(known, axis=3)
        if not bool(jnp.all(totals == totals[0, 0, 0])):
            raise InputError("counts: all prompts must have the same number of noise tokens, T - 2")
        read["length"] = 2 + int(totals[0, 0, 0])
    config = settle(Config, settings, read)
    S, R, D, N, draws, d = (
        Size.wrap(x).cap
        for x in (
            config.num_subjects,
            config.num_relations,
            config.num_answers,
            config.num_noise,
            config.num_draws,
            config.dimension,
        )
    )
    if least > D:
        raise InputError(f"facts: answers must be in [0, num_answers (D)) = [0, {D})")
    zero = jnp.zeros((S, R, draws, N))
    train = Batch(answers, zero if known is None else known, data.weights(config))
    unseen = arrays["test_counts"]
    test = train._replace(counts=unseen if unseen is not None else jnp.full_like(zero, jnp.nan))
    E, Phi = arrays["token_embedding"], arrays["answer_embedding"]
    if config.embedding == "random" and (E is None or Phi is None):
        raise InputError('token_embedding, answer_embedding: embedding = "random" needs both')
    if E is not None and len(E) != S + R + N:
        raise InputError(f"token_embedding: has {len(E)} rows, expected S + R + N = {S + R + N}")
    E = jnp.zeros((S + R + N, d)) if E is None else E
    Phi = jnp.zeros((R, D, d)) if Phi is None else Phi
    return Problem(train, test, Embedding(E[:S], E[S : S + R], E[S + R :], Phi)), train, config
