"""Checks of the drives, the levels, the growth of scores and the times."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Compared, check
from jaxtheory.theories.factual_recall import data, laws, model
from jaxtheory.theories.factual_recall.checks import material
from jaxtheory.theories.factual_recall.model import Batch, Config, Params, Problem, Table


def norms(params: Params, batch: Batch, problem: Problem, config: Config) -> Table:
    """|dL/dW_v| of each token by autodiff."""
    slope = jax.grad(lambda W: model.loss(params._replace(W=W), batch, problem, config))(params.W)
    return Table(*(jnp.sqrt(jnp.sum(block**2, axis=(0, 1))) for block in slope))


def unfit(config: Config) -> bool:
    """True where no onehot layer stands for the facts."""
    return config.embedding == "random" or not material.is_unpadded(config)


@check("drives: autodiff at the start and on the plateau", "derived", "equal")
def drives_by_autodiff(key: Array, config: Config) -> Compared:
    """The drives against the slopes of a layer at a constant W and of one that knows relations.

    Noise is enumerated. For n draws the drive of noise is a mean over draws, taken here in another
    way: the variance of the counts over all tuples of tokens. 1 is added to each, as roots of 0
    are not accurate to the rounding.
    """
    if unfit(config):
        return None
    problem = data.problem(key, config)
    every = material.all_noise(problem, config)
    if every is None:
        return None
    *_, N, _, n = material.capacities(config)
    many = config.replace(num_draws=every.counts.shape[2])
    known = material.knowing_relations(problem, config)
    flat = known._replace(W=jax.tree.map(jnp.ones_like, known.W))
    subjects = material.knowing_subjects(problem, config)
    start, plateau, on_subjects = (norms(x, every, problem, many) for x in (flat, known, subjects))
    got = laws.drives(problem.train, config)
    c = every.counts[0, 0, :, 0]
    w = data.weights(config)[:, :, 0] * n
    p = jnp.exp(model.log_probabilities(known, every, problem, many))[:, :, 0]
    gap = p - model.targets(every, config).astype(p.dtype)
    memory = jnp.var(c) * jnp.sum(w**2 * jnp.sum(gap**2, axis=2)) / n
    want = (
        start.relation**2,
        start.subject**2,
        start.noise**2,
        plateau.subject**2,
        on_subjects.relation**2,
        jnp.zeros(N),
        memory,
    )
    squares = [x * jnp.abs(x) for x in got]  # norms are not negative
    squares[2] = jnp.full(N, squares[2])
    mine = (*squares[:5], plateau.noise**2, squares[5])
    plus = lambda xs: [1 + x for x in xs]
    return plus(mine), plus(want)


@check("_spread: distances to p(.|r)", "derived", "equal")
def spread_by_distances(key: Array, config: Config) -> Compared:
    """q_r and 1 + e_sr as squares of p(.|r) and of e_{a*(s, r)} - p(.|r), fact by fact."""
    if not material.is_unpadded(config):
        return None
    S, R, D, *_ = material.capacities(config)
    batch = data.problem(key, config).train
    right = jax.nn.one_hot(batch.answer, D)  # [S, R, D]
    p = sum(w * facts for w, facts in zip(model.subject_weights(config), right, strict=True))
    square = lambda x: jnp.sum(x**2)
    e = [[square(right[s, r] - p[r]) for r in range(R)] for s in range(S)]
    q, spread = laws._spread(batch, config)
    return (q, 1 + spread), (jnp.stack([square(p[r]) for r in range(R)]), 1 + jnp.asarray(e))


@check("levels: losses of layers", "derived", "equal")
def levels_of_layers(key: Array, config: Config) -> Compared:
    """The levels against losses of layers whose outputs are written down."""
    if unfit(config):
        return None
    problem = data.problem(key, config)
    known, train = material.knowing_relations(problem, config), problem.train
    flat = known._replace(W=jax.tree.map(jnp.zeros_like, known.W))
    of_subject = material.knowing_subjects(problem, config)
    loss = lambda params: model.loss(params, train, problem, config)
    p = jnp.exp(model.log_probabilities(known, train, problem, config))
    right = jnp.sum(
        jnp.where(model.targets(train, config)[:, :, None], p * train.weight[..., None], 0)
    )
    want = jnp.stack([loss(flat), loss(known), loss(of_subject), right])
    return 1 + jnp.stack(list(laws.levels(train, config))), 1 + want


@check("growth: steps one by one", "derived", "equal")
def growth_by_steps(key: Array, config: Config) -> Compared:
    """u_v under a constant drive by steps of descent of (u_v, W_v), from the start of training."""
    if unfit(config):
        return None
    _, R, D, *_ = material.capacities(config)
    config = config.replace(init_scale=0.01, learning_rate=0.3)
    G = jax.random.normal(key, (R * D,))
    G = G - jnp.mean(G)
    G = G / jnp.maximum(jnp.sqrt(jnp.sum(G**2)), 1e-9)
    start = model.init(key, data.problem(key, config), config)
    u, W = start.u.subject[0], jnp.full(R * D, 0.01)
    got, want = [], []
    for t in range(1, 8):
        u, W = u + 0.3 * jnp.sum(G * W), W + 0.3 * u * G
        got.append(laws.growth(jnp.sqrt(jnp.sum(G**2)), jnp.asarray(1.0 * t), config))
        want.append(u)
    return jnp.stack(got), jnp.stack(want)


@check("times: exponents add up", "derived", "equal")
def times_by_exponents(key: Array, config: Config) -> Compared:
    """At its time the exponents of a token's growth, before and on the plateau, add up to 1."""
    if not material.is_unpadded(config):
        return None
    drives = laws.drives(data.problem(key, config).train, config)
    times = laws.times(drives, config)
    kinds = (
        (times.subject, drives.subject, drives.plateau, jnp.mean(1 / drives.relation)),
        (times.relation, drives.relation, drives.other_plateau, jnp.mean(1 / drives.subject)),
    )
    got = []
    for at, drive, plateau, first in kinds:
        is_first = drive * first >= 1
        total = jnp.where(is_first, at * drive, drive * first + (at - first) * plateau)
        got.append(jnp.where(jnp.isfinite(at), total, 1))
    return got, [jnp.ones_like(x) for x in got]
