"""A two-layer attention model that learns the parents of tokens: config, parameters, loss.

    pi(.|a) ~ Dirichlet(alpha, ..., alpha) for each state a, one matrix pi for each prompt
    s_i ~ pi(.|s_p(i)) with parents p(i) < i; s_i ~ mu or uniform where there is no parent
    W = softmax of row i of A1 over j <= i,   x_i = sum_j W_ij e_{s_j}
    z_i = x_i^T A2 e_{s_T},  a = softmax(z),  f = sum_i a_i e_{s_i}
    L = -mean sum_k pi(k|s_T) log(f_k + eps)

The first layer reads positions only, and the second one compares the averaged tokens x_i with the
last token. If W_{i, p(i)} = 1 and A2 = beta I with a large beta, then f counts the states that
follow s_T in the prompt: an induction head.

Symbols, with their shapes:

    S, T, P      states, positions, prompts
    s (P, T)     states; the last one is the query s_T
    p (T,)       parents, counted from 1; 0 where a token has none
    mu           stationary law of pi
    A1 (T, T)    scores of the first layer; only j <= i is read
    A2 (S, S)    scores of the second layer

Arrays count states and positions from 0; the entries of `parents` count positions from 1.

Source: "How Transformers Learn Causal Structure with Gradient Descent" (arXiv 2402.14735): its
abstract and the authors' code were read. Formulas of `laws` were derived.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.core import config as fields
from jaxtheory.core import shapes
from jaxtheory.core.config import Size, size, static, traced
from jaxtheory.ops import attention, draws, sizes
from jaxtheory.ops.positions import indices
from jaxtheory.ops.states import at_state


class Data(fields.Config):
    """Hyper-parameters of the prompts."""

    num_states: Size = size(3, "S", "states of the chain", "[2, inf)")
    length: Size = size(16, "T", "positions of a prompt, with the query", "[2, inf)")
    num_prompts: Size = size(2000, "P", "training prompts, or prompts of a batch")
    concentration: float = traced(
        0.5, "alpha", "parameter of the Dirichlet law of each row of pi", "(0, inf)"
    )
    graph: str = static(
        "chain",
        "graph",
        "parents: the token before, a random recursive tree, or pairs of tokens",
        ("chain", "tree", "pairs"),
    )
    first: str = static(
        "stationary", "first", "law of tokens without a parent", ("stationary", "uniform")
    )
    query: str = static(
        "uniform", "query", "law of the last token: uniform, or by the graph", ("uniform", "graph")
    )
    prompts: str = static(
        "fixed", "prompts", "fixed training prompts, or new ones at each step", ("fixed", "fresh")
    )


class Config(Data):
    """Hyper-parameters of the prompts, the model and its training."""

    epsilon: float = traced(0.01, "eps", "offset inside the logarithm", "(0, inf)")
    initial_scale: float = traced(0.0, "sigma", "scale of the initial A1", "[0, inf)")
    initial_strength: float = traced(0.5, "beta0", "diagonal of the initial A2", "(-inf, inf)")
    learning_rate: float = traced(300.0, "eta", "learning rate of A1", "(0, inf)")
    second_rate: float = traced(
        10.0, "eta2", "learning rate of A2 in two_stage and joint", "(0, inf)"
    )
    switch_step: int = traced(
        100, "tau", "step from which two_stage trains A2", "[0, inf)", "steps"
    )
    momentum: float = traced(0.9, "beta", "momentum, and Adam's first decay rate", "[0, 1)")
    decay_steps: int = traced(
        1000, "taud", "steps in which sgd_cosine takes its rate to 0", "[1, inf)", "steps"
    )
    adam_epsilon: float = traced(
        1e-8, "epsa", "offset in the denominator of Adam's step", "(0, inf)"
    )
    warmup_steps: int = traced(
        0, "tauw", "steps in which Adam's rate rises to its value; 0 for none", "[0, inf)", "steps"
    )


class Batch(NamedTuple):
    """Prompts with the weights of their mean; padded prompts, positions and states are zero."""

    s: Int[Array, "prompts T"]
    query: Int[Array, " prompts"]  # s_T
    target: Float[Array, "prompts S"]  # pi(.|s_T)
    weight: Float[Array, " prompts"]  # 1/P, zero on padded prompts


class Problem(NamedTuple):
    """The graph, the training and test prompts, and the information that tokens have."""

    parents: Int[Array, " T"]  # p(i), counted from 1; 0 where there is none
    train: Batch
    test: Batch
    information: Float[Array, "T T"]  # see `laws.information`, zero for j > i
    overlap: Float[Array, "T T"]  # see `laws.overlap`, zero for j > i


class Params(NamedTuple):
    """The scores of both layers."""

    A1: Float[Array, "T T"]  # row i of the attending token, column j of the attended one
    A2: Float[Array, "S S"]  # row of the averaged token, column of the query


class Forward(NamedTuple):
    """The forward pass, prompts along the last axis, where vectorized code runs along them."""

    W: Float[Array, "T T"]  # first attention
    b: Float[Array, "T P"]  # b_j = A2[s_j, s_T], so that z = W b
    a: Float[Array, "T P"]  # second attention
    f: Float[Array, "S P"]


def init(key: Array, _problem: Problem, config: Config) -> Params:
    """A1 ~ sigma N(0, 1) for j <= i, and A2 = beta0 I."""
    T = Size.wrap(config.length)
    A1 = config.initial_scale * jnp.where(causal(T), draws.normal(key, T, T), 0)
    return Params(A1, config.initial_strength * sizes.eye(Size.wrap(config.num_states)))


def causal(length: Size) -> Bool[Array, "T T"]:
    """True for j <= i within T."""
    i = indices(length.cap)
    return (i[None, :] <= i[:, None]) & length.mask()[:, None]


def first_attention(params: Params, config: Config) -> Float[Array, "T T"]:
    """W: each row is a softmax of A1 over j <= i, zero beyond T."""
    return attention.softmax(params.A1, causal(Size.wrap(config.length)))


def forward(params: Params, batch: Batch, config: Config) -> Forward:
    """Both attentions and the output f. Only one column of A2 is read for each prompt."""
    fit(params, batch, config)
    S, T = Size.wrap(config.num_states), Size.wrap(config.length)
    s, W = batch.s.T, first_attention(params, config)
    b = at_state(params.A2 @ queries(batch, S), s, axis=0)
    a = attention.softmax(W @ b, T.mask()[:, None], axis=0)
    return Forward(W, b, a, by_state(a, s, S))


def queries(batch: Batch, states: Size) -> Float[Array, "S P"]:
    """The queries as unit vectors."""
    at = jnp.arange(states.cap, dtype=batch.query.dtype)
    return (batch.query[None, :] == at[:, None]).astype(batch.target.dtype)


def by_state(x: Float[Array, "T P"], s: Int[Array, "T P"], states: Size) -> Float[Array, "S P"]:
    """The sums of x over the positions of each state."""
    terms = (jnp.where(s == k, x, 0) for k in range(states.cap))
    return jnp.stack(sizes.sums(*terms, axis=0))


def cross_entropy(f: Float[Array, "P S"], batch: Batch, config: Config) -> Float[Array, ""]:
    """The loss of an output f on a batch."""
    logs = jnp.log(f + config.epsilon)
    return -jnp.sum(batch.weight * jnp.sum(batch.target * logs, axis=1))


def loss(params: Params, batch: Batch, _problem: Problem, config: Config) -> Float[Array, ""]:
    """L = -mean over prompts of sum_k pi(k|s_T) log(f_k + eps)."""
    return cross_entropy(forward(params, batch, config).f.T, batch, config)


def fit(params: Params, batch: Batch, config: Config) -> None:
    """Raise InputError where the arrays do not fit each other or the config (see `core.shapes`)."""
    shapes.check_shapes(config, {}, params=params, batch=batch)


def attention_map(params: Params, _problem: Problem, config: Config) -> Float[Array, "T T"]:
    """The first attention W, the same for all prompts."""
    return first_attention(params, config)


def strength(A2: Float[Array, "S S"], states: Size) -> Float[Array, ""]:
    """The mean of the diagonal of A2 minus the mean of its other entries, beta for A2 = beta I."""
    S = jnp.asarray(states.real, float)
    diagonal = jnp.trace(A2)
    return diagonal / S - (jnp.sum(A2) - diagonal) / (S * (S - 1))
