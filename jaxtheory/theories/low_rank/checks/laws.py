"""Checks of what the theory says before training."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core import linalg
from jaxtheory.core.config import Size
from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.low_rank import calculus, data, laws
from jaxtheory.theories.low_rank.checks import material
from jaxtheory.theories.low_rank.model import Config


def share_in_samples(key: Array, config: Config) -> Compared:
    """alpha* against many samples, and as the attention of zero scores."""
    many = config.replace(num_samples=Size(material.MANY))
    train = data.problem(key, many).train
    share = jnp.mean(data.relevant(train, many).astype(float), axis=1)
    return jnp.mean(share), laws.relevant_share(config), jnp.std(share) / material.MANY**0.5 + 1e-13


def dead_gaussian(key: Array, config: Config) -> Compared:
    """Gaussian neurons that are inactive on both class means."""
    if config.task != "binary":
        return None
    made = data.problem(key, config)
    o = jax.random.normal(key, (10 * material.MANY, config.value_dim.cap))
    active = o @ laws.carried_means(made, config)[:2].T > 0
    dead = jnp.sum(active, axis=1) == 0
    p = laws.dead_fraction(made, config)
    return jnp.mean(dead.astype(float)), p, jnp.sqrt(p * (1 - p) / len(o))


def dead_from_counts(key: Array, config: Config) -> Compared:
    """cos theta = (2 nrel nconf + (M - 2) per^2) / (nrel^2 + nconf^2 + (M - 2) per^2) for
    orthonormal patterns of two classes, R = 2.
    """
    if (
        config.task != "binary"
        or config.num_relevant_patterns.cap != 2
        or config.value_dim.cap < config.dimension.cap
    ):
        return None
    made = data.problem(key, config)
    a, b, per = (
        float(getattr(config, n).cap)
        for n in ("num_relevant", "num_confusion", "num_irrelevant_each")
    )
    rest = (config.num_patterns.cap - 2) * per**2
    c = config.coherence
    cosine = (2 * a * b + rest + c * (a**2 + b**2)) / (a**2 + b**2 + rest + 2 * c * a * b)
    return laws.dead_fraction(made, config), 0.5 - jnp.arccos(cosine) / (2 * jnp.pi)


def small_from_tokens(key: Array, config: Config) -> Compared:
    """The share of Gaussian neurons with o^T m < -1.05 sigma sqrt(d / L) |o| / sqrt(d), m from
    noiseless samples.
    """
    if (
        config.counts != "exact"
        or config.occurrence != "independent"
        or config.num_relevant_patterns.cap != config.num_classes.cap
    ):
        return None
    clean = config.replace(noise=0.0 * config.noise, noise_law="gaussian")
    train = data.problem(key, clean).train
    mean = jnp.mean(train.tokens, axis=1)[:, : config.value_dim.cap]
    size = jnp.linalg.norm(mean, axis=1)
    average = jnp.mean(
        jnp.stack([size[c] for c in range(config.num_classes.cap)])
    )  # labels in turn
    L = train.tokens.shape[1]
    width = 1.05 * config.noise * (config.dimension.cap / L) ** 0.5 / average
    return laws.small_fraction(data.problem(key, config), config), 0.5 * jax.scipy.special.erfc(
        width / 2**0.5
    )


def ranks_of_counts(key: Array, config: Config) -> Compared:
    """Independent relevant patterns: the rank of the numbers of relevant tokens over many samples;
    classes: labels that occur.
    """
    many = config.replace(num_samples=Size(200))
    if config.counts != "exact" and config.occurrence == "together":
        return None
    train = data.problem(key, many).train
    R, C = config.num_relevant_patterns.cap, config.num_classes.cap
    found = jnp.sum(jax.nn.one_hot(train.pattern, config.num_patterns.cap), axis=1)[:, :R]
    s = linalg.eigvalsh(found.T @ found)
    rank = jnp.sum(s > 1e-9 * s[-1]).astype(float)
    classes = jnp.sum(jnp.bincount(train.label, length=C) > 0).astype(float)
    each = config.num_heads * config.num_layers
    return laws.ranks(config), jnp.concatenate(
        [jnp.full(2 * each, rank), jnp.full(each + 1, classes)]
    )


def first_step_exact(key: Array, config: Config) -> Compared:
    """Exact in W_Q, W_V, W_O at W_Q = 0, and in W_K at W_K = 0, where attention is uniform."""
    if config.num_layers > 1:
        return None
    params, batch, made = material.setting(key, config)
    no_query, no_key = params._replace(query=0 * params.query), params._replace(key=0 * params.key)
    a, b = (
        laws.first_step(no_query, batch, made, config),
        laws.first_step(no_key, batch, made, config),
    )
    want_a, want_b = (
        calculus.gradient(no_query, batch, made, config),
        calculus.gradient(no_key, batch, made, config),
    )
    return (a.query, a.value, a.output, b.key), (
        want_a.query,
        want_a.value,
        want_a.output,
        want_b.key,
    )


def first_step_rank(key: Array, config: Config) -> Compared:
    """Without noise, with one a for all positions and a mean token for each class, the first
    gradients have rank C.
    """
    alike = config.num_relevant_patterns.cap == config.num_classes.cap and (
        config.num_classes.cap == 2 or config.num_confusion.cap == 0
    )
    if config.num_layers > 1 or config.output != "shared" or not alike:
        return None
    params, _, _ = material.setting(key, config)
    made = data.problem(key, config)
    batch = made.train
    clean = batch._replace(tokens=made.patterns[batch.pattern])
    g = laws.first_step(params._replace(query=0 * params.query), clean, made, config)
    C = config.num_classes.cap
    s = [linalg.singular_values(W) for W in (g.query[0, 0], g.value[0, 0], g.output)]
    rest = [x[C] / jnp.maximum(x[0], 1e-30) if len(x) > C else jnp.zeros(()) for x in s]
    return jnp.stack(rest), jnp.full(3, 1e-11)


def keys_without_noise(key: Array, config: Config) -> Compared:
    """Without noise dW_K v = 0 where every pattern has mu_j^T v = 1, as the gradient in the scores
    sums to zero over the keys.
    """
    params, batch, made = material.setting(key, config)
    if config.num_layers > 1:
        return None
    clean = batch._replace(tokens=made.patterns[batch.pattern])
    null = laws.noiseless_null(made, config)
    g = calculus.gradient(params, clean, made, config).key
    return (made.patterns @ null, jnp.max(jnp.abs(g @ null)) + 1), (
        jnp.ones(len(made.patterns)),
        jnp.ones(()),
    )


CHECKS = (
    Check("relevant_share: frequencies", f"{material.PAPER}, III-B", "sample", share_in_samples),
    Check("dead_fraction: Gaussian neurons", "derived", "sample", dead_gaussian),
    Check("dead_fraction: from token counts", "derived", "equal", dead_from_counts),
    Check("small_fraction: from noiseless tokens", "reconstructed", "equal", small_from_tokens),
    Check("ranks: of token counts", "derived", "equal", ranks_of_counts),
    Check("first_step: gradient at uniform attention", "derived", "equal", first_step_exact),
    Check("first_step: rank without noise", "derived", "bound", first_step_rank),
    Check(
        "noiseless_null: the gradient of W_K vanishes on it", "derived", "equal", keys_without_noise
    ),
)
