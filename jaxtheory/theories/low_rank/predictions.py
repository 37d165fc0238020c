"""What is measured along training and at its end, and what the theory says about it."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxtheory.theories.low_rank import analyses as look
from jaxtheory.theories.low_rank import laws, model, pruning
from jaxtheory.theories.low_rank.model import Config, Params, Problem

SMALL = 0.33  # a change is small below this share of the 95 % quantile
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
    "projections": ("projection", "left", "pattern"),
    "truncated_loss": ("rank",),
    "truncated_error": ("rank",),
    "truncated_attention": ("rank",),
    "truncated_query_attention": ("rank",),
    "alone_truncated_loss": ("cut",),
    "pruned_loss": ("rate", "order"),
    "pruned_truncated_loss": ("rate",),
    "head_pruned_loss": ("removed_heads",),
    "value_pruned_loss": ("value_rate",),
}


def coords(config: Config) -> dict:
    """Labels of the dimensions; indices of neurons and patterns count from 0."""
    return {
        "matrix": tuple(model.matrix_names(config)),
        "index": tuple(range(1, look.full_rank(config) + 1)),
        "rank": tuple(range(1, look.full_rank(config) + 1)),
        "law": LAWS,
        "projection": ("WQ", "WK", "WV"),
        "cut": ("WQ", "WK", "WV", "WO"),
        "rate": pruning.RATES,
        "order": pruning.ORDERS,
        "removed_heads": tuple(range(config.num_heads + 1)),
        "value_rate": look.VALUE_RATES,
    }


# Along training


def small_set(norms: Float[Array, " m"], config: Config) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Where the largest ratio of consecutive sorted norms lies, as a share of neurons, and that ratio; inside ranks 10 % to 90 %."""
    m = config.num_neurons
    s = jnp.sort(jnp.where(m.mask(), norms, jnp.inf))
    place = 1 + model.indices(m.cap)
    inside = (10 * place >= m.n) & (10 * place <= 9 * m.n)
    following = jnp.append(s[1:], jnp.inf)
    ratio = jnp.where(inside, jnp.where(s > 0, following / jnp.maximum(s, jnp.finfo(s.dtype).tiny), 1), 0)
    best = jnp.argmax(ratio)
    return jnp.where(ratio[best] > 0, place[best].astype(s.dtype) / m.real, 0), ratio[best]


