"""In-context linear regression by linear attention in the form f = x^T (Gamma beta + gamma q):
config, parameters, forward pass and loss.

    x_i, x ~ N(0, I/d),  y_i = <w, x_i> + noise,  y = <w, x> + noise,  noise ~ N(0, rho)
    beta = (d/l) sum_i y_i x_i,   q = (1/l) sum_i y_i^2
    f = x^T (Gamma beta + gamma q)
    L = mean (y - f)^2 + (lambda/d) (|Gamma|^2 + |gamma|^2)

The task w of a prompt is one of k vectors, uniform on the sphere of radius sqrt(d). The source
writes f = <[Gamma, gamma], Z> with Z = x [beta^T, q], the part of a layer of linear attention that
its reduction keeps. Here q comes first where both stand in one array: h = (q, beta).

Symbols:

    d, l, n, k   features, labeled examples of a prompt, training prompts, tasks
    rho, lambda  variance of the noise of labels, ridge penalty
    alpha, kappa, tau   l/d, k/d, n/d^2; kappa is infinite where each prompt has its own task

Source: "Asymptotic theory of in-context learning by linear attention" (arXiv 2405.11751). Written
from its formulas, which were derived again.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core import config as fields
from jaxtheory.core import shapes
from jaxtheory.core.config import Size, size, static, traced
from jaxtheory.ops import sizes
from jaxtheory.texts.errors import InputError


class Data(fields.Config):
    """Hyper-parameters of the prompts."""

    dimension: Size = size(16, "d", "features of a token")
    length: Size = size(16, "l", "labeled examples of a prompt")
    num_prompts: Size = size(384, "n", "training prompts")
    num_tasks: Size = size(8, "k", "task vectors")
    noise_variance: float = traced(0.01, "rho", "variance of the noise of labels", "[0, inf)")
    tasks: str = static(
        "finite", "tasks", "one of the k tasks for each prompt, or a fresh one", ("finite", "fresh")
    )


class Config(Data):
    """Hyper-parameters of the prompts and of training."""

    ridge: float = traced(0.0, "lambda", "ridge penalty", "[0, inf)")
    learning_rate: float = traced(0.2, "eta", "learning rate", "(0, inf)")
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
    """Prompts with the weights of their mean; padded prompts and features are zero."""

    beta: Float[Array, "prompts d"]  # (d/l) sum_i y_i x_i
    q: Float[Array, " prompts"]  # (1/l) sum_i y_i^2
    x: Float[Array, "prompts d"]
    y: Float[Array, " prompts"]
    weight: Float[Array, " prompts"]  # 1/n, zero on padded prompts


class Problem(NamedTuple):
    """The training prompts and the k tasks, which are not used where tasks are fresh."""

    train: Batch
    tasks: Float[Array, "k d"]


class Params(NamedTuple):
    """The weights of f = x^T (Gamma beta + gamma q)."""

    Gamma: Float[Array, "d d"]
    gamma: Float[Array, " d"]


def init(_key: Array, _problem: Problem, config: Config) -> Params:
    """Zero weights."""
    d = Size.wrap(config.dimension).cap
    return Params(jnp.zeros((d, d)), jnp.zeros(d))


def output(params: Params, batch: Batch) -> Float[Array, " prompts"]:
    """The output f of each prompt, both sums over features in one pass along the prompts."""
    x = batch.x.T
    terms = x * (params.Gamma @ batch.beta.T), x * params.gamma[:, None]
    matrix, vector = sizes.sums(*terms, axis=0)
    return matrix + batch.q * vector


def squares(params: Params, batch: Batch) -> Float[Array, ""]:
    """The mean over prompts of (y - f)^2."""
    return jnp.sum(batch.weight * (batch.y - output(params, batch)) ** 2)


def penalty(config: Config) -> Float[Array, ""]:
    """lambda / d."""
    d = jnp.asarray(Size.wrap(config.dimension).real, float)
    return jnp.asarray(config.ridge, float) / d


def loss(params: Params, batch: Batch, _problem: Problem, config: Config) -> Float[Array, ""]:
    """L = mean over prompts of (y - f)^2 + (lambda/d) (|Gamma|^2 + |gamma|^2), without 1/2."""
    fit(params, batch, config)
    norm = jnp.sum(params.Gamma**2) + jnp.sum(params.gamma**2)
    return squares(params, batch) + penalty(config) * norm


def fit(params: Params, batch: Batch, config: Config) -> None:
    """Raise InputError where the arrays do not fit each other or the config (see `core.shapes`)."""
    shapes.check_shapes(config, {}, params=params, batch=batch)


def attention_map(params: Params, _problem: Problem, _config: Config) -> Array:
    """Linear attention has no map of weights that sum to 1."""
    raise InputError("linear attention has no attention map; look at the metric `diagonal`")
