"""Checks of the task and of the samples."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.contextual_bigram import data, model
from jaxtheory.theories.contextual_bigram.checks import literal, material
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem

BATCHES = 400
GENERATED = 4000  # batches of generated contexts, whose tokens depend on each other only weakly


@check("stationary: P mu = mu", "derived (GTH elimination)", "equal")
def stationary_fixed(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The stationary law: P mu = mu and 1^T mu = 1.

    This is for a random P, for one of rare tokens, and by columns of the drawn or given P.
    """
    N = config.num_states.cap
    X = jax.random.uniform(key, (2, N, N)) + 0.01
    X = X.at[1].multiply((10.0 ** -jnp.arange(float(N)))[:, None])
    P = X / jnp.sum(X, axis=1, keepdims=True)
    mu = jax.vmap(data.stationary)(P)
    return (mu, jnp.sum(mu, axis=1)), (jnp.einsum("cyx,cx->cy", P, mu), jnp.ones(2))


@check("problem: sums, stationarity, sparsity, correlation", "section 2.1, section 4", "equal")
def problem_is_a_task(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Columns sum to 1, mu is stationary for P and P~, and Q has Q entries in each column.

    P~ has correlation rho with P or is P.
    """
    problem = data.problem(key, config)
    P, mu, Q, near = problem
    N = config.num_states.cap
    gap, near_gap = P - mu[:, None], near - mu[:, None]
    got = (
        jnp.stack([jnp.sum(x, axis=0) for x in (P, Q, near)]),
        jnp.stack([P @ mu, near @ mu]),
        jnp.sum(Q > 0, axis=0).astype(float),
        literal.dot(mu, gap, near_gap)
        / jnp.sqrt(literal.dot(mu, gap, gap) * literal.dot(mu, near_gap, near_gap)),
        jnp.stack([jnp.min(x) >= 0 for x in (P, mu, Q, near)]).astype(float),
    )
    want = (
        jnp.ones((3, N)),
        jnp.stack([mu, mu]),
        jnp.full((N,), float(config.sparsity.cap)),
        config.correlation,
        jnp.ones(4),
    )
    return got, jax.tree.map(lambda x: jnp.asarray(x, float), want)


@check("dirichlet: first and second moments", "derived", "sample")
def dirichlet_moments(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The means, second moments and cross moments of the Dirichlet law.

    They are 1/N, (alpha + 1) / (N (N alpha + 1)) and alpha / (N (N alpha + 1)).
    """
    N, alpha = config.num_states.cap, config.concentration
    p = data.dirichlet(key, model.Size(material.DRAWS), config)
    monomials = jnp.concatenate([p, p**2, p * jnp.roll(p, 1, axis=1)], axis=1)
    one = jnp.ones(N) / N
    law = jnp.concatenate([one, one * (alpha + 1) / (N * alpha + 1), one * alpha / (N * alpha + 1)])
    return jnp.mean(monomials, axis=0), law, jnp.std(monomials, axis=0) / material.DRAWS**0.5


@check("problem: a given P is taken", "section 2.1", "equal")
def given_is_taken(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """A given P is used row by row as it was given."""
    if config.given is None:
        return None
    return data.problem(key, config).transition, jnp.asarray(config.given)


@check(
    "sample: law of query, attended token and label, of tokens and of pairs",
    "equation (1)",
    "sample",
)
def samples_law(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Laws over many batches: those of query, tokens and label.

    They are the joint law of query, token at the first attended position and label, which is mu_k
    times lemma B.1; the law of each token; and that of neighboring pairs, which may or may not
    share a random word.
    """
    batches = jax.vmap(lambda k: data.sample(k, problem, config))(jax.random.split(key, BATCHES))
    x, query, label = (jnp.concatenate(leaf).astype(jnp.int32) for leaf in batches)
    N, n = config.num_states.cap, len(label)
    P, mu, Q = problem.transition, problem.stationary, problem.context
    first = jnp.argmax(Q > 0, axis=0)
    attended = jnp.take_along_axis(x, first[query][:, None], axis=1)[:, 0]
    weight = Q[first, jnp.arange(N)][:, None, None]
    joint = (
        mu[:, None, None]
        * mu[None, :, None]
        * (weight * P.T[None] + (1 - weight) * mu[None, None, :])
    )
    hot = lambda x: jax.nn.one_hot(x, N)
    frequencies = (
        jnp.einsum("bk,bi,bl->kil", hot(query), hot(attended), hot(label)) / n,
        jnp.mean(hot(x), axis=0),
        jnp.einsum("bti,btj->tij", hot(x[:, :-1]), hot(x[:, 1:])) / n,
    )
    pair = jnp.broadcast_to((mu[:, None] * mu[None, :])[None], frequencies[2].shape)
    law = (joint, jnp.broadcast_to(mu[None, :], frequencies[1].shape), pair)
    return frequencies, law, jax.tree.map(lambda p: jnp.sqrt(p * (1 - p) / n), law)


@check("thresholds: mean over the dither", "derived", "bound")
def thresholds_dither(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The mean over a grid of U of floor(c 2^16 + U), over 2^16, is the cumulative mu.

    They agree to half the grid's spacing.
    """
    mu = problem.stationary
    grid = (jnp.arange(1000.0) + 0.5) / 1000
    mean = jnp.mean(data.thresholds(mu, grid, config).astype(float), axis=0) / 2**16
    cumulative = jnp.stack([jnp.sum(mu[: n + 1]) for n in range(len(mu) - 1)])
    return jnp.abs(mean - cumulative), jnp.full(mean.shape, 0.51 / 1000 / 2**16)


@check("count_reached: all thresholds compared", "derived", "equal")
def tokens_count(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Tokens by comparison with every threshold, also of halves at the thresholds."""
    drawn = jax.random.bits(key, (5, 64), jnp.uint16).astype(jnp.int32)
    limits = data.thresholds(problem.stationary, jnp.linspace(0.0, 0.9, 5), config)
    halves = jnp.concatenate([drawn, limits - 1, limits], axis=1)
    want = jnp.sum(halves[:, :, None] >= limits[:, None, :], axis=2)
    return data.count_reached(halves, limits, config).astype(float), want.astype(float)


@check("generate: law of the next two tokens", "section 2.1", "sample")
def generated_law(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """Two further tokens from a fixed start, whose joint law is that of two steps of P X q^(k)."""
    N, T = config.num_states.cap, config.length.cap
    start = jnp.arange(T + 1, dtype=jnp.int32) % N
    outputs = jax.vmap(lambda k: data.generate(k, problem, start, 2, config))(
        jax.random.split(key, 2000)
    )
    after = lambda window: (
        problem.transition @ (jax.nn.one_hot(window[:T], N).T @ problem.context[:, window[T]])
    )
    windows = jnp.stack([jnp.append(start[1:], jnp.int32(y)) for y in range(N)])
    law = after(start)[:, None] * jax.vmap(after)(windows)
    hot = jax.nn.one_hot(outputs, N)
    frequencies = jnp.mean(hot[:, 0, :, None] * hot[:, 1, None, :], axis=0)
    return frequencies, law, jnp.sqrt(law * (1 - law) / len(outputs))


@check("sequences: law of first token, query and label", "section 2.1", "sample")
def sequences_law(key: Array, problem: Problem, params: Params, config: Config) -> Compared:
    """The law of first token, query and label over many batches.

    It is compared with T + 1 steps of the law of all windows, which has N^(T+1) numbers.
    """
    N, T = config.num_states.cap, config.length.cap
    batches = jax.vmap(lambda k: data.sequences(k, problem, config))(
        jax.random.split(key, GENERATED)
    )
    x, query, label = (jnp.concatenate(leaf).astype(jnp.int32) for leaf in batches)
    windows = jnp.indices((N,) * (T + 1)).reshape(T + 1, -1).T
    heads = jax.nn.one_hot(windows[:, :T], N)
    next_token = jnp.einsum(
        "yx,wtx,tw->wy", problem.transition, heads, problem.context[:, windows[:, T]]
    )
    law = jnp.prod(problem.stationary[windows], axis=1)
    for _ in range(T + 1):  # the first token is summed over, the new one comes last
        law = jnp.sum((law[:, None] * next_token).reshape(N, -1), axis=0)
    joint = jnp.sum((law[:, None] * next_token).reshape(N, -1, N, N), axis=1)
    hot = lambda x: jax.nn.one_hot(x, N)
    frequencies = jnp.einsum("bi,bk,bl->ikl", hot(x[:, 0]), hot(query), hot(label)) / len(label)
    return frequencies, joint, jnp.sqrt(joint * (1 - joint) / len(label))
