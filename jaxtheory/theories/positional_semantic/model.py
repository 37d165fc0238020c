"""Positional and semantic attention: config, parameters, forward pass and loss.

A sample has two tokens x_1, x_2 of d features, independent N(0, sigma^2). Its label is T x, where
T mixes attention to meaning, by a hidden direction Q* with |Q*|^2 = d, and to positions:

    T = (1 - omega) softmax(chi chi^T) + omega A,   chi_l = x_l . Q* / sqrt(d)
    A = [[1/2 + a, 1/2 - a], [1/2 - a, 1/2 + a]]

The model is f = softmax(h h^T) x with one vector Q for queries and keys, and positions s p:

    h_l = (x_l + s_l p) . Q / sqrt(d),   s = (1, -1),   |p| = rho

Values have no p: |p|^2 / d vanishes in the limit. Rows of both matrices sum to 1, so their
diagonals t and S say all:

    t_l = (1 - omega) S_l(chi) + omega (1/2 + a)
    S_1(h) = sigmoid(h_1 (h_1 - h_2)),   S_2(h) = sigmoid(h_2 (h_2 - h_1))

    L = sum over n samples of |y - f|^2 / (2 d) + lambda |Q|^2 / 2
      = (1/2) sum g sum_l (t_l - S_l)^2 + lambda |Q|^2 / 2,   g = |x_1 - x_2|^2 / d

The energy is L / d. The first axis of arrays is that of the two tokens.

Source: "A phase transition between positional and semantic learning in a solvable model of
dot-product attention" (arXiv 2402.03902), of which the abstract was read. The task is ours where
that does not fix it, and all formulas were derived.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core import config as fields
from jaxtheory.core import shapes
from jaxtheory.core.config import Size, size, static, traced
from jaxtheory.ops import draws


class Config(fields.Config):
    """Hyper-parameters of the data, the model and its training."""

    dimension: Size = size(128, "d", "features of a token")
    num_samples: Size = size(256, "n", "training samples; alpha = n/d")
    token_scale: float = traced(0.5, "sigma", "standard deviation of features", "(0, inf)")
    mixture: float = traced(0.3, "omega", "share of positions in the label", "[0, 1]")
    amplitude: float = traced(0.1, "a", "weight of the own position, less 1/2", "[-0.5, 0.5]")
    position_norm: float = traced(2.0, "rho", "norm of the position p", "(0, inf)")
    ridge: float = traced(0.01, "lambda", "ridge penalty", "[0, inf)")
    start: str = static(
        "random", "start", "direction of Q at the start", ("random", "positional", "semantic")
    )
    init_scale: float = traced(1.0, "c", "scale of the start, |Q| = c sqrt(d)", "(0, inf)")
    learning_rate: float = traced(0.3, "eta", "learning rate", "(0, inf)")
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
    """Samples; padded ones are zero."""

    x: Float[Array, "2 n d"]
    target: Float[Array, "2 n"]  # t, the diagonal of T
    square: Float[Array, " n"]  # g = |x_1 - x_2|^2 / d


class Problem(NamedTuple):
    """The training samples and the two directions."""

    train: Batch
    direction: Float[Array, " d"]  # Q*, of norm sqrt(d)
    position: Float[Array, " d"]  # p, of norm rho


class Params(NamedTuple):
    """The vector of queries and keys."""

    Q: Float[Array, " d"]


class Overlaps(NamedTuple):
    """The numbers on which the error of a vector depends."""

    q: Float[Array, ""]  # |Q|^2 / d
    theta: Float[Array, ""]  # Q* . Q / d
    m: Float[Array, ""]  # p . Q / sqrt(d)


def init(key: Array, problem: Problem, config: Config) -> Params:
    """Q = c p sqrt(d) / rho (positional), c Q* (semantic), or c times standard normals (random)."""
    d, c = Size.wrap(config.dimension), jnp.asarray(config.init_scale, float)
    if config.start == "random":
        return Params(c * draws.normal(key, d))
    if config.start == "semantic":
        return Params(c * problem.direction)
    root = jnp.sqrt(jnp.asarray(d.real, float))
    return Params(c * root / jnp.asarray(config.position_norm, float) * problem.position)


def signed(values: Float[Array, " n"]) -> Float[Array, "2 n"]:
    """s_l times the values: positions of the two tokens."""
    return jnp.stack([values, -values])


def attention(h: Float[Array, "2 n"]) -> Float[Array, "2 n"]:
    """S_l(h), the weight that each token gives to itself."""
    gap = h[0] - h[1]
    return jax.nn.sigmoid(jnp.stack([h[0] * gap, -h[1] * gap]))


def mixed(chi: Float[Array, "2 n"], config: Config) -> Float[Array, "2 n"]:
    """t_l = (1 - omega) S_l(chi) + omega (1/2 + a)."""
    omega, a = (jnp.asarray(x, float) for x in (config.mixture, config.amplitude))
    return (1 - omega) * attention(chi) + omega * (0.5 + a)


def scores(params: Params, batch: Batch, problem: Problem, config: Config) -> Float[Array, "2 n"]:
    """h_l = (x_l + s_l p) . Q / sqrt(d) of each sample."""
    root = jnp.sqrt(jnp.asarray(Size.wrap(config.dimension).real, float))
    m = jnp.sum(problem.position * params.Q)
    return (batch.x @ params.Q + signed(m[None])) / root


def squares(params: Params, batch: Batch, problem: Problem, config: Config) -> Float[Array, ""]:
    """The sum over samples of |y - f|^2 / d."""
    gap = batch.target - attention(scores(params, batch, problem, config))
    return jnp.sum(batch.square * jnp.sum(gap**2, axis=0))


def loss(params: Params, batch: Batch, problem: Problem, config: Config) -> Float[Array, ""]:
    """L = sum over samples of |y - f|^2 / (2 d) + lambda |Q|^2 / 2."""
    fit(params, batch, config)
    ridge = jnp.asarray(config.ridge, float)
    fitted = squares(params, batch, problem, config)
    return (fitted + ridge * jnp.sum(params.Q**2)) / 2


def overlaps(params: Params, problem: Problem, config: Config) -> Overlaps:
    """q, theta and m of a vector."""
    d = jnp.asarray(Size.wrap(config.dimension).real, float)
    along = lambda v: jnp.sum(v * params.Q)
    return Overlaps(
        along(params.Q) / d, along(problem.direction) / d, along(problem.position) / jnp.sqrt(d)
    )


def fit(params: Params, batch: Batch, config: Config) -> None:
    """Raise InputError where the arrays do not fit each other or the config (see `core.shapes`)."""
    shapes.check_shapes(config, {}, params=params, batch=batch)


def attention_map(params: Params, problem: Problem, config: Config) -> Float[Array, "n 2 2"]:
    """softmax(h h^T) of each training sample."""
    S = attention(scores(params, problem.train, problem, config))
    one, two = jnp.stack([S[0], 1 - S[0]], axis=1), jnp.stack([1 - S[1], S[1]], axis=1)
    return jnp.stack([one, two], axis=1)
