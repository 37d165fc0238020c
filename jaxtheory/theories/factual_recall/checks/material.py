"""Facts, prompts and parameters without a law, and the choice of configs for each check."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.theories.factual_recall import data, model
from jaxtheory.theories.factual_recall.model import Batch, Config, Params, Problem

PAPER = "arXiv 2412.06538"
SIZES = ("num_subjects", "num_relations", "num_answers", "num_noise", "length", "num_draws")


def is_unpadded(config: Config) -> bool:
    """True if no size is padded."""
    return all(Size.wrap(getattr(config, n)).value is None for n in (*SIZES, "dimension"))


def capacities(config: Config) -> tuple[int, ...]:
    """S, R, D, N, T and n."""
    return tuple(Size.wrap(getattr(config, n)).cap for n in SIZES)


def weights(key: Array, problem: Problem, config: Config) -> Params:
    """Parameters of order 1."""
    start = model.init(key, problem, config)
    leaves, tree = jax.tree.flatten(start)
    keys = jax.random.split(key, len(leaves))
    return jax.tree.unflatten(
        tree, [draws.normal(k, *x.shape) for k, x in zip(keys, leaves, strict=True)]
    )


def prompts(batch: Batch) -> list[tuple[tuple[int, int, int], Array]]:
    """Subject, relation and draw of each prompt, with its weight."""
    return [
        ((s, r, i), batch.weight[s, r, i])
        for s in range(batch.weight.shape[0])
        for r in range(batch.weight.shape[1])
        for i in range(batch.weight.shape[2])
    ]


def knowing_relations(problem: Problem, config: Config) -> Params:
    """Parameters whose softmax is p(.|r), with u = 1 of relations and subjects, for onehot."""
    S, R, D, N, _, _ = capacities(config)
    w = model.subject_weights(config)
    facts = jax.nn.one_hot(problem.train.answer, D)  # [S, R, D]
    p = jnp.einsum("s,srd->rd", w, facts)
    logs = jnp.where(p > 0, jnp.log(jnp.where(p > 0, p, 1)), -1000.0)
    own = jnp.where(jnp.eye(R, dtype=bool)[:, None, :], logs[:, :, None], -1000.0)
    zero = model.Table(jnp.zeros((R, D, S)), own, jnp.zeros((R, D, N)))
    return Params(zero, model.Scores(jnp.ones(S), jnp.ones(R), jnp.ones(N)))


def knowing_subjects(problem: Problem, config: Config) -> Params:
    """Parameters whose softmax is 1/R at the answers of the subject, with u = 1, for onehot."""
    S, R, D, N, _, _ = capacities(config)
    facts = jax.nn.one_hot(problem.train.answer, D)  # [S, R, D]
    own = 1000 * (facts.transpose(1, 2, 0) - 1)
    W = model.Table(own, jnp.zeros((R, D, R)), jnp.zeros((R, D, N)))
    return Params(W, model.Scores(jnp.ones(S), jnp.ones(R), jnp.ones(N)))


def all_noise(problem: Problem, config: Config) -> Batch | None:
    """Each fact with each tuple of noise tokens once, or None where these are too many."""
    S, R, _, N, T, _ = capacities(config)
    number = N ** (T - 2)
    if number > 100:
        return None
    tuples = jnp.stack(
        jnp.unravel_index(jnp.arange(number), (N,) * max(T - 2, 1)), axis=1
    )  # [number, T - 2]; of one token for T = 2
    noise = jnp.concatenate([jnp.zeros((number, 2), tuples.dtype), tuples], axis=1)[:, :T]
    noise = jnp.broadcast_to(noise.astype(jnp.int32), (S, R, number, T))
    return data.batch(problem.train.answer, noise, config.replace(num_draws=number))
