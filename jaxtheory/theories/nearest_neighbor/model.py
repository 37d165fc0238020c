"""One softmax layer that answers with the label of the nearest neighbor in its prompt.

The module has its config, prompts, parameters, forward pass and loss.

    H = [h_1 .. h_N h_q] = [[x_1 .. x_N q], [y_1 .. y_N 0], [0 .. 0 1]]
    x_i, q ~ U(S^(d-1)),   E y_i y_j = 1[i = j] given x, q
    f_W(H) = [H softmax(H^T W h_q)]_(d+1) = sum_i s_i y_i
    i* = argmin_i |x_i - q|,   L = 1/2 E (f_W - y_{i*})^2

Symbols, with their shapes:

    d, N, B        dimension, examples in a prompt, prompts
    x (B, N, d), q (B, d), y (B, N)   examples, query, labels
    s (N+1, B)     attention, the query's own weight s_q last; prompts lie side by side in memory,
                   since the few tokens of one would not fill a vector register
    xi1, xi2       W = diag(xi1 I_d, 0, -xi2), which gradient descent on the population keeps
    W (d+2, d+2)   attention matrix, W_0 = diag(xi0 I, 0, -sigma)
    t (B, N)       inner products <x_i, q>
    s*, Q          s_{i*} and sum_{i <= N} s_i^2

In this two-parameter form the logits are xi1 t_i and, for the query, xi1 - xi2: h_q^T W h_q = xi1
|q|^2 - xi2, not -xi2 as the talk has it.

Only E y y^T = I matters to E (f - y_{i*})^2 = Q - 2 s* + 1, so labels are averaged exactly, unless
the prompts bring theirs. Among equally near examples the one of smallest index counts. In padded
arrays the last two rows and columns of W stay those of y and the 1.

Source: arXiv 2411.10830 and the talk "Transformers Learn One-Nearest Neighbor In Context". Test
sets under shift are at second hand (its appendix B).
"""

from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.core import config as fields
from jaxtheory.core import shapes
from jaxtheory.core.config import Size, evaluation, size, static, traced
from jaxtheory.ops import attention
from jaxtheory.ops.positions import indices


class Config(fields.Config):
    """Hyper-parameters of the prompts, the layer and its training."""

    dimension: Size = size(4, "d", "dimension of examples and query", "[2, inf)")
    context: Size = size(4, "N", "labeled examples in a prompt")
    learning_rate: float = traced(1.0, "eta", "learning rate of W", "(0, inf)")
    mask: float = traced(
        5.0, "sigma", "initial xi2, which keeps the query from attending to itself", "[0, inf)"
    )
    initial_alignment: float = traced(0.0, "xi0", "initial xi1; 0 in the source", "[0, inf)")
    momentum: float = traced(0.9, "beta", "momentum, and Adam's first decay rate", "[0, 1)")
    decay_steps: int = traced(
        2000, "taud", "steps in which sgd_cosine takes its rate to 0", "[1, inf)", "steps"
    )
    adam_epsilon: float = traced(
        1e-8, "epsa", "offset in the denominator of Adam's step", "(0, inf)"
    )
    warmup_steps: int = traced(
        0, "tauw", "steps in which Adam's rate rises to its value; 0 for none", "[0, inf)", "steps"
    )
    num_prompts: Size = size(
        4000, "B", "training prompts; fresh ones per step for the algorithm online"
    )
    num_test: Size = size(2000, "M", "test prompts")
    separation: float = evaluation(
        0.1,
        "delta",
        "squared distance by which test sets under shift separate the nearest example",
        "[0, 4]",
    )
    labels: str = static(
        "averaged",
        "labels",
        "training labels: averaged exactly, or drawn (`data.labeled_by`)",
        ("averaged", "gaussian", "rademacher", "code", "even"),
    )


class Prompts(NamedTuple):
    """Prompts with the weights of their mean."""

    x: Annotated[Any, Float[Array, "prompts N d"]]  # None where only inner products are drawn
    q: Annotated[Any, Float[Array, "prompts d"]]
    t: Float[Array, "prompts N"]
    nearest: Int[Array, " prompts"]  # i*
    y: Annotated[Any, Float[Array, "prompts N"]]  # None where labels are averaged
    weight: Float[Array, " prompts"]  # 1/B, zero on padded rows


class Problem(NamedTuple):
    """Training prompts, test prompts, and the test examples with x_1 as the query.

    The test prompts have the law of the training prompts, and drawn labels. The last ones are
    before any shift.
    """

    train: Prompts
    test: Prompts
    shift: Prompts


class Reduced(NamedTuple):
    """The two parameters of W = diag(xi1 I_d, 0, -xi2)."""

    xi1: Float[Array, ""]
    xi2: Float[Array, ""]


