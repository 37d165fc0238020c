"""Data of a run: a graph of parents, prompts that follow it, and what their tokens tell.

Source: arXiv 2402.14735. Its prompts have a stationary law at tokens without a parent, and a
uniform query. The floor of pi is ours.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.ops.positions import indices
from jaxtheory.theories.causal_graph.model import Batch, Data, Problem

TEST_PROMPTS = 2000
LEAST = 1e-6  # added to the entries of pi before they are normalized, so that mu is unique


class Prompts(NamedTuple):
    """Prompts with their transitions; padded prompts, positions and states are zero."""

    s: Int[Array, "P T"]
    pi: Float[Array, "P S S"]


def problem(key: Array, config: Data) -> Problem:
    """Draw the graph, P training prompts and 2000 test prompts."""
    p, train, test = raw(key, config)
    return make_problem(p, train, test, config.num_prompts, TEST_PROMPTS, config)


def raw(key: Array, config: Data) -> tuple[Int[Array, " T"], Prompts, Prompts]:
    """Draw the parents, the training prompts and the test prompts."""
    for_graph, for_train, for_test = jax.random.split(key, 3)
    p, P = parents(for_graph, config), Size.wrap(config.num_prompts)
    keys = jax.random.split(for_train, P.cap), jax.random.split(for_test, TEST_PROMPTS)
    pool = prompts(jnp.concatenate(keys), p, config)  # at once: random numbers are slow to compile
    train = Prompts(*(draws.masked(x[: P.cap], P) for x in pool))
    return p, train, Prompts(*(x[P.cap :] for x in pool))


def make_problem(
    p: Int[Array, " T"],
    train: Prompts,
    test: Prompts,
    count: Size | int,
    test_count: Size | int,
    config: Data,
) -> Problem:
    """The problem of these prompts. The information is that of the training prompts."""
    statistics = information(train.pi, p, count, config)
    return Problem(p, batch(train, count, config), batch(test, test_count, config), *statistics)


def sample(key: Array, problem: Problem, config: Data) -> Batch:
    """Return the fixed training prompts, or draw new ones with the same graph."""
    if config.prompts == "fixed":
        return problem.train
    P = Size.wrap(config.num_prompts)
    new = prompts(jax.random.split(key, P.cap), problem.parents, config)
    return batch(Prompts(*(draws.masked(x, P) for x in new)), P, config)


def batch(prompts: Prompts, count: Size | int, config: Data) -> Batch:
    """The batch of these prompts. Padded prompts must be zero."""
    last = jnp.asarray(Size.wrap(config.length).n, jnp.int32) - 1
    query = jnp.take(prompts.s, last, axis=1)
    target = jnp.take_along_axis(prompts.pi, query[:, None, None], axis=1)[:, 0]
    return Batch(prompts.s, query, target, Size.wrap(count).weights())


def parents(key: Array, config: Data) -> Int[Array, " T"]:
    """The parents p(i), counted from 1; 0 for tokens without one and for padded ones.

    chain    p(i) = i - 1
    tree     p(i) uniform on 1..i-1
    pairs    p(i) = i - 1 for even i; odd tokens have no parent

    The first token has none, and a uniform query has none.
    """
    T = Size.wrap(config.length)
    i = indices(T.cap)  # the number of tokens before token i + 1
    p = i
    if config.graph == "tree":
        p = jnp.minimum(1 + (draws.uniform(key, T) * i.astype(jnp.float32)).astype(jnp.int32), i)
    elif config.graph == "pairs":
        p = jnp.where(i % 2 == 1, i, 0)
    last = jnp.asarray(T.n, jnp.int32) - 1
    end = last + 1 if config.query == "graph" else last
    return jnp.where(i < end, p, 0)


def transitions(keys: Array, config: Data) -> Float[Array, "P S S"]:
    """Draw pi for each key: independent Dirichlet rows, with the floor `LEAST`."""
    S, alpha = config.num_states, jnp.asarray(config.concentration, float)
    draw = lambda key, shape: jax.random.loggamma(key, alpha, shape)
    logs = jax.vmap(lambda key: draws.stable(draw, key, S, S))(keys)
    valid = Size.wrap(S).mask()[None, None, :]
    top = jnp.max(jnp.where(valid, logs, -jnp.inf), axis=2, keepdims=True)
    rows = jnp.where(valid, jnp.exp(jnp.where(valid, logs - top, 0)), 0)
    rows = rows / jnp.sum(rows, axis=2, keepdims=True)
    n = jnp.asarray(Size.wrap(S).real, float)
    valid_pairs = valid & valid.transpose(0, 2, 1)
    return jnp.where(valid_pairs, (rows + LEAST) / (1 + n * LEAST), 0)


def stationary(pi: Float[Array, "P S S"]) -> Float[Array, "P S"]:
    """The stationary law mu of each pi, by elimination of one state after the other.

    State n is left out of the chain on 0..n: pi_ij <- pi_ij + pi_in pi_nj / sum_{k < n} pi_nk.
    Then mu_n = sum_{i < n} mu_i pi_in / sum_{k < n} pi_nk. Nothing is subtracted, so that small
    entries are accurate. Padded states are never entered and have mu = 0.
    """
    for n in range(pi.shape[1] - 1, 0, -1):
        out = jnp.sum(pi[:, n, :n], axis=1)
        into = pi[:, :n, n] / jnp.where(out > 0, out, 1)[:, None]
        pi = pi.at[:, :n, :n].add(into[:, :, None] * pi[:, n, None, :n])
        pi = pi.at[:, :n, n].set(into)
    mu = jnp.ones_like(pi[:, :1, 0])
    for n in range(1, pi.shape[1]):
        mu = jnp.append(mu, jnp.sum(mu * pi[:, :n, n], axis=1, keepdims=True), axis=1)
    return mu / jnp.sum(mu, axis=1, keepdims=True)


def prompts(keys: Array, p: Int[Array, " T"], config: Data) -> Prompts:
    """Draw pi and the states of one prompt for each key, token by token."""
    for_pi, for_s = jnp.moveaxis(jax.vmap(jax.random.split)(keys), 1, 0)
    pi = transitions(for_pi, config)
    u = jax.vmap(lambda key: draws.uniform(key, config.length))(for_s)
    return Prompts(states(pi, u, p, config), pi)


def states(
    pi: Float[Array, "P S S"], u: Float[Array, "P T"], p: Int[Array, " T"], config: Data
) -> Int[Array, "P T"]:
    """The states s_i: the number of entries of the cumulative law of s_i that are at most u_i."""
    S, T = Size.wrap(config.num_states), Size.wrap(config.length)
    uniform = jnp.broadcast_to(S.weights()[None, :], pi.shape[::2])
    first = stationary(pi) if config.first == "stationary" else uniform
    laws = jnp.concatenate([pi, first[:, None], uniform[:, None]], axis=1)
    least = jnp.cumsum(laws, axis=2)
    last = jnp.asarray(T.n, jnp.int32) - 1
    before_last = (indices(S.cap) < jnp.asarray(S.n, jnp.int32) - 1)[None, :]

    def token(s: Int[Array, "P T"], i: Int[Array, ""]) -> tuple[Int[Array, "P T"], None]:
        row = jnp.where(p[i] > 0, jnp.take(s, p[i] - 1, axis=1), S.cap)
        if config.query == "uniform":
            row = jnp.where(i == last, S.cap + 1, row)
        bounds = jnp.take_along_axis(least, row[:, None, None], axis=1)[:, 0]
        passed = (jnp.take(u, i, axis=1)[:, None].astype(bounds.dtype) >= bounds) & before_last
        return s.at[:, i].set(jnp.sum(passed, axis=1, dtype=jnp.int32)), None

    s, _ = jax.lax.scan(token, jnp.zeros(u.shape, jnp.int32), indices(T.cap))
    return s


def generations(p: Int[Array, " T"]) -> Int[Array, "T T"]:
    """The number of steps from token i (row) up to its last common ancestor with token j (column).

    It is -1 where they have none.
    """
    T = len(p)

    def token(up: Int[Array, "T T"], i: Int[Array, ""]) -> tuple[Int[Array, "T T"], None]:
        parent = p[i] - 1  # -1 reads the last token, which has no ancestors before its own turn
        above, below = jnp.take(up, parent, axis=0), jnp.take(up, parent, axis=1)
        up = up.at[i].set(jnp.where(above >= 0, above + 1, -1)).at[:, i].set(below)
        return up.at[i, i].set(0), None

    start = jnp.full((T, T), -1, jnp.int32)
    return jax.lax.scan(token, start, indices(T))[0]


def information(
    pi: Float[Array, "P S S"], p: Int[Array, " T"], count: Size | int, config: Data
) -> tuple[Float[Array, "T T"], Float[Array, "T T"]]:
    """The information I_ij and the overlap G_ij for j <= i, as means over the matrices pi.

    With M = D^(1/2) pi D^(-1/2), D = diag mu, and k, l steps from tokens j, i up to their last
    common ancestor, N = (M^k)^T M^l has entries P(s_j = a, s_i = b) / sqrt(mu_a mu_b), and

        I_ij = sum_ab P(s_j = a, s_i = b)^2 / (mu_a mu_b) - 1 = <M^k (M^k)^T, M^l (M^l)^T> - 1
        G_ij = sum_ab P(s_j = a, s_i = b) pi(b|a) / mu_b - 1 = <M^(k+1), M^l> - 1

    I is the chi-squared mutual information. G is what the first gradient of A1 sees (`laws`); they
    are equal for j = p(i). Both are 0 without a common ancestor. Each token has the law mu, as
    with first = stationary; a uniform query counts as its position in the graph, without a parent.
    """
    T = Size.wrap(config.length)
    mu = jnp.sqrt(stationary(pi))
    M = mu[:, :, None] * pi / jnp.where(mu > 0, mu, 1)[:, None, :]
    eye = jnp.where((mu > 0)[:, :, None], jnp.eye(mu.shape[1])[None], 0)
    step = lambda power, _: (jnp.einsum("pij,pjk->pik", power, M), power)
    _, powers = jax.lax.scan(step, eye, None, length=T.cap + 1)  # M^0 .. M^T
    weight = Size.wrap(count).weights()
    flat = lambda x: x.reshape(T.cap + 1, -1)
    squares = jnp.einsum("npij,npkj->npik", powers, powers)
    weighted = flat(weight[None, :, None, None] * squares)
    by_squares = weighted @ flat(squares).T - 1
    by_powers = flat(weight[None, :, None, None] * powers) @ flat(powers).T - 1
    up = generations(p)
    related = (up >= 0) & (indices(T.cap)[None, :] <= indices(T.cap)[:, None]) & T.mask()[:, None]
    down = jnp.maximum(up, 0)  # from i, and its transpose from j
    entries = by_squares[down.T, down], by_powers[down.T + 1, down]
    return jnp.where(related, entries[0], 0), jnp.where(related, entries[1], 0)
