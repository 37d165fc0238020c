"""Checks of the theory's statements before training."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import linalg
from jaxtheory.theories.low_rank import calculus, data, laws
from jaxtheory.theories.low_rank.checks import material
from jaxtheory.theories.low_rank.model import Config, Params


@check("relevant_share: frequencies", f"{material.PAPER}, III-B", "sample")
def share_in_samples(key: Array, config: Config) -> Compared:
    """alpha* against many samples, on the second and third example."""
    if config.output == "shared":
        return None
    large_config = config.replace(num_samples=Size(material.MANY))
    train, _ = data.datasets(key, data.patterns(large_config), large_config)
    share = jnp.mean(data.relevant(train, large_config).astype(float), axis=1)
    return jnp.mean(share), laws.relevant_share(config), jnp.std(share) / material.MANY**0.5 + 1e-13


@check("dead_fraction: Gaussian neurons", "derived", "sample")
def dead_gaussian(key: Array, config: Config) -> Compared:
    """The share of Gaussian neurons that are inactive on both class means."""
    if config.task != "binary":
        return None
    problem = material.shown(config)
    o = jax.random.normal(key, (10 * material.MANY, config.value_dim.cap))
    active = o @ laws.carried_means(problem, config)[:2].T > 0
    dead = jnp.sum(active, axis=1) == 0
    p = laws.dead_fraction(problem, config)
    return jnp.mean(dead.astype(float)), p, jnp.sqrt(p * (1 - p) / len(o))


@check("dead_fraction: from token counts", "derived", "equal")
def dead_from_counts(_key: Array, config: Config) -> Compared:
    """cos theta = (2 nrel nconf + (M - 2) per^2) / (nrel^2 + nconf^2 + (M - 2) per^2).

    This is for orthonormal patterns of two classes, R = 2.
    """
    if (
        config.task != "binary"
        or config.num_relevant_patterns.cap != 2
        or config.value_dim.cap < config.num_patterns.cap
    ):
        return None
    a, b, per = (
        float(getattr(config, n).cap)
        for n in ("num_relevant", "num_confusion", "num_irrelevant_each")
    )
    irrelevant = (config.num_patterns.cap - 2) * per**2
    c = config.coherence
    cosine = (2 * a * b + irrelevant + c * (a**2 + b**2)) / (
        a**2 + b**2 + irrelevant + 2 * c * a * b
    )
    return laws.dead_fraction(material.shown(config), config), 0.5 - jnp.arccos(cosine) / (
        2 * jnp.pi
    )


@check("small_fraction: from noiseless tokens", "reconstructed", "equal")
def small_from_tokens(key: Array, config: Config) -> Compared:
    """The share of Gaussian neurons with o^T m < -kappa sigma sqrt(d / L), by the error function.

    m is from noiseless samples; kappa is fitted and claimed in the figure `neurons_small_set`.
    """
    if (
        config.counts != "exact"
        or config.occurrence != "independent"
        or config.num_relevant_patterns.cap != config.num_classes.cap
    ):
        return None
    clean = config.replace(noise=0.0 * config.noise, noise_law="gaussian")
    train, _ = data.datasets(key, data.patterns(clean), clean)
    mean = jnp.mean(train.tokens, axis=1)[:, : config.value_dim.cap]
    size = jnp.linalg.norm(mean, axis=1)
    average = jnp.mean(size[: config.num_classes.cap])  # labels in turn
    L = train.tokens.shape[1]
    width = laws.KAPPA * config.noise * (config.dimension.cap / L) ** 0.5 / average
    want = 0.5 * jax.scipy.special.erfc(width / 2**0.5)
    return laws.small_fraction(material.shown(config), config), want


@check("ranks: of token counts", "derived", "equal")
def ranks_of_counts(key: Array, config: Config) -> Compared:
    """The ranks from the relevant tokens and the labels of many samples.

    Independent relevant patterns: the rank of the numbers of relevant tokens over many samples;
    classes: labels that occur. On the examples with more patterns than classes.
    """
    large_config = config.replace(num_samples=Size(200))
    if config.num_heads == 1:
        return None
    train, _ = data.datasets(key, data.patterns(large_config), large_config)
    R, C = config.num_relevant_patterns.cap, config.num_classes.cap
    counts = jnp.sum(jax.nn.one_hot(train.pattern, config.num_patterns.cap), axis=1)[:, :R]
    s = linalg.eigvalsh(counts.T @ counts)
    rank = jnp.sum(s > 1e-9 * s[-1]).astype(float)
    classes = jnp.sum(jnp.bincount(train.label, length=C) > 0).astype(float)
    head_count = config.num_heads * config.num_layers
    return laws.ranks(config), jnp.concatenate(
        [jnp.full(2 * head_count, rank), jnp.full(head_count + 1, classes)]
    )


@check("first_step: gradient at uniform attention", "derived", "equal")
def first_step_exact(key: Array, config: Config) -> Compared:
    """The first step is exact where attention is uniform.

    It is exact in W_Q, W_V, W_O at W_Q = 0, and in W_K at W_K = 0.
    """
    if config.num_layers > 1:
        return None
    params, batch, problem = material.setting(key, config)

    def without(keep: Array) -> tuple[Params, Params]:
        """The parameters with W_Q = 0 where it is not kept, else with W_K = 0."""
        cut = params._replace(query=keep * params.query, key=(1 - keep) * params.key)
        return laws.first_step(cut, batch, problem, config), calculus.gradient(
            cut, batch, problem, config
        )

    steps, want = jax.vmap(without)(jnp.asarray([0.0, 1.0]))
    exact = lambda g: (g.query[0], g.value, g.output, g.key[1])
    return exact(steps), exact(want)


@check("first_step: rank without noise", "derived", "equal")
def first_step_rank(key: Array, config: Config) -> Compared:
    """Without noise the first gradients have rank C.

    This is with one a for all positions and a mean token for each class.
    """
    alike = config.num_relevant_patterns.cap == config.num_classes.cap and (
        config.num_classes.cap == 2 or config.num_confusion.cap == 0
    )
    if config.num_layers > 1 or config.output != "shared" or not alike:
        return None
    params, _, problem = material.setting(key, config)
    batch, _ = data.datasets(key, problem.patterns, config)
    clean = batch._replace(tokens=problem.patterns[batch.pattern])
    g = laws.first_step(params._replace(query=0 * params.query), clean, problem, config)
    C = config.num_classes.cap
    s = [linalg.singular_values(W) for W in (g.query[0, 0], g.value[0, 0], g.output)]
    ratios = [x[C] / jnp.maximum(x[0], 1e-30) if len(x) > C else jnp.zeros(()) for x in s]
    return jnp.stack(ratios), jnp.zeros(3)


@check("noiseless_null: the gradient of W_K vanishes on it", "derived", "equal")
def keys_without_noise(key: Array, config: Config) -> Compared:
    """Without noise dW_K v = 0 where every pattern has mu_j^T v = 1.

    The reason is that the gradient in the scores sums to zero over the keys. With one a per
    position.
    """
    if config.output == "shared":
        return None
    params, batch, problem = material.setting(key, config)
    clean = batch._replace(tokens=problem.patterns[batch.pattern])
    null = laws.noiseless_null(problem, config)
    g = calculus.gradient(params, clean, problem, config).key
    pushed = g @ null
    return (problem.patterns @ null, pushed), (
        jnp.ones(len(problem.patterns)),
        jnp.zeros_like(pushed),
    )
