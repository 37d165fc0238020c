"""Fresh samples: contexts from thresholded random words, labels from the sparse context; and sequences that go on generating."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt

from jaxtheory.core import draws
from jaxtheory.core.config import Size
from jaxtheory.theories.contextual_bigram.model import SELECTED, Batch, Config, Problem

RESOLUTION = 2**16  # values of half a word


def sample(key: Array, problem: Problem, config: Config) -> Batch:
    """B fresh samples: x_1..x_T and k from mu, s from q^(k), y from P[:, x_s]. Source: equation (1).

    Two tokens share one uint32 word: a token is the number of thresholds c_n 2^16 that its half reaches, c the cumulative mu. Rounding
    the thresholds would bias the law by 2^-16, so each sequence rounds them with its own U ~ U[0, 1): floor(c_n 2^16 + U). That has mean
    c_n 2^16, so each token has the law mu exactly; given U the tokens are independent, and two of them are correlated through U only,
    cov(1[x_s <= n], 1[x_t <= n]) = Var(floor(c_n 2^16 + U)) / 2^32 <= 2^-34. Query, position and label have a full float each.
    """
    N, T, B = config.num_states, config.length, config.batch_size
    for_tokens, for_rest = jax.random.split(key)
    rest = draws.stable(jax.random.uniform, for_rest, B, 4)
    words = draws.words(for_tokens, B.cap, math.ceil(T.cap / 2))
    halves = jax.lax.bitcast_convert_type(words, jnp.uint16).reshape(B.cap, -1)[:, : T.cap]
    tokens = draws.masked(count_reached(halves, thresholds(problem.stationary, rest[:, 0], config), config), B, T)
    query = pick(rest[:, 1], jnp.broadcast_to(problem.stationary[None, :], (B.cap, N.cap)), N)
    places, weights = support(problem, config)
    slot = pick(rest[:, 2], weights[query], config.sparsity)
    attended = jnp.take_along_axis(tokens, places[query, slot][:, None], axis=1)[:, 0].astype(jnp.int32)
    label = pick(rest[:, 3], problem.transition.T[attended], N)
    return Batch(tokens, draws.masked(query, B), draws.masked(label, B))


def thresholds(mu: Float[Array, " N"], U: Float[Array, " B"], config: Config) -> Int[Array, "B N-1"]:
    """floor(c_n 2^16 + U) for n < N - 1, and 2^16, which no half reaches, from token N - 1 on."""
    N = config.num_states
    c = jnp.cumsum(mu)[:-1] * RESOLUTION
    reachable = jnp.arange(N.cap - 1) < jnp.asarray(N.n, int) - 1
    return jnp.where(reachable[None, :], jnp.floor(c[None, :] + U[:, None]), RESOLUTION).astype(jnp.int32)


def count_reached(halves: UInt[Array, "B T"], limits: Int[Array, "B N-1"], config: Config) -> Int[Array, "B T"]:
    """#{n : half >= limit_n}, the token; by comparing with each limit where they are few, by bisection where many."""
    dtype = jnp.uint8 if config.num_states.cap <= 256 else jnp.int32
    if config.num_states.cap > SELECTED:
        find = jax.vmap(lambda limits, halves: jnp.searchsorted(limits, halves, side="right"))
        return find(limits, halves.astype(jnp.int32)).astype(dtype)
    within = limits < RESOLUTION  # comparing 16 bits with 16 bits is fastest, but 2^16 is not among them
    reached = [(halves >= limits[:, n : n + 1].astype(jnp.uint16)) & within[:, n : n + 1] for n in range(limits.shape[1])]
    return sum((r.astype(dtype) for r in reached[1:]), reached[0].astype(dtype))


def pick(u: Float[Array, " B"], laws: Float[Array, "B n"], n: Size | int) -> Int[Array, " B"]:
    """An index from each row's law, by inverting its cumulative sums; never beyond n."""
    passed = u[:, None] >= jnp.cumsum(laws, axis=1)
    return jnp.minimum(jnp.sum(passed, axis=1).astype(jnp.int32), jnp.asarray(n.n, jnp.int32) - 1)


def support(problem: Problem, config: Config) -> tuple[Int[Array, "N Q"], Float[Array, "N Q"]]:
    """The attended positions of each column, heaviest first, and their weights."""
    weights, places = jax.lax.top_k(problem.context.T, min(config.sparsity.cap, config.length.cap))
    return places, weights


def generate(key: Array, problem: Problem, tokens: Int[Array, " T+1"], count: int, config: Config) -> Int[Array, " count"]:
    """Go on from x_1..x_{T+1}: draw the next token, drop the first one, append it, `count` times. Sizes unpadded.

    Beyond the first token the contexts are no longer independent draws from mu. Source: section 2.1, remark on sequences.
    """
    places, weights = support(problem, config)

    def following(window: Array, key: Array) -> tuple[Array, Array]:
        u = jax.random.uniform(key, (2, 1))
        query = window[-1]
        slot = pick(u[0], weights[query][None, :], config.sparsity)[0]
        new = pick(u[1], problem.transition.T[window[places[query, slot]]][None, :], config.num_states)
        return jnp.concatenate([window[1:], new]), new[0]

    return jax.lax.scan(following, jnp.asarray(tokens, jnp.int32), jax.random.split(key, count))[1]
