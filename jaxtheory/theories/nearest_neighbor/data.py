"""Data of a run: labeled prompts, test sets under shift, and prompts as inner products alone.

The examples and the query of a prompt are independent uniform points on the sphere.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxtheory.core.config import Size
from jaxtheory.ops import draws
from jaxtheory.theories.nearest_neighbor import model
from jaxtheory.theories.nearest_neighbor.model import Config, Problem, Prompts


def problem(key: Array, config: Config) -> Problem:
    """Draw B training and M test prompts, and the test prompts with the query at an example."""
    train, test = jax.random.split(key)
    shown = draw_prompts(test, config.num_test, config)
    return Problem(
        draw_prompts(train, config.num_prompts, config, config.labels != "averaged"),
        shown,
        at_example(shown),
    )


def sample(_key: Array, problem: Problem, _config: Config) -> Prompts:
    """Return the fixed training prompts, for full-batch gradient descent."""
    return problem.train


def draw_prompts(key: Array, count: Size | int, config: Config, labeled: bool = True) -> Prompts:
    """Draw prompts with examples and query independent and uniform on the sphere.

    Labels are those of `labeled_by`. Among the draws, point i = 0 is the query, and a label comes
    before the d coordinates of its example.
    """
    d = config.dimension
    points = draws.normal(key, count, larger(config.context), larger(d) if labeled else d)
    y: Any = points[:, 1:, 0] if labeled else None
    x = points[:, :, 1:] if labeled else points
    length = jnp.sqrt(model.inner(x, x))[..., None]
    x = x / jnp.where(length > 0, length, 1)
    return make_prompts(
        x[:, 1:], x[:, 0], labeled_by(y, x[:, 1:], config) if labeled else y, count, config
    )


def labeled_by(
    y: Float[Array, "B N"], x: Float[Array, "B N d"], config: Config
) -> Float[Array, "B N"]:
    """Labels of the config's law, made of independent N(0, 1) and the examples.

    averaged, gaussian   the normal numbers
    rademacher           their signs s_j
    code                 w_i, the product of those s_j for which bit j of i + 1 is 1
    even                 w_i g(x_i), where g(x) is 1 for d x_1^2 <= 1 and -1 beyond, and x_1 the
                         first coordinate

    Given x, the last three have E y y^T = I and the law for -x. `code` and `even` have no more: N
    labels are made of the first log2(N) + 1 signs, w_0 w_1 w_2 = 1, and the sign of a product of
    three labels of `even` is a function of x. Source: the talk's conditions on labels; these laws
    are ours.
    """
    if config.labels in ("averaged", "gaussian"):
        return y
    if config.labels == "rademacher":
        return jnp.sign(y)
    N = y.shape[1]
    bits = (np.arange(1, N + 1)[:, None] >> np.arange(N.bit_length())) & 1
    odd = jnp.dot((y[:, : N.bit_length()] < 0).astype(int), bits.T) % 2 == 1
    w = jnp.abs(jnp.sign(y)) * jnp.where(odd, -1.0, 1.0)
    if config.labels == "code":
        return w
    return w * jnp.where(config.dimension.real * x[:, :, 0] ** 2 <= 1, 1.0, -1.0)


def make_prompts(x: Array, q: Array, y: Any, count: Size | int, config: Config) -> Prompts:
    """Prompts of given examples, queries and labels."""
    t = model.inner(x, q[:, None, :])
    return Prompts(x, q, t, closest(t, config), y, Size.wrap(count).weights())


def closest(t: Float[Array, "B N"], config: Config) -> Int[Array, " B"]:
    """i* = argmax_i t_i, the smallest index where several t_i are largest."""
    return jnp.argmax(jnp.where(config.context.mask()[None, :], t, -jnp.inf), axis=1).astype(
        jnp.int32
    )


def larger(n: Size) -> Size:
    """The size n + 1."""
    return Size(n.cap + 1, None if n.value is None else n.value + 1)


def at_example(prompts: Prompts) -> Prompts:
    """The same examples with x_1 as the query. By exchangeability x_1 stands for any example."""
    t = (
        model.inner(prompts.x, prompts.x[:, :1])
        .at[:, 0]
        .set((prompts.weight > 0).astype(prompts.t.dtype))
    )
    return prompts._replace(q=prompts.x[:, 0], t=t, nearest=jnp.zeros_like(prompts.nearest))


# Shift


def flipped(prompts: Prompts, delta: Float[Array, ""] | float, config: Config) -> Prompts:
    """Replace every x_j, j != i*, with |x_j - q|^2 <= delta by -x_j.

    With q = x_{i*} the others are then min(delta, 4 - delta) away or more: beyond delta = 2 a
    flipped example may lie nearer than delta.

    Source: appendix B, at second hand.
    """
    rivals = ~model.at_nearest(prompts).T & config.context.mask()[None, :]
    near = (2 - 2 * prompts.t <= delta) & rivals
    x = None if prompts.x is None else jnp.where(near[:, :, None], -prompts.x, prompts.x)
    return prompts._replace(x=x, t=jnp.where(near, -prompts.t, prompts.t))


def relabeled(prompts: Prompts, delta: Float[Array, ""] | float) -> Prompts:
    """Set y_j = y_{i*} wherever |x_j - q|^2 < |x_{i*} - q|^2 + delta.

    Examples of another label are then delta farther than the nearest, or more.

    Source: the condition of the theorem on distribution shift; this way to satisfy it is ours.
    """
    best, label = (model.picked(values.T, prompts)[:, None] for values in (prompts.t, prompts.y))
    return prompts._replace(y=jnp.where(2 * (best - prompts.t) < delta, label, prompts.y))


# Prompts without examples


def inner_products(key: Array, count: Size | int, config: Config) -> Float[Array, "B N"]:
    """Draw independent t with (t + 1)/2 ~ Beta((d-1)/2, (d-1)/2) from two uniforms.

    t = cos(2 pi U) sqrt(1 - V^(2 / (d-2))), or cos(2 pi U) for d = 2. Two coordinates of a point on
    the sphere have a uniform angle and a squared radius 1 - V^(2 / (d-2)). Source: Ulrich's method.
    """
    d, N = config.dimension.real, config.context
    U, V = (draws.uniform(k, count, N).astype(float) for k in jax.random.split(key))
    codimension = jnp.asarray(d, float) - 2
    radius = jnp.sqrt(
        1 - jnp.where(codimension > 0, V ** (2 / jnp.where(codimension > 0, codimension, 1)), 0)
    )
    return draws.masked(jnp.cos(2 * jnp.pi * U) * radius, Size.wrap(count), N)


def fresh(key: Array, _problem: Problem, config: Config) -> Prompts:
    """Draw B new prompts as inner products. Their labels are averaged."""
    B = config.num_prompts
    t = inner_products(key, B, config)
    return Prompts(None, None, t, closest(t, config), None, Size.wrap(B).weights())
