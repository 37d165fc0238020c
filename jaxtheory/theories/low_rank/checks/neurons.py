"""Checks of the projections and classes of neurons."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.low_rank import data, model
from jaxtheory.theories.low_rank.analyses import neurons
from jaxtheory.theories.low_rank.checks import material
from jaxtheory.theories.low_rank.model import Config


@check("projections: entry by entry", f"{material.PAPER}, equations (7)-(10)", "equal")
def projections_literal(key: Array, config: Config) -> Compared:
    """mu_i^T Delta W mu_j entry by entry.

    For heads the left mu_i passes their rows of the basis.
    """
    if (material.plain(config) and config.num_layers == 1) or config.value_dim.cap == 2:
        return None
    params, _, problem = material.setting(key, config)
    delta = model.change(params, problem, config)
    U, d, m_b, m_a = (
        problem.patterns,
        config.dimension.cap,
        config.query_dim.cap,
        config.value_dim.cap,
    )
    basis = (
        problem.basis[:m_b]
        if m_b <= d
        else jnp.concatenate([problem.basis, jnp.zeros((m_b - d, d))])
    )
    left_patterns = [U @ basis.T, U @ basis.T, U @ jnp.eye(m_a, d).T]
    matrices = [
        delta.query[-1].reshape(m_b, d),
        delta.key[-1].reshape(m_b, d),
        sum(delta.value[-1]),
    ]
    entry = lambda W: jax.vmap(lambda a: jax.vmap(lambda mu: jnp.dot(a, W @ mu))(U))
    entries = [entry(W)(rows) for rows, W in zip(left_patterns, matrices, strict=True)]
    return neurons.projections(params, problem, config), jnp.stack(entries)


@check("activity: neuron by neuron", f"{material.PAPER}, equations (11)-(13)", "equal")
def neurons_described(key: Array, config: Config) -> Compared:
    """o_i^T mu_j, o_i^T W_V m_c and the class of a neuron, one by one, with one a per position."""
    if config.output == "shared":
        return None
    params, _, problem = material.setting(key, config)
    U, d, m_a = problem.patterns, config.dimension.cap, config.value_dim.cap
    carried = lambda mu: jnp.eye(m_a, d) @ mu
    onto_patterns = lambda o: jax.vmap(lambda mu: jnp.dot(o, carried(mu)))(U)
    want = jax.vmap(onto_patterns)(params.output)
    means = data.class_means(problem, config)
    active = jnp.stack([params.output @ sum(W @ m for W in params.value[-1]) for m in means])
    total = jnp.sum(problem.signs, axis=2)
    classes = (
        jnp.where(total[0] > 0, 0, 1) if config.task == "binary" else jnp.argmax(total, axis=0)
    )
    alive = jnp.sum(active > 0, axis=0)
    got = (
        neurons.neuron_projections(params, problem, config),
        neurons.activity(params, problem, config),
        neurons.own_class(problem, config).astype(float),
        neurons.dead(params, problem, config).astype(float),
    )
    return got, (want, active, classes.astype(float), (alive == 0).astype(float))


@check("small_set: made-up gaps", f"{material.PAPER}, figure 3", "equal")
def small_sets(key: Array, config: Config) -> Compared:
    """Artificial norms of m rows, among which those below a gap are found.

    The share below 0.33 of the 95 % quantile is found, too.
    """
    if not material.plain(config) or config.num_layers > 1:
        return None
    m = config.num_neurons.cap
    k = m // 3
    noise = 1 + 0.01 * jax.random.uniform(key, (m,))
    norms = jax.random.permutation(key, jnp.where(jnp.arange(m) < k, 0.1, 1.0) * noise)
    order = jnp.sort(norms)
    got = *neurons.small_set(norms, config), neurons.small_changes(norms, config)
    return got, (jnp.asarray(k / m), order[k] / order[k - 1], jnp.asarray(k / m))
