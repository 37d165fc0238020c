"""Checks of the prompts and of the weights of facts."""

import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.factual_recall import data
from jaxtheory.theories.factual_recall.checks import material
from jaxtheory.theories.factual_recall.model import Config


@check("batch: counts one by one", "derived", "equal")
def counted_one_by_one(key: Array, config: Config) -> Compared:
    """The counts of tokens 3..T of each prompt, added one by one, and the weights of facts."""
    if not material.is_unpadded(config):
        return None
    S, R, _, N, T, n = material.capacities(config)
    noise = data.tokens(key, config)
    batch = data.batch(jnp.zeros((S, R), jnp.int32), noise, config)
    counts = jnp.zeros((S, R, n, N))
    powers = [(1 + s) ** -jnp.asarray(config.zipf, float) for s in range(S)]
    weight = jnp.zeros((S, R, n))
    for (s, r, i), _ in material.prompts(batch):
        for t in range(2, T):
            counts = counts.at[s, r, i, noise[s, r, i, t]].add(1)
        weight = weight.at[s, r, i].set(powers[s] / sum(powers) / (R * n))
    return (batch.counts, batch.weight), (counts, weight)


@check("problem: facts are uniform", "derived", "sample")
def facts_are_uniform(key: Array, config: Config) -> Compared:
    """The mean of a*(s, r) over facts is (D - 1)/2."""
    if not material.is_unpadded(config):
        return None
    many = config.replace(num_subjects=400)
    D = material.capacities(config)[2]
    facts = data.problem(key, many).train.answer.astype(float)
    error = jnp.sqrt((D**2 - 1) / 12 / facts.size) + 1e-12
    return jnp.mean(facts), jnp.asarray((D - 1) / 2), error


@check("problem: sums over tokens and prompts", "derived", "equal")
def sums_of_prompts(key: Array, config: Config) -> Compared:
    """Counts add up to T - 2 in each prompt, and weights to w_s / R in each fact."""
    if not material.is_unpadded(config):
        return None
    _, R, _, _, T, _ = material.capacities(config)
    problem = data.problem(key, config)
    ranks = 1.0 + jnp.arange(len(problem.train.weight), dtype=float)
    powers = ranks ** -jnp.asarray(config.zipf, float)
    share = jnp.repeat((powers / jnp.sum(powers) / R)[:, None], R, axis=1)
    got, want = [], []
    for batch in (problem.train, problem.test):
        got += [jnp.sum(batch.counts, axis=3), jnp.sum(batch.weight, axis=2)]
        want += [jnp.full(batch.counts.shape[:3], T - 2.0), share]
    return got, want


@check("problem: entries of embeddings have variance 1/d", "derived", "sample")
def embeddings_by_variance(key: Array, config: Config) -> Compared:
    """The mean of d x^2 over the entries x of 2000 rows and more of each embedding is 1."""
    if not material.is_unpadded(config):
        return None
    rows: dict[str, Array] = {}
    for field, names in {
        "num_subjects": ("subject",),
        "num_relations": ("relation", "answer"),
        "num_noise": ("noise",),
    }.items():
        embedding = data.problem(key, config.replace(**{field: 2000})).embedding
        rows |= {name: getattr(embedding, name) for name in names}
    means = jnp.stack([x.shape[-1] * jnp.mean(x**2) for x in rows.values()])
    errors = jnp.sqrt(2 / jnp.asarray([1.0 * x.size for x in rows.values()]))
    return means, jnp.ones(len(rows)), errors
