"""Data of a run: facts, prompts with noise tokens, and random embeddings."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.ops.positions import indices
from jaxtheory.theories.factual_recall import model
from jaxtheory.theories.factual_recall.model import Batch, Config, Embedding, Problem


def problem(key: Array, config: Config) -> Problem:
    """Draw the facts, n training and n test prompts of each, and the embeddings."""
    for_facts, for_train, for_test, for_embedding = jax.random.split(key, 4)
    S, R, D, d = (
        Size.wrap(n)
        for n in (config.num_subjects, config.num_relations, config.num_answers, config.dimension)
    )
    facts = draws.integers(for_facts, D.n, S, R)
    train, test = (batch(facts, tokens(k, config), config) for k in (for_train, for_test))
    scale = jnp.sqrt(jnp.asarray(1 / d.real, float))
    axes = (S, d), (R, d), (config.num_noise, d), (R, D, d)
    keys = jax.random.split(for_embedding, 4)
    rows = (draws.normal(k, *a) * scale for k, a in zip(keys, axes, strict=True))
    return Problem(train, test, Embedding(*rows))


def sample(_key: Array, problem: Problem, _config: Config) -> Batch:
    """Return the fixed training set, for full-batch gradient descent."""
    return problem.train


def tokens(key: Array, config: Config) -> Int[Array, "S R n T"]:
    """Draw noise tokens uniform on N for all T positions, of which the first two are not used."""
    N = jnp.asarray(Size.wrap(config.num_noise).n, jnp.int32)
    axes = config.num_subjects, config.num_relations, config.num_draws, config.length
    return draws.integers(key, N, *axes)


def batch(facts: Int[Array, "S R"], noise: Int[Array, "S R n T"], config: Config) -> Batch:
    """The prompts of these facts with these noise tokens."""
    S, R, n, N, T = (
        Size.wrap(x)
        for x in (
            config.num_subjects,
            config.num_relations,
            config.num_draws,
            config.num_noise,
            config.length,
        )
    )
    used = T.mask() & (indices(T.cap) >= 2)
    is_token = noise[..., None] == indices(N.cap)[None, None, None, None, :]
    counts = jnp.sum(is_token & used[None, None, None, :, None], axis=3).astype(float)
    return Batch(facts, draws.masked(counts, S, R, n), weights(config))


def weights(config: Config) -> Float[Array, "S R n"]:
    """w_s / (R n), zero on padded prompts."""
    R, n = Size.wrap(config.num_relations), Size.wrap(config.num_draws)
    w = model.subject_weights(config)
    return w[:, None, None] * R.weights()[None, :, None] * n.weights()[None, None, :]
