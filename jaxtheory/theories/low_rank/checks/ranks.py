"""Checks of singular values and truncation."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core import linalg
from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.low_rank import model
from jaxtheory.theories.low_rank.analyses import ranks
from jaxtheory.theories.low_rank.checks import literal, material
from jaxtheory.theories.low_rank.model import Config, Params


def singular_gram(key: Array, config: Config) -> Compared:
    """Squares against the eigenvalues of the Gram matrix of each head."""
    params, _, _ = material.setting(key, config)
    want = []
    for W in ranks.matrices(params):
        gram = W @ W.T if W.shape[0] <= W.shape[1] else W.T @ W
        values = linalg.eigvalsh(gram)[::-1]
        want.append(jnp.zeros(ranks.full_rank(config)).at[: len(values)].set(values))
    return ranks.singular_values(params, config) ** 2, jnp.stack(want)


def gap_found(key: Array, _config: Config) -> Compared:
    """Made-up spectra with one large drop after the r-th value, r = 1..4; a zero matrix has rank 0;
    with 3 rows s_3 is the last.
    """
    u = 1 + 0.1 * jnp.sort(jax.random.uniform(key, (5,)))[::-1]
    s = jnp.stack(
        [jnp.where(jnp.arange(5) < r, u, 1e-3 * u) for r in range(1, 5)]
        + [jnp.zeros(5), jnp.asarray([4.0, 2.0, 1.5, 0, 0])]
    )
    limit = jnp.asarray([5, 5, 5, 5, 5, 3], jnp.int32)
    return ranks.gap_rank(s, limit).astype(float), jnp.asarray([1.0, 2.0, 3.0, 4.0, 0.0, 1.0])


def truncation_literal(key: Array, config: Config) -> Compared:
    """One decomposition per rank and matrix, losses token by token."""
    params, _, made = material.setting(key, config)
    start = model.initial(made, config)
    delta = jax.tree.map(jnp.subtract, params, start)
    n = ranks.full_rank(config)

    def cut(each: tuple) -> Params:
        return Params(*(_truncated(W, D, r) for W, D, r in zip(start, delta, each, strict=True)))

    def mass(p: Params) -> Array:
        _, attention = jax.vmap(lambda X: literal.attention(p, X, config))(made.test.tokens)
        return jnp.stack(literal.attention_mass(attention, made.test, config))

    several = jax.tree.map(lambda *x: jnp.stack(x), *[cut((r,) * 4) for r in range(1, n + 1)])
    alone = jax.tree.map(
        lambda *x: jnp.stack(x),
        *[cut(tuple(1 if i == j else n for j in range(4))) for i in range(4)],
    )
    of = jax.vmap(lambda p: literal.loss(p, made.test, made, config))
    found = ranks.truncation(params, made, config)
    half = cut((config.truncation_rank,) * 4)
    m = config.num_neurons.cap
    size = jnp.linalg.norm(half.output, axis=1)
    kept = (literal.places(size)[None] >= jnp.arange(m + 1)[:, None]).astype(float)
    pruned = jax.vmap(lambda k: literal.loss(literal.without(half, k), made.test, made, config))(
        kept
    )
    masses = jax.vmap(mass)(several)
    names = (
        "truncated_loss",
        "truncated_error",
        "truncated_attention",
        "truncated_query_attention",
        "alone_truncated_loss",
    )
    return (*(found[name] for name in names), found["pruned_truncated_loss"][:: 200 // 2]), (
        of(several),
        jax.vmap(lambda p: literal.error(p, made, config))(several),
        masses[:, 0],
        masses[:, 1],
        of(alone),
        pruned[np.array([0, (2 * 100 * m + 200) // 400, m])],
    )


def _truncated(W: Array, delta: Array, rank: Any) -> Array:
    if delta.ndim == 2:
        return W + linalg.truncate(delta, rank)
    return W + jnp.stack([jnp.stack([linalg.truncate(h, rank) for h in layer]) for layer in delta])


CHECKS = (
    Check(
        "singular_values: eigenvalues of Gram matrices",
        f"{material.PAPER}, figure 2",
        "equal",
        singular_gram,
    ),
    Check("gap_rank: made-up spectra", "ours", "equal", gap_found),
    Check(
        "truncation: one decomposition per rank",
        f"{material.PAPER}, figure 1",
        "equal",
        truncation_literal,
    ),
)
