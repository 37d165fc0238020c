"""Data of a run: patterns, samples, output signs, and the start.

The label of a sample is the majority of two kinds of tokens.

    exact counts    nrel tokens of a pattern of class y, nconf of another class, per of each
                    irrelevant pattern, in random order
    random counts   each of the nrel + nconf tokens is of the first class with probability nrel /
                    (nrel + nconf), the label is the majority
                    (ties: the first class); each irrelevant token is any irrelevant pattern

One of a class's patterns, uniform, serves all its tokens of a sample; where they occur together,
the tokens take them in turn.
Source: sections III-A and IV; "the fraction of different patterns the same among all data" is read
as exact counts.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.core.config import Size
from jaxtheory.ops import draws, linalg
from jaxtheory.ops.positions import indices
from jaxtheory.theories.low_rank import model
from jaxtheory.theories.low_rank.model import Batch, Config, Problem


def problem(key: Array, config: Config) -> Problem:
    """Draw the samples and all that is random in the start.

    These are training and test set, signs of A, W_O(0) / xi, directions of the start and an order
    of the neurons.
    """
    for_data, for_model = jax.random.split(key)
    U = patterns(config)
    train, test = datasets(for_data, U, config)
    return Problem(train, test, U, *start(for_model, config))


def start(
    key: Array, config: Config
) -> tuple[Float[Array, "K m T"], Float[Array, "m ma"], Float[Array, "d d"], Float[Array, " m"]]:
    """Draw the signs of A, W_O(0) / xi, the basis of W_Q(0) and W_K(0), and the neurons' order."""
    m, d = config.num_neurons, config.dimension
    outputs = config.num_classes if config.task == "multiclass" else Size(1)
    positions = model.length(config) if config.output == "per_token" else Size(1)
    for_signs, for_normal, for_basis, for_order = jax.random.split(key, 4)
    signs = draws.masked(
        jnp.where(draws.uniform(for_signs, outputs, m, positions) < 0.5, -1, 1),
        outputs,
        m,
        positions,
    )
    return (
        signs.astype(float),
        draws.normal(for_normal, m, config.value_dim),
        rotation(for_basis, config) if config.num_heads > 1 else draws.masked(jnp.eye(d.cap), d, d),
        draws.uniform(for_order, m).astype(float),
    )


def rotation(key: Array, config: Config) -> Float[Array, "d d"]:
    """A random rotation with orthonormal rows; zero beyond d.

    It is made by Gram-Schmidt, applied twice, on Gaussian rows.
    """
    d = config.dimension

    def row(i: Array, Q: Float[Array, "d d"]) -> Float[Array, "d d"]:
        v = G[i]
        for _ in range(2):
            v = v - (Q @ v) @ Q
        return Q.at[i].set(linalg.unit(v))

    G = draws.normal(key, d, d)
    return jax.lax.fori_loop(0, d.n, row, jnp.zeros_like(G))


def patterns(config: Config) -> Float[Array, "M d"]:
    """U: e_1..e_M or the given patterns, with coherence cos and overlap ov.

    They are changed by mu_2 <- cos mu_1 + sqrt(1 - cos^2) mu_2, and then each irrelevant
    mu_j <- ov mu_(j mod R) + sqrt(1 - ov^2) mu_j.
    """
    M, d = config.num_patterns, config.dimension
    if config.given is None:
        U = draws.masked(jnp.eye(M.cap, d.cap), M, d)
    else:
        rows = jnp.asarray(config.given, float)
        U = jnp.zeros((M.cap, d.cap)).at[: rows.shape[0], : rows.shape[1]].set(rows)
    c = jnp.asarray(config.coherence, float)
    U = U.at[1].set(c * U[0] + jnp.sqrt(1 - c**2) * U[1])
    j, R = indices(M.cap), config.num_relevant_patterns.n
    ov = jnp.asarray(config.overlap, float)
    leaning = ov * U[j % R] + jnp.sqrt(1 - ov**2) * U
    return jnp.where(((j >= R) & (j < M.n))[:, None], leaning, U)


def datasets(key: Array, U: Float[Array, "M d"], config: Config) -> tuple[Batch, Batch]:
    """Draw training and test set with one draw and a key for each sample.

    Labels are flipped in training only.
    """
    sizes = (config.num_samples, config.num_test)
    keys = jnp.concatenate(
        [jax.random.split(k, n.cap) for k, n in zip(jax.random.split(key), sizes, strict=True)]
    )
    place = jnp.concatenate([indices(n.cap) for n in sizes])
    valid = jnp.concatenate([n.mask() for n in sizes])
    tokens, label, pattern = jax.vmap(lambda k, i: one_sample(k, i, U, config))(keys, place)
    tokens, label, pattern = (
        jnp.where(valid.reshape(-1, *(1,) * (x.ndim - 1)), x, 0) for x in (tokens, label, pattern)
    )
    part = lambda at, n: Batch(tokens[at], label[at], pattern[at], n.weights())
    train, test = part(slice(sizes[0].cap), sizes[0]), part(slice(sizes[0].cap, None), sizes[1])
    flipped = draws.bernoulli(jax.random.fold_in(key, 2), config.label_noise, sizes[0])
    label = jnp.where(flipped, (train.label + 1) % config.num_classes.n, train.label)
    return train._replace(label=label), test


