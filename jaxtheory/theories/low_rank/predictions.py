"""Metrics along training, analyses at its end, and the theory's curves and conditions."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from jaxtheory.theories.low_rank import calculus, laws, model
from jaxtheory.theories.low_rank.analyses import attention, neurons, pruning, ranks
from jaxtheory.theories.low_rank.model import Config, Params, Problem

LAWS = ("QK", "VO")

DIMS = {
    "singular_values": ("matrix", "index"),
    "gap_rank": ("matrix",),
    "balance_drift": ("law",),
    "neuron_norms": ("neuron",),
    "neuron_changes": ("neuron",),
    "neuron_class": ("neuron",),
    "neuron_start": ("class_mean", "neuron"),
    "neuron_projections": ("neuron", "pattern"),
    "neuron_change_projections": ("neuron", "pattern"),
    "projections": ("projection", "left", "pattern"),
    "truncated_loss": ("kept_rank",),
    "truncated_error": ("kept_rank",),
    "truncated_attention": ("kept_rank",),
    "truncated_query_attention": ("kept_rank",),
    "alone_truncated_loss": ("cut",),
    "pruned_loss": ("rate", "order"),
    "pruned_truncated_loss": ("rate",),
    "head_pruned_loss": ("removed_heads",),
    "value_pruned_loss": ("value_rate",),
}


def coords(config: Config) -> dict:
    """Return the labels of the dimensions. Indices of neurons and patterns count from 0."""
    return {
        "matrix": tuple(model.matrix_names(config)),
        "index": tuple(range(1, ranks.full_rank(config) + 1)),
        "kept_rank": tuple(range(1, ranks.full_rank(config) + 1)),
        "law": LAWS,
        "projection": ("WQ", "WK", "WV"),
        "cut": ("WQ", "WK", "WV", "WO"),
        "rate": pruning.RATES,
        "order": pruning.ORDERS,
        "removed_heads": tuple(range(config.num_heads + 1)),
        "value_rate": attention.VALUE_RATES,
    }


def metrics(params: Params, problem: Problem, config: Config) -> dict[str, Array]:
    """Return the metrics. On the test set:

    loss, error                 mean hinge loss; share of samples with margin <= 0
    relevant_attention          attention on tokens of the label's patterns, mean over all queries
                                of the last layer; alpha* at the start
    relevant_query_attention    the same, mean over the queries that are such tokens
    Of the parameters, Delta W = W - W(0):
    singular_values, gap_rank   singular values of each Delta W; where s_r / s_(r+1) is largest
    balance_drift               relative violation of the conservation laws of gradient flow
    dead_neurons                share of neurons inactive on every class mean
    small_fraction              share of neurons below the largest gap in the sorted |o_i|
    small_ratio                 the ratio of that gap
    small_changes               share of neurons with |Delta o_i| below 0.33 of its 95 % quantile
    """
    loss, error, mass, relevant_mass = attention.evaluate(params, problem, config)
    delta = model.change(params, problem, config)
    s = ranks.singular_values(delta, config)
    share, ratio = neurons.small_set(pruning.norms(params.output), config)
    dead = jnp.sum(neurons.dead(params, problem, config)).astype(s.dtype) / config.num_neurons.real
    return {
        "loss": loss,
        "error": error,
        "relevant_attention": mass,
        "relevant_query_attention": relevant_mass,
        "singular_values": s,
        "gap_rank": ranks.gap_rank(s, ranks.rank_limit(config)).astype(s.dtype),
        "balance_drift": calculus.balance_drift(params, problem, config),
        "dead_neurons": jnp.where(jnp.isnan(problem.patterns[0, 0]), jnp.nan, dead),
        "small_fraction": share,
        "small_ratio": ratio,
        "small_changes": neurons.small_changes(pruning.norms(delta.output), config),
    }


def analyses(params: Params, problem: Problem, config: Config) -> dict[str, Array]:
    """Return the analyses of the trained parameters. Losses are those of the test set.

    neuron_norms, neuron_changes   |o_i|; |o_i - o_i(0)|
    neuron_class, neuron_start     the class that a neuron supports; o_i(0)^T W_V(0) m_c on each
                                   class mean
    projections                    mu_i^T Delta W mu_j of W_Q, W_K, W_V
    neuron_projections             o_i^T mu_j
    neuron_change_projections      (o_i - o_i(0))^T mu_j
    truncated_loss                 loss with all Delta W cut to rank 1, 2, ..
    truncated_error                share of samples with margin <= 0, all Delta W cut likewise
    truncated_attention            relevant_attention, all Delta W cut likewise
    truncated_query_attention      relevant_query_attention, all Delta W cut likewise
    alone_truncated_loss           loss with one Delta W cut to rank 1
    pruned_loss                    loss with neurons removed, 201 rates and five orders
    pruned_truncated_loss          loss after truncation to rank r, small neurons removed first
    head_pruned_loss               loss without 0, 1, .., H heads, smallest |W_V^h| first
    value_pruned_loss              loss without 0, 0.1, .., 1 of the value dimensions, smallest
                                   first
    """
    delta = model.change(params, problem, config)
    return {
        "neuron_norms": pruning.norms(params.output),
        "neuron_changes": pruning.norms(delta.output),
        "neuron_class": jnp.where(
            config.num_neurons.mask(), neurons.own_class(problem, config), 0
        ).astype(params.output.dtype),
        "neuron_start": neurons.activity(model.initial(problem, config), problem, config),
        "projections": neurons.projections(params, problem, config),
        "neuron_projections": neurons.neuron_projections(params, problem, config),
        "neuron_change_projections": neurons.neuron_projections(delta, problem, config),
        "pruned_loss": pruning.curves(params, problem, config),
        "head_pruned_loss": attention.head_loss(params, problem, config),
        "value_pruned_loss": attention.value_loss(params, problem, config),
        **ranks.truncation(params, problem, config),
    }


def predict(
    problem: Problem, config: Config, steps: Int[Array | np.ndarray, " t"]
) -> dict[str, Array]:
    """Return the theory's curves at the given steps.

    relevant_attention: uniform     alpha*, the attention of the start and of a run whose attention
                                    does not learn
    gap_rank: law                   relevant patterns that occur independently for W_Q, W_K; classes
                                    for W_V, W_O
    dead_neurons: angle             1/2 - theta / 2 pi at step 0, NaN after; two classes
    small_fraction: own_mean        the small set of a trained run with a small W_O(0)
    small_fraction: angle           1/2 - theta / 2 pi
    """
    times = np.asarray(steps)
    constant = lambda value: jnp.broadcast_to(value, (*times.shape, *jnp.shape(value)))
    curves = {
        "relevant_attention:uniform": constant(laws.relevant_share(config)),
        "gap_rank:law": constant(laws.ranks(config)),
        "small_fraction:own_mean": constant(laws.small_fraction(problem, config)),
    }
    if config.task != "binary":
        return curves
    angle = laws.dead_fraction(problem, config)
    return curves | {
        "dead_neurons:angle": jnp.where(times == 0, angle, jnp.nan),
        "small_fraction:angle": constant(angle),
    }


def assumptions(problem: Problem, config: Config) -> dict[str, tuple[Array, Array]]:
    """Return the conditions of the source, each with its margin, negative where it fails.

    Constants that the source leaves open are 1.

    The paper's own experiments violate the first two (|x| = 1.09 and |noise| = 0.45 against 1/M =
    0.05 at sigma = 0.1, d = M = 20).
    """
    M, d, B = (
        jnp.asarray(size.real, float)
        for size in (config.num_patterns, config.dimension, config.batch_size)
    )
    rows = jnp.minimum(
        jnp.asarray(config.query_dim.real, float), jnp.asarray(config.value_dim.real, float)
    )
    size = jnp.sqrt(jnp.sum(problem.test.tokens**2, axis=2))
    valid = (problem.test.weight > 0)[:, None] & model.length(config).mask()[None, :]
    radius = jnp.asarray(config.noise, float) * (
        1.0 if config.noise_law == "bounded" else jnp.sqrt(d)
    )
    U = problem.patterns
    overlap = jnp.max(jnp.abs(jnp.where(jnp.eye(len(U), dtype=bool), 0, U @ U.T)))
    margins = {
        "tokens of unit norm, margin 1e-6 - max | |x| - 1 |": 1e-6
        - jnp.max(jnp.where(valid, jnp.abs(size - 1), 0)),
        "noise at most 1/M, margin 1/M - its norm": 1 / M - radius,
        "pairwise orthogonal patterns, margin 1e-9 - max |cos|": 1e-9 - overlap,
        "delta <= 0.2": 0.2 - jnp.asarray(config.init_diagonal, float),
        "B >= M": B - M,
        "m_a, m_b >= M": rows - M,
        "balanced classes, margin 1 - |N_0 - N_1| / sqrt(N)": 1 - _imbalance(problem),
    }
    return {name: (margin >= 0, margin) for name, margin in margins.items()}


def _imbalance(problem: Problem) -> Array:
    """|N_0 - N_1| / sqrt(N) of the first two classes."""
    shown = problem.train.weight > 0
    counts = [jnp.sum(shown & (problem.train.label == c)).astype(float) for c in (0, 1)]
    return jnp.abs(counts[0] - counts[1]) / jnp.sqrt(jnp.maximum(jnp.sum(shown).astype(float), 1))