class Full(NamedTuple):
    """The whole matrix W, as the source writes it."""

    W: Float[Array, "d+2 d+2"]


Params = Reduced | Full


def fit(params: Params, batch: Prompts, config: Config) -> None:
    """Raise InputError where the arrays do not fit each other or the config (see `core.shapes`)."""
    shapes.check_shapes(config, params=params, batch=batch)


def inner(a: Float[Array, "... d"], b: Float[Array, "... d"]) -> Float[Array, "..."]:
    """The inner product <a, b> along the last axis."""
    return jnp.sum(a * b, axis=-1)


def at_nearest(prompts: Prompts) -> Bool[Array, "N B"]:
    """True where i = i*."""
    return indices(prompts.t.shape[1])[:, None] == prompts.nearest[None, :]


def picked(values: Float[Array, "N B"], prompts: Prompts) -> Float[Array, " B"]:
    """The value at i*: of labels, the exact one-nearest-neighbor prediction."""
    return jnp.sum(jnp.where(at_nearest(prompts), values, 0), axis=0)


def init(_key: Array, _problem: Problem, config: Config) -> Reduced:
    """The start xi1 = xi0, xi2 = sigma."""
    return Reduced(jnp.asarray(config.initial_alignment, float), jnp.asarray(config.mask, float))


def logits(params: Params, prompts: Prompts) -> Float[Array, "tokens B"]:
    """The logits h_i^T W h_q for i = 1..N and for the query.

    They are xi1 t_i and xi1 - xi2; for a full W, with m = W h_q, they are <x_i, m_x> + y_i m_y and
    <q, m_x> + m_1. Labels that are averaged are left out, since their row of W stays 0.
    """
    if isinstance(params, Reduced):
        of_query = jnp.broadcast_to(params.xi1 - params.xi2, prompts.t.shape[:1])
        return jnp.concatenate([params.xi1 * prompts.t.T, of_query[None, :]])
    d, W = prompts.q.shape[1], params.W
    m = prompts.q @ W[:, :d].T + W[None, :, d + 1]
    z = inner(prompts.x, m[:, None, :d])
    if prompts.y is not None:
        z = z + prompts.y * m[:, d : d + 1]
    return jnp.concatenate([z.T, (inner(prompts.q, m[:, :d]) + m[:, d + 1])[None, :]])


def attend(params: Params, prompts: Prompts, config: Config) -> Float[Array, "tokens B"]:
    """The attention s = softmax of the logits, with the query last."""
    fit(params, prompts, config)
    real = jnp.append(config.context.mask(), True)
    return attention.softmax(logits(params, prompts), real[:, None], axis=0)


def deviation(s: Float[Array, "tokens B"], prompts: Prompts) -> Float[Array, " B"]:
    """The deviation f - y_{i*} = sum_i s_i (y_i - y_{i*}) - s_q y_{i*}.

    This form has no cancellation where s* is near 1.
    """
    y = prompts.y.T
    best = picked(y, prompts)
    return jnp.sum(s[:-1] * (y - best[None, :]), axis=0) - s[-1] * best


def squared_errors(s: Float[Array, "tokens B"], prompts: Prompts) -> Float[Array, " B"]:
    """The squared error (f - y_{i*})^2, or its mean over labels where they are averaged.

    The mean is Q - 2 s* + 1 = sum_{i != i*} s_i^2 + (sum_{i != i*} s_i + s_q)^2.
    """
    if prompts.y is not None:
        return deviation(s, prompts) ** 2
    rival_attention = jnp.where(at_nearest(prompts), 0, s[:-1])
    return jnp.sum(rival_attention**2, axis=0) + (jnp.sum(rival_attention, axis=0) + s[-1]) ** 2


def loss(params: Params, batch: Prompts, _problem: Problem, config: Config) -> Float[Array, ""]:
    """L = 1/2 mean over prompts of (f - y_{i*})^2, which is in [0, 1] where labels are averaged."""
    return jnp.sum(batch.weight * squared_errors(attend(params, batch, config), batch)) / 2


def attention_map(params: Params, problem: Problem, config: Config) -> Float[Array, "query tokens"]:
    """The attention of the query to the N examples and to itself, averaged over the test prompts.

    The examples come from the nearest on.
    """
    s = attend(params, problem.test, config)
    distance = jnp.where(config.context.mask()[:, None], -problem.test.t.T, jnp.inf)
    examples = jnp.take_along_axis(s[:-1], jnp.argsort(distance, axis=0), axis=0)
    weights = jnp.concatenate([examples, s[-1:]])
    return jnp.sum(problem.test.weight[None, :] * weights, axis=1)[None, :]
