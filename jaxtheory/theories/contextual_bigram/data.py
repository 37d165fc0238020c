"""Data of a run: a transition, a sparse context, a pre-trained transition, and fresh samples.

The transition has its stationary law, and the pre-trained one is correlated with it.
"""

import math

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtri
from jaxtyping import Array, Float, Int, Integer

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.ops.positions import indices
from jaxtheory.theories.contextual_bigram import model
from jaxtheory.theories.contextual_bigram.model import Batch, Config, Problem

CANDIDATES = 16  # transition matrices drawn, of which one is taken
LEAST_SIGNAL = (
    0.01  # smallest K_P / |mu|^2 of a drawn P; rates are divided by K_P (assumption 2.1c)
)
PROPOSALS = 8  # of the rejection sampler of gamma numbers
RESOLUTION = 2**16  # values of half a word


def problem(key: Array, config: Config) -> Problem:
    """Draw a task, or use the given P.

    All four arrays are normalized, so padding may change their last bits.
    """
    for_P, for_Q, for_pretrained = jax.random.split(key, 3)
    if config.given is None:
        P, mu = drawn_transition(for_P, config)
    else:
        n = len(config.given)
        P = jnp.zeros((config.num_states.cap,) * 2).at[:n, :n].set(jnp.asarray(config.given, float))
        mu = stationary(P)
    return Problem(P, mu, context(for_Q, config), pretrained(for_pretrained, P, mu, config))


def drawn_transition(key: Array, config: Config) -> tuple[Float[Array, "N N"], Float[Array, " N"]]:
    """Draw P with columns Dirichlet(alpha0, .., alpha0), together with its stationary mu.

    It is the first of 16 candidates with min mu >= mu0 and K_P >= |mu|^2 / 100. If none has both,
    it is the one with the largest min mu among those of enough K_P. This is a rejection with a
    bounded number of draws. Source: the source draws P at random; the law and the floors are
    reconstructed.
    """
    N = config.num_states
    rows = N.replace(
        cap=N.cap * CANDIDATES, value=None if N.value is None else N.value * CANDIDATES
    )
    # [candidate, y, x]
    P = dirichlet(key, rows, config).reshape(N.cap, CANDIDATES, N.cap).transpose(1, 2, 0)
    mu = jax.vmap(stationary)(P)
    least = jnp.min(jnp.where(N.mask()[None, :], mu, jnp.inf), axis=1)
    # K_P
    signal = jnp.sum(
        mu[:, None, :] * jnp.where(N.mask()[None, None, :], P - mu[:, :, None], 0) ** 2, axis=(1, 2)
    )
    varied = signal >= LEAST_SIGNAL * jnp.sum(mu**2, axis=1)
    good = varied & (least >= config.stationary_floor)
    chosen = jnp.where(jnp.any(good), jnp.argmax(good), jnp.argmax(jnp.where(varied, least, -1)))
    return P[chosen], mu[chosen]


def dirichlet(key: Array, rows: Size, config: Config) -> Float[Array, "rows N"]:
    """Draw laws on N tokens from Dirichlet(alpha0, .., alpha0), one in each row.

    They are zero beyond the sizes.

    Gamma(alpha) = Gamma(alpha + 1) U^(1/alpha), normalized; Gamma(alpha + 1) is d v with d = alpha
    + 2/3, v = (1 + x / sqrt(9 d))^3 and x ~ N(0, 1), accepted where v > 0 and log U' < x^2/2 + d (1
    - v + log v), more than 95 % of the time (Marsaglia and Tsang 2000). The first accepted of 8
    proposals is used; one entry in 10^10 has none and uses the first. All is computed in
    logarithms, since small alpha underflows.
    """
    N, alpha = config.num_states, jnp.asarray(config.concentration, float)
    width = 2 * PROPOSALS + 1
    draw = lambda k, shape: jax.random.uniform(k, (shape[0] * width,)).reshape(shape[0], width)
    u = draws.stable(draw, key, rows, N)
    x, log_u = ndtri(u[..., :PROPOSALS]), jnp.log1p(-u[..., PROPOSALS:])
    d = alpha + 2 / 3
    v = (1 + x / jnp.sqrt(9 * d)) ** 3
    log_v = jnp.log(jnp.where(v > 0, v, 1))
    accepted = (v > 0) & (log_u[..., 1:] < x**2 / 2 + d * (1 - v + log_v))
    first = jnp.argmax(accepted, axis=2, keepdims=True)
    log_gamma = jnp.take_along_axis(log_v, first, axis=2)[..., 0] + log_u[..., 0] / alpha
    laws = jax.nn.softmax(jnp.where(N.mask()[None, :], log_gamma, -jnp.inf), axis=1)
    return jnp.where(rows.mask()[:, None] & N.mask()[None, :], laws, 0)


