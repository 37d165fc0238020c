"""Checks of the samples and of the other draws of a problem."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import draws
from jaxtheory.theories.low_rank import data
from jaxtheory.theories.low_rank.checks import material
from jaxtheory.theories.low_rank.model import Config


@check("one_sample: tokens as counted, label by majority", f"{material.PAPER}, III-A", "equal")
def samples_as_counted(key: Array, config: Config) -> Compared:
    """Samples have their exact or random counts of tokens.

    Exact counts: nrel tokens of the label's class, nconf of one other, per of each irrelevant
    pattern. Random counts: the label's tokens are the most frequent.

    One pattern of the label's class is shown, or all of them. Without noise tokens are patterns.
    """
    U, clean = data.patterns(config), config.replace(noise=0.0 * config.noise)
    _, test = data.datasets(key, U, clean)  # no label is flipped
    M, R, C = config.num_patterns.cap, config.num_relevant_patterns.cap, config.num_classes.cap
    counts = jnp.sum(jax.nn.one_hot(test.pattern, M), axis=1)  # (N, M)
    pick = lambda table: jnp.take_along_axis(table, test.label[:, None], axis=1)[:, 0]
    class_counts = jnp.stack([jnp.sum(counts[:, c:R:C], axis=1) for c in range(C)], axis=1)
    patterns_shown = jnp.stack([jnp.sum(counts[:, c:R:C] > 0, axis=1) for c in range(C)], axis=1)
    members = jnp.asarray([len(range(c, R, C)) for c in range(C)])[test.label]
    of_label, irrelevant = pick(class_counts), counts[:, R:]
    voting = jnp.full(len(of_label), float(config.num_relevant.cap + config.num_confusion.cap))
    exact = config.counts == "exact"
    want_own = (
        jnp.full(len(of_label), float(config.num_relevant.cap))
        if exact
        else jnp.max(class_counts, axis=1)
    )
    want_rest = (
        jnp.full(irrelevant.shape, float(config.num_irrelevant_each.cap)) if exact else irrelevant
    )
    want_shown = (
        jnp.minimum(members, config.num_relevant.cap)
        if config.occurrence == "together"
        else jnp.ones_like(members)
    )
    return (
        test.tokens,
        of_label,
        jnp.sum(class_counts, axis=1),
        irrelevant,
        pick(patterns_shown).astype(float),
    ), (
        U[test.pattern],
        want_own,
        voting,
        want_rest,
        want_shown.astype(float),
    )


@check("datasets: balanced labels", f"{material.PAPER}, III-A", "equal")
def labels_in_turn(key: Array, config: Config) -> Compared:
    """Of n samples class c has those with index c, c + C, .., each of weight 1/n.

    Without noise their tokens are their patterns. Checked on the last example.
    """
    if config.task == "binary" or config.counts == "random":
        return None
    C = config.num_classes.cap
    U, clean = data.patterns(config), config.replace(noise=0.0 * config.noise)
    batches = data.datasets(key, U, clean)
    counted = [jnp.bincount(part.label, length=C).astype(float) for part in batches]
    sizes = (config.num_samples.cap, config.num_test.cap)
    want = [jnp.asarray([float(len(range(c, n, C))) for c in range(C)]) for n in sizes]
    return (counted, [part.weight for part in batches], [part.tokens for part in batches]), (
        want,
        [jnp.full(n, 1 / n) for n in sizes],
        [U[part.pattern] for part in batches],
    )


@check("tokens_of: law of the noise", f"{material.PAPER}, equation (6) and IV", "sample")
def noise_has_its_law(key: Array, config: Config) -> Compared:
    """Norms are 1 or that of the noise. Gaussian noise has mean 0 and second moments sigma^2 1."""
    if config.task == "multiclass":
        return None
    U = data.patterns(config)
    train, _ = data.datasets(key, U, config)
    noise = (train.tokens - U[train.pattern]).reshape(-1, config.dimension.cap)
    if config.noise_law == "gaussian":
        products = noise[:, :, None] * noise[:, None, :]
        got = jnp.mean(noise, axis=0), jnp.mean(products, axis=0)
        root = len(noise) ** 0.5
        want = jnp.zeros_like(got[0]), config.noise**2 * jnp.eye(config.dimension.cap)
        return got, want, (jnp.std(noise, axis=0) / root, jnp.std(products, axis=0) / root)
    if config.noise_law == "unit":
        size = jnp.sum(train.tokens**2, axis=2)
        return size, jnp.ones_like(size), jnp.zeros_like(size)
    size = jnp.sqrt(jnp.sum(noise**2, axis=1))
    return size, jnp.full_like(size, config.noise), jnp.zeros_like(size)


@check("patterns: Gram matrix", f"{material.PAPER}, III-A", "equal")
def patterns_gram(_key: Array, config: Config) -> Compared:
    """The Gram matrix of the patterns, the first of which is e_1.

    It has 1 on the diagonal, cos between the first two, and for each irrelevant pattern the
    products of the pattern that it leans to, times ov.
    """
    U, R = data.patterns(config), config.num_relevant_patterns.cap
    relevant = jnp.eye(R).at[0, 1].set(config.coherence).at[1, 0].set(config.coherence)
    j = jnp.arange(len(U))
    size, identity = jnp.where(j < R, 1, config.overlap), jnp.eye(len(U))
    want = size[:, None] * size[None, :] * relevant[j % R][:, j % R]
    return (U @ U.T, U[0]), (
        jnp.where(identity == 1, identity, want),
        jnp.eye(config.dimension.cap)[0],
    )


@check("datasets: flipped labels", "ours", "sample")
def labels_flipped(key: Array, config: Config) -> Compared:
    """The share of flipped labels among many training labels, which are in turn except for those.
    Checked on the first example.
    """
    if not material.plain(config) or config.num_layers > 1:
        return None
    N = material.MANY
    train, _ = data.datasets(key, data.patterns(config), config.replace(num_samples=Size(N)))
    share, p = (
        jnp.mean((train.label.astype(int) != jnp.arange(N) % 2).astype(float)),
        config.label_noise,
    )
    return share, p, jnp.sqrt(p * (1 - p) / N)


@check("rotation: orthonormal", "ours", "equal")
def rotation_orthonormal(key: Array, config: Config) -> Compared:
    """Q Q^T = 1, and the first row has the direction of the first Gaussian row.

    Entries have mean square 1/d.
    """
    if config.num_heads == 1:
        return None
    Q = data.rotation(key, config)
    first = draws.normal(key, config.dimension, config.dimension)[0]
    unit = first / jnp.sqrt(jnp.sum(first**2))
    return (Q @ Q.T, Q.T @ Q, Q[0]), (jnp.eye(len(Q)), jnp.eye(len(Q)), unit)


@check("sample: distinct and uniform", f"{material.PAPER}, equation (5)", "sample")
def batches_distinct(key: Array, config: Config) -> Compared:
    """Every training sample is in a batch with probability B / N, and at most once."""
    if not material.plain(config) or config.num_layers > 1:
        return None
    _, _, problem = material.setting(key, config)
    N, B = config.num_samples.cap, config.batch_size.cap
    # labels tell the samples apart
    problem = problem._replace(train=problem.train._replace(label=jnp.arange(N, dtype=jnp.int32)))
    batches = jax.vmap(lambda k: data.sample(k, problem, config))(
        jax.random.split(key, material.BATCHES)
    )
    counts = jnp.sum(jax.nn.one_hot(batches.label, N), axis=1)
    share = B / N
    tokens = problem.train.tokens[batches.label[0]]
    return (
        (jnp.mean(counts, axis=0), jnp.max(counts), batches.tokens[0], jnp.sum(batches.weight[0])),
        (jnp.full(N, share), jnp.ones(()), tokens, jnp.ones(())),
        (
            jnp.full(N, (share * (1 - share) / material.BATCHES) ** 0.5 + 1e-12),
            jnp.zeros(()),
            jnp.zeros_like(tokens),
            jnp.full((), 1e-14),
        ),
    )


@check("start: signs and normals", f"{material.PAPER}, II", "sample")
def signs_fair(key: Array, config: Config) -> Compared:
    """Signs have square 1 and mean 0 over many draws.

    Those of two neurons, positions or outputs have product 0 over the draws. Normals have their
    moments, and the order those of uniform numbers. Rows of the basis are orthonormal, and for one
    head it is the identity. Checked with one a per position.
    """
    if config.output == "shared":
        return None
    signs, normal, basis, order = jax.vmap(lambda k: data.start(k, config))(
        jax.random.split(key, material.BATCHES)
    )
    sign_entries = signs.reshape(material.BATCHES, -1)[:, :6]
    zero, root = jnp.zeros(sign_entries.shape[1]), material.BATCHES**0.5
    products = sign_entries * jnp.roll(sign_entries, 1, axis=1)
    entries = normal.reshape(material.BATCHES, -1)[:, :6]
    n, d = entries.shape[1], config.dimension.cap
    got = basis if config.num_heads == 1 else basis @ basis.mT
    identity = jnp.broadcast_to(jnp.eye(d)[None], got.shape)
    return (
        (
            sign_entries**2,
            jnp.mean(sign_entries, axis=0),
            jnp.mean(products, axis=0),
            jnp.mean(entries, axis=0),
            jnp.mean(entries**2, axis=0),
            got,
            jnp.mean(order, axis=0),
        ),
        (jnp.ones_like(sign_entries), zero, zero, zero, 1 + zero, identity, 0.5 + zero),
        (
            jnp.zeros_like(sign_entries),
            zero + 1 / root,
            zero + 1 / root,
            jnp.full(n, 1 / root),
            jnp.std(entries**2, axis=0) / root,
            jnp.zeros_like(identity),
            jnp.std(order, axis=0) / root,
        ),
    )


@check("class_means: mean tokens of samples", "derived", "sample")
def means_of_classes(key: Array, config: Config) -> Compared:
    """m_c against the mean token of many samples without noise. The first example adds nothing."""
    if config.counts != "exact" or (material.plain(config) and config.num_layers == 1):
        return None
    large_config = config.replace(
        num_samples=Size(600), noise=0.0 * config.noise, labels="balanced"
    )
    train, _ = data.datasets(key, data.patterns(large_config), large_config)
    mean = jnp.mean(train.tokens, axis=1)
    C = config.num_classes.cap
    hot = jax.nn.one_hot(train.label, C)
    class_sizes = jnp.sum(hot, axis=0)[:, None]
    means = hot.T @ mean / class_sizes
    spread = jnp.sqrt(jnp.maximum(hot.T @ mean**2 / class_sizes - means**2, 0) / class_sizes)
    return data.class_means(material.shown(config), config), means, spread + 1e-13
