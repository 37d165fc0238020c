"""The task of `low_rank`: which of two kinds of patterns has the majority among the tokens?

The network sees L tokens of d numbers. Its output at the last position is F, one number for
task = "binary" and C of them for "multiclass". The loss is the theory's hinge loss.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.stats import norm
from jaxtyping import Array, Bool, Float

from jaxtheory.core.task import Task
from jaxtheory.ops import draws
from jaxtheory.ops.positions import indices
from jaxtheory.tasks import answers
from jaxtheory.theories.low_rank import data, model
from jaxtheory.theories.low_rank.model import Batch, Config, Problem

CERTAIN = 1e-6  # largest error of the rule of the nearest patterns that counts as none


def inputs(batch: Batch, _problem: Problem, _config: Config) -> Float[Array, "n L d"]:
    """The tokens."""
    return batch.tokens


def loss(
    outputs: Float[Array, "n L K"], batch: Batch, _problem: Problem, config: Config
) -> Float[Array, ""]:
    """The hinge loss of the theory: max(0, 1 - y F), or max(0, 1 - F_y + max_{k != y} F_k)."""
    return model.hinge(answers.at_last(outputs, model.length(config).n), batch, config)


def metrics(outputs: Any, maps: answers.Maps, problem: Problem, config: Config) -> dict[str, Any]:
    """Return the metrics on the test samples.

    loss                mean hinge loss
    accuracy            share of samples with a positive margin
    relevant_attention  attention of the last query to the tokens of the label's class: the largest
                        over heads and layers of its mean; NaN for a network without attention maps
    """
    test, L = problem.test, model.length(config)
    F = answers.at_last(outputs(test), L.n)
    right = model.margin(F, test.label, config) > 0
    return {
        "loss": model.hinge(F, test, config),
        "accuracy": jnp.sum(jnp.where(right, test.weight, 0)),
        "relevant_attention": answers.on(maps(test), data.relevant(test, config), test.weight, L.n),
    }


def mistaken(problem: Problem, config: Config) -> Float[Array, ""]:
    """A bound on the probability that some token is not nearest to its own pattern.

    With D the least distance of two patterns it is at most L (M - 1) Phi(-D / (2 sigma)) for
    Gaussian noise, by the union bound. For noise of norm sigma it is 0 where sigma < D / 2, else 1.
    """
    U, M = problem.patterns, config.num_patterns
    valid = M.mask()[:, None] & M.mask()[None, :] & ~jnp.eye(M.cap, dtype=bool)
    squared = jnp.sum((U[:, None, :] - U[None, :, :]) ** 2, axis=2)
    least = jnp.sqrt(jnp.min(jnp.where(valid, squared, jnp.inf)))
    sigma = jnp.asarray(config.noise, least.dtype)
    if config.noise_law == "bounded":
        return (sigma >= least / 2).astype(least.dtype)
    pairs = jnp.asarray(model.length(config).real, float) * (jnp.asarray(M.real, float) - 1)
    tail = norm.cdf(-least / (2 * jnp.where(sigma > 0, sigma, 1)))
    return jnp.where(sigma > 0, jnp.minimum(pairs * tail, 1), jnp.where(least > 0, 0.0, 1.0))


def tie(config: Config) -> Float[Array, ""]:
    """P(n / 2 of n voting tokens are of each kind): 0 for exact counts and for odd n.

    n = nrel + nconf, each of the first kind with probability nrel / n.
    """
    n = jnp.asarray(config.num_relevant.n + config.num_confusion.n, jnp.int32)
    q = jnp.asarray(config.num_relevant.real, float) / n.astype(float)
    half = n.astype(float) / 2
    log_choose = jax.scipy.special.gammaln(2 * half + 1) - 2 * jax.scipy.special.gammaln(half + 1)
    spread = q * (1 - q)
    chance = jnp.exp(log_choose + half * jnp.log(jnp.where(spread > 0, spread, 1)))
    split = (config.counts == "random") & (n % 2 == 0) & (spread > 0)
    return jnp.where(split, chance, 0)


def optimal(problem: Problem, config: Config) -> dict[str, Float[Array, ""]]:
    """Loss P(tie) and accuracy 1 - P(tie) / 2, for the rule of nearest patterns.

    The rule replaces every token by its nearest pattern and counts.

    NaN where this rule may err with probability above 1e-6 (`mistaken`): the best rule for strong
    noise, and its loss, have no closed form. At a tie, which only random counts have, both kinds
    are equally likely to be the label, and the least hinge loss is 1.
    """
    certain, even = mistaken(problem, config) <= CERTAIN, tie(config)
    return {
        "loss": jnp.where(certain, even, jnp.nan),
        "accuracy": jnp.where(certain, 1 - even / 2, jnp.nan),
    }


def fresh(key: Array, problem: Problem, config: Config) -> Batch:
    """Draw B new samples of the same patterns.

    Their classes and flipped labels have the law of B distinct training samples.
    """
    B, U = config.batch_size, problem.patterns
    for_place, for_data, for_flip = jax.random.split(key, 3)
    keys = jax.random.split(for_data, B.cap)
    place = draws.distinct(for_place, config.num_samples, B.cap)
    tokens, label, pattern = jax.vmap(lambda k, i: data.one_sample(k, i, U, config))(keys, place)
    flipped = draws.bernoulli(for_flip, config.label_noise, B)
    label = jnp.where(flipped, (label + 1) % config.num_classes.n, label)
    tokens, label, pattern = (draws.masked(x, B) for x in (tokens, label, pattern))
    return Batch(tokens, label, pattern, B.weights())


def edges(batch: Batch, _problem: Problem, config: Config) -> Bool[Array, "n L L"]:
    """From each token to the tokens of the label's class, but from none to itself."""
    place = indices(batch.tokens.shape[1])
    others = place[:, None] != place[None, :]
    return data.relevant(batch, config)[:, None, :] & others[None]


def optimal_without(information: str, problem: Problem, config: Config) -> Float[Array, ""]:
    """1 without the prompt: the classes are equally likely, and the least hinge loss is 1.

    Without the tokens of the label's class those of the confusing class remain, and exclude it.
    That leaves C - 1 equally likely classes: for C > 2 the loss is 1, for C = 2 the probability
    that no confusing token remains. This is 1[nconf = 0] for exact counts and q^n + (1 - q)^n for
    random ones, with n = nrel + nconf and q = nrel / n. NaN where `optimal` is, unless the loss
    is 1 under any noise, as for C > 2 and for nconf = 0.
    """
    one = jnp.ones(())
    if information == "prompt":
        return one
    a, b = (jnp.asarray(k.real, float) for k in (config.num_relevant, config.num_confusion))
    n, q = a + b, a / (a + b)
    alone = q**n + (1 - q) ** n if config.counts == "random" else jnp.where(b > 0, 0, one)
    unknown = (jnp.asarray(config.num_classes.n, jnp.int32) > 2) | (b == 0)
    alone = jnp.where(mistaken(problem, config) <= CERTAIN, alone, jnp.nan)
    return jnp.where(unknown, one, alone)


TASK = Task(
    name="low_rank",
    Config=Config,
    problem=data.problem,
    sample=data.sample,
    inputs=inputs,
    loss=loss,
    outputs=lambda config: 1 if config.task == "binary" else int(config.num_classes.cap),
    vocabulary=lambda config: None,
    metrics=metrics,
    optimal=optimal,
    fresh=fresh,
    edges=edges,
    optimal_without=optimal_without,
)
