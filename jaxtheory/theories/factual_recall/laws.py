"""Closed forms for onehot embeddings and small steps: drives, levels of the loss, growth, times.

With G_v = -E c_v g the flow is dW_v/dt = u_v G_v, du_v/dt = <W_v, G_v>, so that u_v^2 - |W_v|^2
and sum_a W_av keep their values at the start, alpha^2 and A alpha. With W_v = alpha + delta_v the
pair (u_v, |delta_v|) obeys u_v^2 - |delta_v|^2 = alpha^2 (A + 1), and where G_v is constant it is
u_v(0) (cosh, sinh)(|G_v| t) with t = eta times the steps; `growth` has finite steps.

While f is small, softmax is uniform and G_v = E c_v (e_{a*} - 1/A), for any noise tokens. Once
relations are known, softmax is p(.|r), and G_v = E c_v (e_{a*} - p(.|r)). With p(a|r) the weight of
the subjects with a*(s, r) = a, q_r = sum_a p(a|r)^2 and e_sr = 1 - 2 p(a*(s, r)|r) + q_r,

    start     |G_r| = sqrt(q_r - 1/A) / R,   |G_s| = w_s sqrt(1/R - 1/A)
              |G_noise| = ((T - 2) / N) sqrt(sum_r q_r / R^2 - 1/A), for many draws
    plateau   |G'_s| = (w_s / R) sqrt(sum_r e_sr),   G'_noise = 0 for many draws, and for n of them
              E |G'_noise|^2 = ((T - 2) / N) (1 - 1/N) sum_sr w_s^2 e_sr / (R^2 n)

Where subjects are known first, softmax is 1/R at their answers on a plateau of its own, and

              |G'_r| = (1/R) sqrt((1 - 2/R) q_r + sum_k q_k / R^2)

f is of order 1 once u_v is: at |G| t = log(1/alpha) to leading order as alpha -> 0.

Source: derived.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core.config import Size
from jaxtheory.ops import draws, sizes
from jaxtheory.theories.factual_recall import model
from jaxtheory.theories.factual_recall.model import Batch, Config


class Drives(NamedTuple):
    """|G_v| of each token, at the start and on the plateau; 0 beyond the sizes."""

    relation: Float[Array, " R"]
    subject: Float[Array, " S"]
    noise: Float[Array, ""]  # many draws
    plateau: Float[Array, " S"]  # of subjects, once relations are known
    other_plateau: Float[Array, " R"]  # of relations, once subjects are known
    memory: Float[Array, ""]  # root mean square for a noise token on the plateau, n draws


class Levels(NamedTuple):
    """Losses of predictors that know a part of the prompt, and what they say of right answers."""

    uniform: Float[Array, ""]  # log A
    relation: Float[Array, ""]  # (1/R) sum_r H(p(.|r))
    subject: Float[Array, ""]  # log R: the answers of a subject, one for each relation
    right: Float[Array, ""]  # (1/R) sum_r q_r, the mean of p(a*|r)


class Times(NamedTuple):
    """eta times the steps, over log(1/alpha), as alpha -> 0; infinite without a drive."""

    relation: Float[Array, " R"]
    subject: Float[Array, " S"]


def conditional(batch: Batch, config: Config) -> Float[Array, "R D"]:
    """p(a|r): the weight of the subjects whose answer is a."""
    R, D = Size.wrap(config.num_relations).cap, Size.wrap(config.num_answers).cap
    w = model.subject_weights(config)[:, None, None]
    right = model.targets(batch, config).reshape(-1, R, R, D)
    own = jnp.diagonal(right, axis1=1, axis2=2)  # [S, D, R]
    return draws.masked(jnp.sum(jnp.where(own, w, 0), axis=0).T, Size.wrap(config.num_relations))


def _spread(batch: Batch, config: Config) -> tuple[Float[Array, " R"], Float[Array, "S R"]]:
    """q_r and e_sr."""
    p = conditional(batch, config)
    q = jnp.sum(p**2, axis=1)
    right = jnp.take_along_axis(p.T, batch.answer, axis=0)
    e = jnp.maximum(1 - 2 * right + q[None, :], 0)
    return q, draws.masked(e, Size.wrap(config.num_subjects), Size.wrap(config.num_relations))


def drives(batch: Batch, config: Config) -> Drives:
    """The drives |G_v|; see the formulas of this module."""
    R, D, T, N, n = (
        jnp.asarray(Size.wrap(x).real, float)
        for x in (
            config.num_relations,
            config.num_answers,
            config.length,
            config.num_noise,
            config.num_draws,
        )
    )
    (q, e), w = _spread(batch, config), model.subject_weights(config)
    A, root = R * D, lambda x: jnp.sqrt(jnp.maximum(x, 0))
    relation = draws.masked(root(q - 1 / A) / R, Size.wrap(config.num_relations))
    after_subjects = root((1 - 2 / R) * q + jnp.sum(q) / R**2) / R
    memory = (T - 2) / N * (1 - 1 / N) * jnp.sum(w[:, None] ** 2 * e) / (R**2 * n)
    return Drives(
        relation,
        w * root(1 / R - 1 / A),
        (T - 2) / N * root(jnp.sum(q) / R**2 - 1 / A),
        w / R * root(jnp.sum(e, axis=1)),
        draws.masked(after_subjects, Size.wrap(config.num_relations)),
        root(memory),
    )


def levels(batch: Batch, config: Config) -> Levels:
    """The losses of predictors that know nothing, the relation or the subject."""
    R, D = (
        jnp.asarray(Size.wrap(x).real, float) for x in (config.num_relations, config.num_answers)
    )
    p = conditional(batch, config)
    entropy = -jnp.sum(p * jnp.log(jnp.where(p > 0, p, 1))) / R
    return Levels(jnp.log(R * D), entropy, jnp.log(R), jnp.sum(p**2) / R)


def growth(drive: Float[Array, "*shape"], steps: Float[Array, ""], config: Config) -> Array:
    """u_v(0) ((1 + x)^t + (1 - x)^t) / 2 after t steps of descent, x = eta |G_v|, up to 1.

    For small steps it is u_v(0) cosh(|G_v| eta t). From 1 on it does not describe the run.
    """
    A = jnp.asarray(
        Size.wrap(config.num_relations).real * Size.wrap(config.num_answers).real, float
    )
    start = jnp.asarray(config.init_scale, float) * jnp.sqrt(A + 1)
    x = jnp.asarray(config.learning_rate, float) * drive
    up = jnp.exp(jnp.minimum(steps * jnp.log1p(x), 40.0))
    return jnp.minimum(start * (up + (1 - jnp.minimum(x, 1)) ** steps) / 2, 1)


def times(drives: Drives, config: Config) -> Times:
    """When relations and subjects are known.

    With t_1 = mean_r 1/|G_r| a subject has grown by exp(|G_s| t_1) when relations are known, and
    after that it grows with |G'_s|:

    t_s = t_1 + (1 - |G_s| t_1) / |G'_s| where |G_s| t_1 < 1, else 1/|G_s|

    and the same with subjects and relations exchanged.
    """

    def later(drive: Array, plateau: Array, first: Array) -> Array:
        own_time = _inverse(drive)
        left = 1 - jnp.where(first < own_time, drive * first, 1)
        return jnp.where(
            first < own_time, first + jnp.maximum(left, 0) * _inverse(plateau), own_time
        )

    mean = lambda drive, size: sizes.mean(_inverse(drive), Size.wrap(size))
    relations_first = mean(drives.relation, config.num_relations)
    subjects_first = mean(drives.subject, config.num_subjects)
    return Times(
        later(drives.relation, drives.other_plateau, subjects_first),
        later(drives.subject, drives.plateau, relations_first),
    )


def _inverse(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """1 / x, infinite at 0."""
    return jnp.where(x > 0, 1 / jnp.where(x > 0, x, 1), jnp.inf)
