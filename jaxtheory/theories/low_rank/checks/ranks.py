"""Checks of singular values and truncation."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import linalg
from jaxtheory.theories.low_rank import model
from jaxtheory.theories.low_rank.analyses import ranks
from jaxtheory.theories.low_rank.checks import literal, material
from jaxtheory.theories.low_rank.model import Config, Params


@check("singular_values: eigenvalues of Gram matrices", f"{material.PAPER}, figure 2", "equal")
def singular_gram(key: Array, config: Config) -> Compared:
    """Squares of singular values against the eigenvalues of the Gram matrix of each head.

    No singular value is negative. Checked with one a per position.
    """
    if config.output == "shared":
        return None
    params, _, _ = material.setting(key, config)
    want = []
    for W in ranks.matrices(params):
        gram = W @ W.T if W.shape[0] <= W.shape[1] else W.T @ W
        values = linalg.eigvalsh(gram)[::-1]
        want.append(jnp.zeros(ranks.full_rank(config)).at[: len(values)].set(values))
    s = ranks.singular_values(params, config)
    return (s**2, s), (jnp.stack(want), jnp.abs(s))


@check("gap_rank: made-up spectra", "ours", "equal")
def gap_found(key: Array, config: Config) -> Compared:
    """Artificial spectra with one large drop after the r-th value, r = 1..4.

    A zero matrix has rank 0, with 3 rows s_3 is the last, and drops below 0.03 s_1 do not count.
    """
    if not material.plain(config) or config.num_layers > 1:
        return None
    u = 1 + 0.1 * jnp.sort(jax.random.uniform(key, (5,)))[::-1]
    s = jnp.stack(
        [jnp.where(jnp.arange(5) < r, u, 1e-3 * u) for r in range(1, 5)]
        + [jnp.zeros(5), jnp.asarray([4.0, 2.0, 1.5, 0, 0]), jnp.asarray([1, 0.5, 0.1, 1e-3, 0])]
    )
    limit = jnp.asarray([5, 5, 5, 5, 5, 3, 5], jnp.int32)
    return ranks.gap_rank(s, limit).astype(float), jnp.asarray([1.0, 2, 3, 4, 0, 1, 2])


@check("truncation: one decomposition per rank", f"{material.PAPER}, figure 1", "equal")
def truncation_literal(key: Array, config: Config) -> Compared:
    """One decomposition for each rank and matrix, and losses token by token.

    Checked on the examples with several heads.
    """
    if config.num_heads == 1:
        return None
    params, _, problem = material.setting(key, config)
    start = model.initial(problem, config)
    delta = jax.tree.map(jnp.subtract, params, start)
    n, m = ranks.full_rank(config), config.num_neurons.cap

    def cut(matrix_ranks: Array) -> Params:
        triples = zip(start, delta, matrix_ranks, strict=True)
        return Params(*(W + _truncated(D, r) for W, D, r in triples))

    def looked_at(matrix_ranks: Array) -> tuple[Array, ...]:
        p = cut(matrix_ranks)
        _, attention = jax.vmap(lambda X: literal.attention(p, X, config))(problem.test.tokens)
        mass = literal.attention_mass(attention, problem.test, config)
        return (
            literal.loss(p, problem.test, problem, config),
            literal.error(p, problem, config),
            *mass,
        )

    joint_ranks = [[r] * 4 for r in range(1, n + 1)]
    single_ranks = [[1 if i == j else n for j in range(4)] for i in range(4)]
    loss, *measures = jax.lax.map(looked_at, jnp.asarray(joint_ranks + single_ranks))
    half = cut(jnp.broadcast_to(jnp.asarray(config.truncation_rank), (4,)))
    place = literal.places(jnp.linalg.norm(half.output, axis=1))
    count = jnp.asarray([0, (2 * 100 * m + 200) // 400, m])
    pruned = jax.lax.map(
        lambda q: literal.loss(literal.without(half, place >= q), problem.test, problem, config),
        count,
    )
    analyses = ranks.truncation(params, problem, config)
    names = ("truncated_error", "truncated_attention", "truncated_query_attention")
    return (
        analyses["truncated_loss"],
        *(analyses[name] for name in names),
        analyses["alone_truncated_loss"],
        analyses["pruned_truncated_loss"][::100],
    ), (loss[:n], *(x[:n] for x in measures), loss[n:], pruned)


def _truncated(delta: Array, rank: Array) -> Array:
    """Several matrices, each cut to a rank."""
    if delta.ndim == 2:
        return linalg.truncate(delta, rank)
    return jax.vmap(lambda D: _truncated(D, rank))(delta)
