"""Laws before training: attention, neurons that stay small, ranks, and the first step.

The attention is that which the data offer.
"""

import jax.numpy as jnp
from jax.scipy.special import gammaln
from jax.scipy.stats import norm as normal
from jaxtyping import Array, Float

from jaxtheory.ops.positions import indices
from jaxtheory.theories.low_rank import calculus, data, model
from jaxtheory.theories.low_rank.model import Batch, Config, Params, Problem

KAPPA = 1.05  # constant of `small_fraction`, fitted on one setting


def relevant_share(config: Config) -> Float[Array, ""]:
    """alpha*, the mean share of relevant tokens, nrel / L.

    Random counts: E max(b, n - b) / L with b ~ Bin(n, nrel / n), n = nrel + nconf. Source: section
    III-B; random counts are derived.
    """
    L = jnp.asarray(model.length(config).real, float)
    relevant = jnp.asarray(config.num_relevant.real, float)
    if config.counts == "exact":
        return relevant / L
    n = relevant + jnp.asarray(config.num_confusion.real, float)
    share = relevant / n
    b = jnp.arange(config.num_relevant.cap + config.num_confusion.cap + 1, dtype=n.dtype)
    inside = b <= n
    failures = jnp.where(inside, n - b, 0)
    log_share = jnp.where(
        failures > 0, failures * jnp.log(jnp.where(share < 1, 1 - share, 1)), 0
    ) + b * jnp.log(share)
    log_law = gammaln(n + 1) - gammaln(b + 1) - gammaln(failures + 1) + log_share
    possible = inside & ((share < 1) | (b == n))
    return jnp.sum(jnp.where(possible, jnp.exp(log_law) * jnp.maximum(b, failures), 0)) / L


def carried_means(problem: Problem, config: Config) -> Float[Array, "C ma"]:
    """Class means as W_V(0) carries them, over its scale."""
    return model.embed(data.class_means(problem, config), config.value_dim)


def dead_fraction(problem: Problem, config: Config) -> Float[Array, ""]:
    """1/2 - theta / 2 pi, the share of neurons that are inactive on both class means at the start.

    theta is the angle of the means. There are two classes.

    W_V(0) is a multiple of the identity and o_i(0) is isotropic. With exact counts and orthonormal
    patterns cos theta = (2 nrel nconf + (M - 2) per^2) / (nrel^2 + nconf^2 + (M - 2) per^2).
    Source: derived; the paper only shows 0.4.
    """
    a, b = carried_means(problem, config)[:2]
    cosine = jnp.sum(a * b) / jnp.sqrt(jnp.sum(a**2) * jnp.sum(b**2))
    return 0.5 - jnp.arccos(jnp.clip(cosine, -1, 1)) / (2 * jnp.pi)


def small_fraction(problem: Problem, config: Config) -> Float[Array, ""]:
    """Phi(-kappa sigma sqrt(d) / (sqrt(L) |m|)), the share of neurons that stay small.

    They stay small because they are inactive, or nearly so, on their own class mean m.

    The mean of L tokens is m + sigma z / sqrt(L): a neuron grows where o^T m exceeds -kappa times
    the size of its noise. kappa = 1.05 is fitted. It holds for Gaussian noise, with the mean |m|
    over the classes, and for values of at least d dimensions (with m_a < d, sqrt(m_a) replaces
    sqrt(d)).
    Source: reconstructed.
    """
    size = jnp.sqrt(jnp.sum(carried_means(problem, config) ** 2, axis=1))
    mean = jnp.sum(size) / jnp.asarray(config.num_classes.real, size.dtype)
    width = config.noise * jnp.sqrt(
        jnp.asarray(config.dimension.real, size.dtype)
        / jnp.asarray(model.length(config).real, size.dtype)
    )
    return normal.cdf(-KAPPA * width / mean)


def ranks(config: Config) -> Float[Array, " matrix"]:
    """The ranks of the trained changes.

    They are the number of relevant patterns that occur independently for W_Q and W_K, the number of
    classes for W_V and W_O.

    Source: derived and measured; the paper states the number of label-relevant patterns for all
    four, which agrees for R = C = 2.
    """
    patterns = (
        config.num_relevant_patterns if config.occurrence == "independent" else config.num_classes
    )
    head_count = config.num_layers * config.num_heads
    attention, value = (jnp.asarray(size.real, float) for size in (patterns, config.num_classes))
    return jnp.concatenate(
        [jnp.broadcast_to(attention, (2 * head_count,)), jnp.broadcast_to(value, (head_count + 1,))]
    )


def first_step(params: Params, batch: Batch, problem: Problem, config: Config) -> Params:
    """The gradient at uniform attention, p_l = 1/L, of one layer.

    With x_ the mean token and Cov = X X^T / L - x_ x_^T of each sample,

    dW_O = sum_l G_l (W_V x_)^T,   dW_V = sum_l D_l x_^T,   dW_Q = W_K Cov W_V^T sum_l D_l x_l^T,
                                                            dW_K = W_Q sum_l x_l (Cov W_V^T D_l)^T.

    It is the leading order in the scores, exact in W_Q, W_V, W_O where W_Q = 0, and in W_K where
    W_K = 0. Without noise and with one a for all positions it has rank 2. Source: derived.
    """
    L = jnp.asarray(model.length(config).real, batch.tokens.dtype)
    X = batch.tokens
    mean = jnp.sum(X, axis=1) / L
    V = jnp.sum(params.value[0], axis=0)
    v = mean @ V.T
    hidden = jnp.broadcast_to((v @ params.output.T)[:, None, :], (*X.shape[:2], len(params.output)))
    g = calculus.slope(model.read_out(hidden, problem, config), batch, config)
    G = calculus.neuron_gradient(g, hidden, problem, config)
    D = G @ params.output
    u = jnp.einsum("bla,hae->bhle", D, params.value[0])
    cov = jnp.einsum("bje,bjf->bef", X, X) / L - mean[:, :, None] * mean[:, None, :]
    moved = jnp.einsum("bhle,bef->bhlf", u, cov)
    return Params(
        jnp.einsum("hqe,bhle,bld->hqd", params.key[0], moved, X)[None],
        jnp.einsum("hqd,bld,bhle->hqe", params.query[0], X, moved)[None],
        jnp.broadcast_to(jnp.einsum("bla,bd->ad", D, mean), params.value.shape),
        jnp.einsum("blm,ba->ma", G, v),
    )


def noiseless_null(problem: Problem, config: Config) -> Float[Array, " d"]:
    """v with mu_j^T v = 1 for every pattern: without noise Delta W_K v = 0.

    v is (mu_1 + mu_2) / (1 + cos) + the other relevant ones + sum of
    (mu_j - ov mu_(j mod R)) / (1 + ov) over the irrelevant.

    Gradients in the scores sum to zero over the keys, and X^T v = 1: irrelevant keys lose what
    relevant ones gain. This holds for the first layer alone, whose inputs are patterns, and for
    descent along the gradient, not for Adam. Source: derived.
    """
    j, U, R = (
        indices(config.num_patterns.cap)[:, None],
        problem.patterns,
        config.num_relevant_patterns,
    )
    ov = jnp.asarray(config.overlap, float)
    share = jnp.where(j < 2, 1 / (1 + jnp.asarray(config.coherence, float)), 1)
    irrelevant = (U - ov * U[j[:, 0] % R.n]) / (1 + ov)
    terms = jnp.where(j < R.n, share * U, irrelevant)
    return jnp.sum(jnp.where(j < config.num_patterns.n, terms, 0), axis=0)
