"""The population's run in two numbers, alpha_A and alpha_V, with the closed forms of its stages.

With rates eta / K_P for A and eta / K_Q for V the population stays on the lines of `population`,
and moves by

    alpha_A <- alpha_A + eta alpha_V (1 - alpha_A alpha_V)
    alpha_V <- alpha_V + eta [alpha_A (1 - alpha_A alpha_V) + d (1 - alpha_V)],   d = 1 / (T K_Q)

so that time is s = sum of eta. Signal boosting from zero takes s ~ log(2 / d): longer contexts need
more, but only by log T.
Source: equation (8).
"""

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from jaxtheory.ops.positions import indices
from jaxtheory.theories.contextual_bigram.laws import population
from jaxtheory.theories.contextual_bigram.model import Config, Problem


def since_switch(t: Int[ArrayLike, "*n"], config: Config) -> Int[Array, "*n"]:
    """The time t - tau since the switch, negative in the first stage."""
    return jnp.asarray(t, jnp.int32) - jnp.asarray(config.switch_step, jnp.int32)


def rate(t: Int[ArrayLike, "*n"], config: Config) -> Float[Array, "*n"]:
    """The learning rate: eta1 for t < tau, eta2 from tau on."""
    early, late = (
        jnp.asarray(eta, float) for eta in (config.learning_rate, config.late_learning_rate)
    )
    return jnp.where(since_switch(t, config) < 0, early, late)


def elapsed(t: Int[ArrayLike, "*n"], config: Config) -> Float[Array, "*n"]:
    """s = eta1 min(t, tau) + eta2 max(t - tau, 0): the time of equation (8) after t steps."""
    late = jnp.maximum(since_switch(t, config), 0)
    early = jnp.asarray(t, jnp.int32) - late
    return config.learning_rate * early.astype(float) + config.late_learning_rate * late.astype(
        float
    )


def drift(problem: Problem, config: Config) -> Float[Array, ""]:
    """d = 1 / (T K_Q), the drift that starts the growth."""
    return 1 / (config.length.real * population.signals(problem, config).attention)


def boosted(
    alpha: population.Alignment, eta: Float[ArrayLike, ""], problem: Problem, config: Config
) -> population.Alignment:
    """One step of equation (8)."""
    a, v = alpha
    gap = 1 - a * v
    return population.Alignment(
        a + eta * v * gap, v + eta * (a * gap + drift(problem, config) * (1 - v))
    )


def sparsified(
    alpha: Float[Array, ""], lam: Float[ArrayLike, ""], problem: Problem, config: Config
) -> Float[Array, ""]:
    """alpha_A after the two-case prox and the projection of A~.

    It is alpha_A + min(c - lambda, 0) (1 - Q/T) / K_Q, c = (1 - alpha_A) / T.

    Attended entries lose lambda. The others hold c: below lambda they vanish, above they lose
    lambda too and the projection undoes both. So lambda distorts alpha_A downwards, by Q (lambda -
    c) a step for uniform weights, and alpha_V makes up for it. This is exact on the line where
    every attended entry exceeds lambda. Source: derived.
    """
    background = (1 - alpha) / config.length.real
    return alpha + jnp.minimum(background - lam, 0) * per_entry(problem, config)


def cut(alpha: Float[Array, ""], problem: Problem, config: Config) -> Float[Array, ""]:
    """alpha_A after the threshold and the projection of A~.

    It is alpha_A + c (1 - Q/T) / K_Q where c < theta0 max A~, else alpha_A.

    Source: derived.
    """
    background = (1 - alpha) / config.length.real
    small = background < config.stage_threshold * (background + alpha * jnp.max(problem.context))
    return jnp.where(small, alpha + background * per_entry(problem, config), alpha)


def per_entry(problem: Problem, config: Config) -> Float[Array, ""]:
    """(1 - Q/T) / K_Q, the gain of alpha_A where every attended entry gains 1 and A is projected.
    It is Q for uniform weights.
    """
    return (1 - config.sparsity.real / config.length.real) / population.signals(
        problem, config
    ).attention


def start(problem: Problem) -> population.Alignment:
    """alpha_A = alpha_V = 0."""
    zero = jnp.zeros_like(problem.stationary[0])
    return population.Alignment(zero, zero)


def path(length: int, problem: Problem, config: Config, prox: bool = False) -> population.Alignment:
    """The alphas at steps 0..length-1 from the start.

    With `prox`, the second stage is thresholded and sparsified where lambda > 0. The path is then
    exact for uniform weights as long as attended entries exceed lambda.
    """

    def following(
        alpha: population.Alignment, t: Array
    ) -> tuple[population.Alignment, population.Alignment]:
        on = prox & (since_switch(t, config) >= 0) & (jnp.asarray(config.l1) > 0)
        alpha_A = jnp.where(
            on & (since_switch(t, config) == 0),
            cut(alpha.attention, problem, config),
            alpha.attention,
        )
        new = boosted(alpha._replace(attention=alpha_A), rate(t, config), problem, config)
        shrunk = sparsified(new.attention, config.l1, problem, config)
        return new._replace(attention=jnp.where(on, shrunk, new.attention)), alpha

    return jax.lax.scan(following, start(problem), indices(length))[1]


def early(s: Float[Array, "*n"], problem: Problem, config: Config) -> population.Alignment:
    """alpha_A = d (cosh s - 1), alpha_V = d sinh s, where s is the time.

    This is equation (8) as long as both are small. Source: derived from (9).
    """
    d = drift(problem, config)
    return population.Alignment(d * (jnp.cosh(s) - 1), d * jnp.sinh(s))


def boosting_steps(
    level: Float[ArrayLike, "*n"], problem: Problem, config: Config
) -> Float[Array, "*n"]:
    """asinh(c / d) / eta1, the number of steps until alpha_V reaches a small level c. Source:
    derived; lemma D.1 bounds it.
    """
    return jnp.arcsinh(level / drift(problem, config)) / config.learning_rate


def boosting_time(
    level: Float[ArrayLike, "*n"],
    start: Float[ArrayLike, "*n"],
    problem: Problem,
    config: Config,
) -> Float[Array, "*n"]:
    """The time s until alpha_A reaches a small level a, from alpha_A = 0 and alpha_V = v >= 0:

    log [a + d + sqrt((a + d)^2 + v^2 - d^2)] - log(v + d)

    The linear system of `early` has alpha_A + alpha_V + d = (v + d) e^s and alpha_A - alpha_V + d =
    (d - v) e^-s. A start v saves the time log(1 + v / d), up to terms of order (v / a)^2 and (d /
    a)^2. Source: derived from (9) for section 4.
    """
    d = drift(problem, config)
    reached = jnp.asarray(level, float) + d
    v = jnp.asarray(start, float)
    return jnp.log(reached + jnp.sqrt(reached**2 + v**2 - d**2)) - jnp.log(v + d)


def eigenvalues(problem: Problem, config: Config) -> Float[Array, "2"]:
    """The eigenvalues of equation (8) at (1, 1), over eta, ascending.

    They are -1 - d/2 -+ sqrt(1 + d^2/4), to leading order -2 and -d/2 = -1 / (2 T K_Q).

    The second is small, so that alpha_A alpha_V ~ 1 is reached fast and (1, 1) very slowly. That is
    why A is rounded at the end. Source: section 3.4.
    """
    d = drift(problem, config)
    root = jnp.sqrt(1 + d**2 / 4)
    return jnp.stack([-1 - d / 2 - root, -d / (1 + d / 2 + root)])