def stationary(P: Float[Array, "N N"]) -> Float[Array, " N"]:
    """The law mu with P mu = mu and sum 1, for irreducible P whose columns sum to 1.

    It is zero for states without transitions (padding).

    It is computed by Grassmann-Taksar-Heyman elimination: states are removed from the last on, and
    the flow through them is passed on to the earlier ones. Nothing is subtracted, so every entry
    has a small relative error.
    """
    n = len(P)
    states = jnp.arange(n)

    def eliminate(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        R, inflow = carry  # R[x, y]: from x to y
        k = n - 1 - i
        out = jnp.where(states < k, R[k], 0)
        total = jnp.sum(out)
        into = jnp.where(states < k, R[:, k] / jnp.where(total > 0, total, 1), 0)
        return R + into[:, None] * out[None, :], inflow.at[k].set(into)

    _, inflow = jax.lax.fori_loop(0, n - 1, eliminate, (P.T, jnp.zeros_like(P)))
    first = jnp.where(states == 0, jnp.ones_like(P[0]), 0)
    mu = jax.lax.fori_loop(1, n, lambda k, mu: mu.at[k].set(jnp.sum(inflow[k] * mu)), first)
    return mu / jnp.sum(mu)


def context(key: Array, config: Config) -> Float[Array, "T N"]:
    """Draw Q: each column is a law on Q random positions.

    The weights are 1/Q, or proportional to 1 + U(0, 1) where weights are unequal.
    """
    N, T, Q = config.num_states, config.length, config.sparsity
    for_places, for_weights = jax.random.split(key)
    order = jnp.argsort(
        jnp.where(T.mask()[None, :], draws.uniform(for_places, N, T), jnp.inf), axis=1
    )[:, : Q.cap]
    weights = (
        jnp.ones((N.cap, Q.cap))
        if config.weights == "uniform"
        else 1 + draws.uniform(for_weights, N, Q).astype(float)
    )
    weights = jnp.where(N.mask()[:, None] & Q.mask()[None, :], weights, 0)
    total = jnp.sum(weights, axis=1, keepdims=True)
    weights = weights / jnp.where(total > 0, total, 1)
    columns = jnp.arange(N.cap)[:, None]
    return jnp.zeros((N.cap, T.cap)).at[columns, order].add(weights[:, : order.shape[1]]).T


def pretrained(
    key: Array, P: Float[Array, "N N"], mu: Float[Array, " N"], config: Config
) -> Float[Array, "N N"]:
    """Draw P~ with P~ mu = mu, 1^T P~ = 1^T, P~ >= 0 and correlation rho.

    With this correlation, <P~ - mu 1^T, P - mu 1^T>_mu = rho |P~ - mu 1^T| |P - mu 1^T|.

    P~ = mu 1^T + c (rho u + sqrt(1 - rho^2) w), with u the direction of P - mu 1^T, w a random one
    orthogonal to it that keeps mu, and c = |P - mu 1^T|, or less where an entry would be negative.
    rho = 1 gives P. Source: section 4; the construction is ours.
    """
    ones = config.num_states.mask().astype(mu.dtype)
    inner = lambda A, B: jnp.sum(mu[None, :] * A * B)
    unit = lambda A: A / jnp.where(inner(A, A) > 0, jnp.sqrt(inner(A, A)), 1)
    trivial = mu[:, None] * ones[None, :]
    gap = P - trivial
    G = mu[:, None] * draws.normal(key, config.num_states, config.num_states)
    G = G - mu[:, None] * jnp.sum(G, axis=0, keepdims=True)  # 1^T G = 0
    G = G - (G @ mu)[:, None] * ones[None, :]  # G mu = 0
    u = unit(gap)
    rho = jnp.asarray(config.correlation, float)
    direction = rho * u + jnp.sqrt(1 - rho**2) * unit(G - inner(G, u) * u)
    room = jnp.min(
        jnp.where(direction < 0, trivial / jnp.where(direction < 0, -direction, 1), jnp.inf)
    )
    return jnp.maximum(trivial + jnp.minimum(jnp.sqrt(inner(gap, gap)), room) * direction, 0)


def sample(key: Array, problem: Problem, config: Config) -> Batch:
    """Draw B fresh samples: x_1..x_T and k from mu, s from q^(k), y from P[:, x_s]. Source:
    equation (1).

    Two tokens share one uint32 word: a token is the number of thresholds c_n 2^16 that its half
    reaches, c the cumulative mu. Rounding the thresholds would bias the law by 2^-16, so each
    sequence rounds them with its own U ~ U[0, 1): floor(c_n 2^16 + U). That has mean c_n 2^16, so
    each token has the law mu exactly; given U the tokens are independent, and two of them are
    correlated through U only, cov(1[x_s <= n], 1[x_t <= n]) = Var(floor(c_n 2^16 + U)) / 2^32 <=
    2^-34. Query, position and label have a full float each.
    """
    N, T, B = config.num_states, config.length, config.batch_size
    for_tokens, for_uniforms = jax.random.split(key)
    uniforms = draws.stable(jax.random.uniform, for_uniforms, B, 4)
    words = draws.words(for_tokens, B.cap, math.ceil(T.cap / 2))
    halves = jnp.stack([words & (RESOLUTION - 1), words >> 16], axis=2)
    halves = halves.reshape(B.cap, -1)[:, : T.cap].astype(jnp.int32)
    tokens = draws.masked(
        count_reached(halves, thresholds(problem.stationary, uniforms[:, 0], config), config), B, T
    )
    query = pick(uniforms[:, 1], jnp.broadcast_to(problem.stationary[None, :], (B.cap, N.cap)), N)
    label = labels(uniforms[:, 2:], tokens, query, problem, config)
    return Batch(tokens, draws.masked(query, B), draws.masked(label, B))


def labels(
    u: Float[Array, "B 2"],
    tokens: Integer[Array, "B T"],
    query: Int[Array, " B"],
    problem: Problem,
    config: Config,
) -> Int[Array, " B"]:
    """The next token of each context from two uniform numbers: s from q^(k), y from P[:, x_s]."""
    places, weights = support(problem, config)
    slot = pick(u[:, 0], weights[query], config.sparsity)
    attended = jnp.take_along_axis(tokens, places[query, slot][:, None], axis=1)[:, 0].astype(
        jnp.int32
    )
    return pick(u[:, 1], problem.transition.T[attended], config.num_states)


def sequences(key: Array, problem: Problem, config: Config) -> Batch:
    """B samples whose contexts were generated.

    From a fresh sample on, T + 1 times, the first token is dropped, the last and the label move up
    and a new label is drawn, as in `generate`, until no token is left of those drawn from mu.

    Source: section 2.1, remark on sequences, which leaves them to future work.
    """
    T, B = config.length, config.batch_size
    first, later = jax.random.split(key)
    u = draws.stable(jax.random.uniform, later, T.cap + 1, B, 2)
    place = indices(T.cap)[None, :]

    def following(i: Array, batch: Batch) -> Batch:
        x, query, label = batch
        moved = jnp.where(place == T.n - 1, query[:, None].astype(x.dtype), jnp.roll(x, -1, axis=1))
        new = labels(u[i], moved, label, problem, config)
        return Batch(draws.masked(moved, B, T), label, draws.masked(new, B))

    return jax.lax.fori_loop(0, T.n + 1, following, sample(first, problem, config))


def thresholds(
    mu: Float[Array, " N"], U: Float[Array, " B"], config: Config
) -> Int[Array, "B N-1"]:
    """floor(c_n 2^16 + U) for n < N - 1, and 2^16, which no half reaches, from token N - 1 on."""
    N = config.num_states
    c = jnp.cumsum(mu)[:-1] * RESOLUTION
    reachable = jnp.arange(N.cap - 1) < jnp.asarray(N.n, int) - 1
    return jnp.where(reachable[None, :], jnp.floor(c[None, :] + U[:, None]), RESOLUTION).astype(
        jnp.int32
    )


def count_reached(
    halves: Int[Array, "B T"], limits: Int[Array, "B n"], config: Config
) -> Integer[Array, "B T"]:
    """The token #{n : half >= limit_n}.

    It is found by comparison with each limit where they are few, by bisection where they are many.
    """
    dtype = jnp.uint8 if config.num_states.cap <= 256 else jnp.int32
    if config.num_states.cap > model.SELECTED:
        find = jax.vmap(lambda limits, halves: jnp.searchsorted(limits, halves, side="right"))
        return find(limits, halves).astype(dtype)
    more = lambda count, limit: (count + (halves >= limit[:, None]).astype(dtype), None)
    return jax.lax.scan(more, jnp.zeros(halves.shape, dtype), limits.T)[0]


def pick(u: Float[Array, " B"], laws: Float[Array, "B n"], n: Size) -> Int[Array, " B"]:
    """An index from each row's law, by inverting its cumulative sums; never beyond n."""
    passed = u[:, None] >= jnp.cumsum(laws, axis=1)
    return jnp.minimum(jnp.sum(passed, axis=1).astype(jnp.int32), jnp.asarray(n.n, jnp.int32) - 1)


def support(problem: Problem, config: Config) -> tuple[Int[Array, "N Q"], Float[Array, "N Q"]]:
    """The attended positions of each column, heaviest first, and their weights."""
    weights, places = jax.lax.top_k(problem.context.T, min(config.sparsity.cap, config.length.cap))
    # XLA on CPU takes the largest entries without sorting all T, unless their use is fused with it
    top_entries: tuple[Array, Array] = jax.lax.optimization_barrier((places, weights))
    return top_entries


def generate(
    key: Array, problem: Problem, tokens: Int[Array, " n"], count: int, config: Config
) -> Int[Array, " count"]:
    """Continue x_1..x_{T+1}: draw the next token, drop the first one, append it, `count` times.
    Sizes are unpadded.

    Beyond the first token the contexts are no longer independent draws from mu. Source: section
    2.1, remark on sequences.
    """
    places, weights = support(problem, config)

    def following(window: Array, key: Array) -> tuple[Array, Array]:
        u = jax.random.uniform(key, (2, 1))
        query = window[-1]
        slot = pick(u[0], weights[query][None, :], config.sparsity)[0]
        new = pick(
            u[1], problem.transition.T[window[places[query, slot]]][None, :], config.num_states
        )
        return jnp.concatenate([window[1:], new]), new[0]

    return jax.lax.scan(following, jnp.asarray(tokens, jnp.int32), jax.random.split(key, count))[1]