def one_sample(
    key: Array, index: Int[Array, ""], U: Float[Array, "M d"], config: Config
) -> tuple[Float[Array, "L d"], Int[Array, ""], Int[Array, " L"]]:
    """Draw tokens (L, d), class and patterns (L,) of one sample.

    `index` sets the class where labels are balanced.
    """
    L, C, R = model.length(config), config.num_classes, config.num_relevant_patterns
    relevant, voters = config.num_relevant.n, config.num_relevant.n + config.num_confusion.n
    for_choice, for_place, for_noise = jax.random.split(key, 3)
    u = draws.uniform(for_choice, 4)
    v = draws.uniform(for_place, L, 1 if config.counts == "exact" else 2)
    below = lambda share, n: jnp.minimum(
        (share * jnp.asarray(n, jnp.float32)).astype(jnp.int32), jnp.asarray(n, jnp.int32) - 1
    )
    first = index % C.n if config.labels == "balanced" else below(u[0], C.n)
    second = (first + 1 + below(u[1], C.n - 1)) % C.n
    slot, label = indices(L.cap), first
    if config.counts == "exact":
        is_first, turn = slot < relevant, jnp.where(slot < relevant, slot, slot - relevant)
        irrelevant = R.n + (slot - voters) % jnp.maximum(config.num_patterns.n - R.n, 1)
    else:
        is_first, turn = (
            v[:, 1] < jnp.asarray(relevant, jnp.float32) / jnp.asarray(voters, jnp.float32),
            slot,
        )
        irrelevant = R.n + below(v[:, 1], config.num_patterns.n - R.n)
        votes = jnp.sum(is_first & (slot < voters)).astype(jnp.int32)
        label = jnp.where(2 * votes >= voters, first, second)

    def of_class(c: Array, share: Array) -> Array:
        """The pattern of class c in each slot."""
        n = (R.n - 1 - c) // C.n + 1
        return c + C.n * (turn % n if config.occurrence == "together" else below(share, n))

    voting = jnp.where(is_first, of_class(first, u[2]), of_class(second, u[3]))
    order = jnp.argsort(jnp.where(L.mask(), v[:, 0], jnp.inf))
    pattern = draws.masked(jnp.where(slot < voters, voting, irrelevant)[order], L)
    return (
        tokens_of(pattern, draws.normal(for_noise, L, config.dimension), U, config),
        label,
        pattern,
    )


def tokens_of(
    pattern: Int[Array, " L"], z: Float[Array, "L d"], U: Float[Array, "M d"], config: Config
) -> Float[Array, "L d"]:
    """Tokens mu + sigma z, the same over its norm, or mu + sigma z / |z|."""
    sigma = jnp.asarray(config.noise, z.dtype)
    x = U[pattern] + model.rounded(
        sigma * (_unit(z) if config.noise_law == "bounded" else model.rounded(z))
    )
    return draws.masked(_unit(x) if config.noise_law == "unit" else x, model.length(config))


def _unit(x: Float[Array, "L d"]) -> Float[Array, "L d"]:
    """Rows divided by their norms, zero for zero."""
    norm = jnp.sqrt(jnp.sum(x**2, axis=1, keepdims=True))
    return x / jnp.where(norm > 0, norm, 1)


def sample(key: Array, problem: Problem, config: Config) -> Batch:
    """Draw B distinct training samples, anew in every step."""
    B, train = config.batch_size, problem.train
    chosen = draws.distinct(key, config.num_samples, B.cap)
    tokens, label, pattern = (
        draws.masked(x[chosen], B) for x in (train.tokens, train.label, train.pattern)
    )
    return Batch(tokens, label, pattern, B.weights())


def relevant(batch: Batch, config: Config) -> Bool[Array, "n L"]:
    """True for tokens of a pattern of the label's class."""
    R, C = config.num_relevant_patterns.n, config.num_classes.n
    shown = model.length(config).mask()[None, :] & (batch.weight > 0)[:, None]
    return shown & (batch.pattern < R) & (batch.pattern % C == batch.label[:, None])


def class_means(problem: Problem, config: Config) -> Float[Array, "C d"]:
    """m_c: the mean token of class c in exact counts.

    It is averaged over the patterns that the samples of the class show.
    """
    R, C, M = config.num_relevant_patterns, config.num_classes, config.num_patterns
    r, c = indices(M.cap)[None, :], indices(C.cap)[:, None]
    members = ((r < R.n) & (r % C.n == c)).astype(problem.patterns.dtype)
    count = jnp.maximum(jnp.sum(members, axis=1, keepdims=True), 1)
    average = members / count  # the pattern of a class, on average
    confusion = (jnp.sum(average, axis=0, keepdims=True) - average) / jnp.asarray(
        C.real - 1, members.dtype
    )
    irrelevant = ((r >= R.n) & (r < M.n)).astype(members.dtype)
    parts = (
        config.num_relevant.real * average
        + config.num_confusion.real * confusion
        + config.num_irrelevant_each.real * irrelevant
    )
    return jnp.where(C.mask()[:, None], (parts / model.length(config).real) @ problem.patterns, 0)
