"""Pruning an attention matrix with a mask on its weights: config, records, attention and loss.

Symbols (paper -> code), with S sequences of n = L tokens in d dimensions:

    X  (S, L, d)   inputs
    Mc (L, L)      attention mask, Mc_ij = 1 where
                   token i may attend to token j
    f* (S, L, L)   attention of W
    c = f - f*     residual
    W_Q, W_K (d, d)  query and key weights, rank r
    W = W_Q W_K^T    fused weights
    M  (d, d)        pruning mask, real-valued while it is fitted
    f  (S, L, L)     attention of M o W
    p  (S, L, L)     gradient of 1/2 ||c||^2 in the logits

Weights act on the right (y = x W), so rows of W are inputs and columns are outputs. `o` is the
entrywise product.
Source: arXiv 2410.11261. Its formulas are reconstructed from the lemma names and hypotheses; each
is verified by a check.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxtheory.core import config as fields
from jaxtheory.core import shapes
from jaxtheory.core.config import Size, concretely, size, static, traced
from jaxtheory.ops.attention import softmax


class Config(fields.Config):
    """Hyper-parameters, by default those of preset P3 (1500 steps).

    The step size is eta = c / lambda.
    """

    dimension: Size = size(64, "d", "dimension of a token and of both sides of the mask")
    length: Size = size(128, "L", "tokens per sequence")
    num_sequences: Size = size(1, "S", "calibration sequences")
    rank: int = traced(4, "r", "rank of the query and key weights", "[1, inf)")
    logit_scale: float = traced(
        100.0,
        "tau",
        "scale of the logits; 100 is literal N(0, 1) data, 12.5 divides by sqrt(d) at d = 64",
        "(0, inf)",
    )
    regularization: float = traced(5.0, "lambda", "weight of (1/2) ||M||^2", "(0, inf)")
    step_scale: float = traced(0.004, "c", "step size times lambda", "(0, inf)")
    momentum: float = traced(0.9, "beta", "momentum of gradient descent", "[0, 1)")
    decay_steps: int = traced(
        1500, "taud", "steps in which sgd_cosine takes its rate to 0", "[1, inf)", "steps"
    )
    adam_epsilon: float = traced(
        1e-8, "epsa", "offset in the denominator of Adam's step", "(0, inf)"
    )
    warmup_steps: int = traced(
        0, "tauw", "steps in which Adam's rate rises to its value; 0 for none", "[0, inf)", "steps"
    )
    pruning_ratio: float = fields.evaluation(0.5, "rho", "share of weights set to zero", "[0, 1)")
    attention: str = static(
        "causal", "Mc", "which tokens a token attends to", ("causal", "full", "block")
    )
    clip: bool = static(
        False, "clip", "project the mask onto [0, 1] after each step", (False, True)
    )
    mask_init: str = static(
        "ones",
        "M0",
        "initial mask; uniform draws its entries from [0, 1)",
        ("ones", "half", "uniform"),
    )
    ranking: str = static(
        "mask",
        "ranking",
        "entries are pruned from the smallest M, or the smallest |M o W|",
        ("mask", "magnitude_mask"),
    )

    def violations(self) -> list[str]:
        if concretely(lambda r, d: r > d, self.rank, self.dimension.n):
            return [
                f"rank (r) = {self.rank}: must be at most dimension (d) = {self.dimension.n}; "
                "lower r or raise d"
            ]
        return []


class Problem(NamedTuple):
    """The data of a run: inputs, weights, the attention mask and draws.

    They are inputs (S, L, d), heldout (4, L, d), query and key (d, d), weights W = W_Q W_K^T
    (d, d), and the attention mask Mc (L, L).

    Replace `attention_mask` by any booleans for another attention. `uniform` (3, d, d) in [0, 1]
    holds two initial masks and one random ranking.
    """

    inputs: Float[Array, "S L d"]
    heldout: Float[Array, "heldout L d"]
    query: Float[Array, "d d"]
    key: Float[Array, "d d"]
    weights: Float[Array, "d d"]
    attention_mask: Bool[Array, "L L"]
    uniform: Float[Array, "3 d d"]


class Batch(NamedTuple):
    """The calibration sequences (S, L, d)."""

    inputs: Float[Array, "S L d"]


class FusedMask(NamedTuple):
    """One mask M on the fused weights: W becomes M o W."""

    mask: Float[Array, "d d"]


class FactorMasks(NamedTuple):
    """A mask on each factor: W becomes (M_Q o W_Q)(M_K o W_K)^T, equation (1) of the source."""

    query: Float[Array, "d d"]
    key: Float[Array, "d d"]


Params = FusedMask | FactorMasks


def fit(params: Params, batch: Batch, problem: Problem, config: Config) -> None:
    """Raise InputError where the arrays do not fit each other or the config (see `core.shapes`)."""
    shapes.check_shapes(config, params=params, batch=batch, problem=problem)


def init(key: Array, problem: Problem, config: Config) -> FusedMask:
    """The initial mask M_0: ones (the default), 1/2, or uniform on [0, 1) as drawn in the problem.

    It is zero beyond d.
    """
    return FusedMask(initial_mask(problem.uniform[0], config))


def initial_mask(uniform: Float[Array, "d d"], config: Config) -> Float[Array, "d d"]:
    """The initial entries of one (d, d) mask."""
    value = {
        "ones": jnp.ones_like(uniform),
        "half": jnp.full_like(uniform, 0.5),
        "uniform": uniform,
    }[config.mask_init]
    return jnp.where(entries(config), value, 0)


def entries(config: Config) -> Bool[Array, "d d"]:
    """(d, d) booleans, True on the valid entries of a weight matrix."""
    return config.dimension.mask()[:, None] & config.dimension.mask()[None, :]


def support(problem: Problem, config: Config) -> Bool[Array, "S L L"]:
    """The attention mask of each calibration sequence, False for sequences beyond S."""
    return problem.attention_mask[None] & config.num_sequences.mask()[:, None, None]


def masked_factors(
    params: FactorMasks, problem: Problem
) -> tuple[Float[Array, "d d"], Float[Array, "d d"]]:
    """The factors M_Q o W_Q and M_K o W_K, for a mask on each factor."""
    return params.query * problem.query, params.key * problem.key


def masked_weights(params: Params, problem: Problem) -> Float[Array, "d d"]:
    """M o W, or (M_Q o W_Q)(M_K o W_K)^T."""
    if isinstance(params, FusedMask):
        return params.mask * problem.weights
    A, B = masked_factors(params, problem)
    return A @ B.T


def attention(
    weights: Float[Array, "d d"], inputs: Float[Array, "S L d"], mask: Bool[Array, "S L L"]
) -> Float[Array, "S L L"]:
    """The attention D^-1 (exp(X W X^T) o Mc), where D holds the row sums.

    Rows sum to 1, and rows without a permitted token are zero. Source: definition 1.1.
    """
    return softmax(logits(weights, inputs), mask)


def logits(weights: Float[Array, "d d"], inputs: Float[Array, "S L d"]) -> Float[Array, "S L L"]:
    """The logits X W X^T of each sequence. Any factor 1/sqrt(d) is part of W (see logit_scale)."""
    return (inputs @ weights) @ inputs.mT


def target(batch: Batch, problem: Problem, config: Config) -> Float[Array, "S L L"]:
    """f*, the attention of the dense weights."""
    return attention(problem.weights, batch.inputs, support(problem, config))


def forward(
    params: Params, batch: Batch, problem: Problem, config: Config
) -> Float[Array, "S L L"]:
    """f, the attention of the masked weights."""
    fit(params, batch, problem, config)
    return attention(masked_weights(params, problem), batch.inputs, support(problem, config))


def residual(
    params: Params, batch: Batch, problem: Problem, config: Config
) -> tuple[Float[Array, "S L L"], Float[Array, "S L L"]]:
    """The attention f and its residual c = f - f*."""
    f = forward(params, batch, problem, config)
    return f, f - target(batch, problem, config)


def attention_loss(
    params: Params, batch: Batch, problem: Problem, config: Config
) -> Float[Array, ""]:
    """L_attn = mean over sequences of (1/2) ||f - f*||_F^2."""
    _, c = residual(params, batch, problem, config)
    return jnp.sum(c**2) / (2 * config.num_sequences.real)


def loss(params: Params, batch: Batch, problem: Problem, config: Config) -> Float[Array, ""]:
    """The loss L(M) = L_attn + (lambda / 2) ||M||_F^2.

    The last term is summed over both masks if there are two.

    Source: definition 3.2 and, for two masks, equation (1); formulas reconstructed.
    """
    penalty = sum(jnp.sum(mask**2) for mask in params)
    return attention_loss(params, batch, problem, config) + config.regularization / 2 * penalty


def attention_map(params: Params, problem: Problem, config: Config) -> Float[Array, "L L"]:
    """The attention f of the masked weights, averaged over the calibration sequences."""
    f = forward(params, Batch(problem.inputs), problem, config)
    return jnp.sum(f, axis=0) / config.num_sequences.real