def small_changes(norms: Float[Array, " m"], config: Config) -> Float[Array, ""]:
    """The share of neurons with |o_i - o_i(0)| below .33 of its 95 % quantile, the ceil(.95 m)-th smallest."""
    m = config.num_neurons
    s = jnp.sort(jnp.where(m.mask(), norms, jnp.inf))
    top = jnp.take(s, (95 * m.n + 99) // 100 - 1)
    return jnp.sum(m.mask() & (norms < SMALL * top)).astype(s.dtype) / m.real


def balance_drift(params: Params, problem: Problem, config: Config) -> Float[Array, " law"]:
    """|change of a difference of Gram matrices| over the sum of both |changes|: zero under gradient flow, O(eta) otherwise; 0 at the start.

    QK: W_Q W_Q^T - W_K W_K^T of every head; VO: sum_h W_V W_V^T of the last layer - W_O^T W_O.
    """
    start = model.initial(problem, config)

    def grams(p: Params) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        V = jnp.einsum("had,hbd->ab", p.value[-1], p.value[-1])
        return (p.query @ p.query.mT, p.key @ p.key.mT), (V, p.output.T @ p.output)

    size = lambda x: jnp.sqrt(jnp.sum(x**2))
    found = []
    for (a, b), (a0, b0) in zip(grams(params), grams(start), strict=True):
        moved, total = size((a - a0) - (b - b0)), size(a - a0) + size(b - b0)
        found.append(moved / jnp.where(total > 0, total, 1))
    return jnp.stack(found)


def dead(params: Params, problem: Problem, config: Config) -> Bool[Array, " m"]:
    """Neurons inactive on the mean token of every class."""
    alive = (look.activity(params, problem, config) > 0) & config.num_classes.mask()[:, None]
    return ~jnp.any(alive, axis=0) & config.num_neurons.mask()


def metrics(params: Params, problem: Problem, config: Config) -> dict[str, Array]:
    """On the test set:

    loss, error                 mean hinge loss; share of samples with margin <= 0
    relevant_attention          attention on tokens of the label's patterns, mean over all queries of the last layer; alpha* at the start
    relevant_query_attention    the same, mean over the queries that are such tokens
    Of the parameters, Delta W = W - W(0):
    singular_values, gap_rank   of each Delta W; where its largest ratio s_r / s_(r+1) lies
    balance_drift               by how much the conservation laws of gradient flow fail
    dead_neurons                share of neurons inactive on every class mean
    small_fraction, small_ratio the largest gap in the sorted |o_i|: the share of neurons below it, and its ratio
    small_changes               share of neurons with |Delta o_i| below .33 of its 95 % quantile
    """
    loss, error, every, own = look.evaluate(params, problem, config)
    delta = model.change(params, problem, config)
    s = look.singular_values(delta, config)
    share, ratio = small_set(pruning.norms(params.output), config)
    return {
        "loss": loss,
        "error": error,
        "relevant_attention": every,
        "relevant_query_attention": own,
        "singular_values": s,
        "gap_rank": look.gap_rank(s, look.rank_limit(config)).astype(s.dtype),
        "balance_drift": balance_drift(params, problem, config),
        "dead_neurons": jnp.sum(dead(params, problem, config)).astype(s.dtype) / config.num_neurons.real,
        "small_fraction": share,
        "small_ratio": ratio,
        "small_changes": small_changes(pruning.norms(delta.output), config),
    }


def analyses(params: Params, problem: Problem, config: Config) -> dict[str, Array]:
    """Of the trained parameters; losses are of the test set.

    neuron_norms, neuron_changes   |o_i| and |o_i - o_i(0)|
    neuron_class, neuron_start     the class a neuron speaks for; o_i(0)^T W_V(0) m_c on each class mean
    projections                    mu_i^T Delta W mu_j of W_Q, W_K, W_V; neuron_projections o_i^T mu_j
    truncated_loss, _error, _attention, _query_attention   all Delta W cut to rank 1, 2, ..; alone_truncated_loss one of them cut to rank 1
    pruned_loss                    neurons removed, 201 rates and five orders; pruned_truncated_loss after truncation to rank r, small first
    head_pruned_loss               without 0, 1, .., H heads, smallest |W_V^h| first; value_pruned_loss without value dimensions
    """
    return {
        "neuron_norms": pruning.norms(params.output),
        "neuron_changes": pruning.norms(model.change(params, problem, config).output),
        "neuron_class": jnp.where(config.num_neurons.mask(), look.own_class(problem, config), 0).astype(params.output.dtype),
        "neuron_start": look.activity(model.initial(problem, config), problem, config),
        "projections": look.projections(params, problem, config),
        "neuron_projections": look.neuron_projections(params, problem, config),
        "pruned_loss": pruning.curves(params, problem, config),
        "head_pruned_loss": look.head_loss(params, problem, config),
        "value_pruned_loss": look.value_loss(params, problem, config),
        **look.truncation(params, problem, config),
    }


# What the theory says


def predict(problem: Problem, config: Config, steps: np.ndarray) -> dict[str, Array]:
    """Curves at the given steps.

    relevant_attention: uniform     alpha*, the attention of the start and of a run whose attention does not learn
    gap_rank: law                   relevant patterns that occur independently for W_Q, W_K; classes for W_V, W_O
    dead_neurons: angle             1/2 - theta / 2 pi at step 0, NaN after; two classes
    small_fraction: own_mean        the small set of a trained run with a small W_O(0); angle: 1/2 - theta / 2 pi
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
    return curves | {"dead_neurons:angle": jnp.where(times == 0, angle, jnp.nan), "small_fraction:angle": constant(angle)}


def assumptions(problem: Problem, config: Config) -> dict[str, tuple[Array, Array]]:
    """Conditions of the source, each with its margin (negative where it fails); 1 for constants that it leaves open.

    The paper's own experiments violate the first two (|x| = 1.09 and |noise| = 0.45 against 1/M = 0.05 at sigma = 0.1, d = M = 20).
    """
    M, d, B = (jnp.asarray(size.real, float) for size in (config.num_patterns, config.dimension, config.batch_size))
    rows = jnp.minimum(jnp.asarray(config.query_dim.real, float), jnp.asarray(config.value_dim.real, float))
    size = jnp.sqrt(jnp.sum(problem.test.tokens**2, axis=2))
    shown = (problem.test.weight > 0)[:, None] & model.length(config).mask()[None, :]
    radius = jnp.asarray(config.noise, float) * (1.0 if config.noise_law == "bounded" else jnp.sqrt(d))
    U = problem.patterns
    overlap = jnp.max(jnp.abs(jnp.where(jnp.eye(len(U), dtype=bool), 0, U @ U.T)))
    margins = {
        "tokens of unit norm, margin 1e-6 - max | |x| - 1 |": 1e-6 - jnp.max(jnp.where(shown, jnp.abs(size - 1), 0)),
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
