"""Metrics along training, the effect of rounding the result, and the theory's curves.

All are for the population, without draws.
"""

import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.theories.contextual_bigram import calculus, model
from jaxtheory.theories.contextual_bigram.laws import dynamics, noise, population, transfer
from jaxtheory.theories.contextual_bigram.model import Config, Params, Problem


def cosine(
    A: Float[Array, "n N"], B: Float[Array, "n N"], mu: Float[Array, " N"]
) -> Float[Array, ""]:
    """<A, B>_mu / (|A| |B|), zero where one of them is zero."""
    size = population.norm(A, mu) * population.norm(B, mu)
    return population.inner(A, B, mu) / jnp.where(size > 0, size, 1)


def share(columns: Bool[Array, " N"], config: Config) -> Float[Array, ""]:
    """The share of the N columns for which a condition holds."""
    return jnp.sum(columns & config.num_states.mask()).astype(float) / config.num_states.real


def same_support(entries: Bool[Array, "T N"], problem: Problem) -> Bool[Array, " N"]:
    """True for columns where `entries` are exactly the positions that Q attends to."""
    return jnp.all(entries == (problem.context > 0), axis=0)


def raised(A: Float[Array, "T N"], config: Config) -> Bool[Array, "T N"]:
    """True for entries above the smallest of their column.

    These are the ones that a threshold or a proximal map kept, since the projection lifts the
    others equally.
    """
    least = jnp.min(jnp.where(model.valid(config), A, jnp.inf), axis=0, keepdims=True)
    return model.valid(config) & (least < A)


def off_support_spread(
    A: Float[Array, "T N"], problem: Problem, config: Config
) -> Float[Array, ""]:
    """The standard deviation of the entries that Q does not attend to.

    It is taken about their mean in each column, as the root mean square over columns.
    """
    off = model.valid(config) & (problem.context == 0)
    count = jnp.maximum(jnp.sum(off, axis=0).astype(float), 1)
    mean = jnp.sum(jnp.where(off, A, 0), axis=0) / count
    variance = jnp.sum(jnp.where(off, A - mean[None, :], 0) ** 2, axis=0) / count
    return jnp.sqrt(jnp.sum(variance) / config.num_states.real)


def metrics(params: Params, problem: Problem, config: Config) -> dict[str, Float[Array, ""]]:
    """Return the metrics.

    Norms and cosines are mu-norms, and losses are those of the population in closed form.

    loss                    population mean of |e_y - V p|^2 / 2
    excess_loss             the loss minus the Bayes loss
    relative_excess_loss    excess_loss over that of A = U, V = mu 1^T
    attention_alignment     alpha_A, 0 at the start and 1 at Q
    value_alignment         alpha_V, 0 at the start and 1 at P
    attention_residual      |Delta_A|, the distance from the line of alpha_A
    value_residual          |Delta_V|, the distance from the line of alpha_V
    attention_distance      |A - Q|
    value_distance          |V - P|
    attention_cosine        cosine of A and Q, sqrt(1 / (T |Q|^2)) at the start
    value_cosine            cosine of V and P, |mu| / |P| at the start
    value_cosine_centered    cosine of V - mu 1^T and P - mu 1^T, 0 at the start
    right_sign              1 where alpha_A + alpha_V > 0; a run of the wrong sign goes on along
                            alpha_A alpha_V = 1, alpha_V to 0 from below
    support_match           share of columns whose entries above the column's smallest one are
                            exactly the attended positions
    off_support_std         standard deviation of entries off the support
    below_lambda            share of the entries of A below -lambda
    """
    model.fit(params, None, problem, config)
    A, V = params
    Q, P, mu = problem.context, problem.transition, problem.stationary
    alpha = population.alignment(params, problem, config)
    off = population.residual(params, problem, config)
    start = model.init(mu, problem, config)
    excess = population.excess_loss(params, problem, config)
    low = jnp.sum(-jnp.asarray(config.l1) > A).astype(float)
    return {
        "loss": population.population_loss(params, problem, config),
        "excess_loss": excess,
        "relative_excess_loss": excess / population.excess_loss(start, problem, config),
        "attention_alignment": alpha.attention,
        "value_alignment": alpha.value,
        "attention_residual": population.norm(off.attention, mu),
        "value_residual": population.norm(off.value, mu),
        "attention_distance": population.norm(A - Q, mu),
        "value_distance": population.norm(V - P, mu),
        "attention_cosine": cosine(A, Q, mu),
        "value_cosine": cosine(V, P, mu),
        "value_cosine_centered": cosine(V - start.value, P - start.value, mu),
        "right_sign": (alpha.attention + alpha.value > 0).astype(float),
        "support_match": share(same_support(raised(A, config), problem), config),
        "off_support_std": off_support_spread(A, problem, config),
        "below_lambda": low / (config.length.real * config.num_states.real),
    }


def analyses(params: Params, problem: Problem, config: Config) -> dict[str, Float[Array, ""]]:
    """Return the analyses of stage three on the population.

    A is rounded at theta, and then V is the best for it. Norms are mu-norms.

    support_recovery            share of columns whose rounded support is that of Q
    rounded_attention_distance  |A^ - Q|
    rounded_value_distance      |V* - P| with the closed V*, which uses P and Q: an oracle, no
                                learned V
    empty_columns               columns without a positive entry; they are rounded to uniform
                                attention
    """
    A = calculus.rounded(params.attention, config.threshold, config)
    V = population.optimal_value(A, problem, config)
    empty = calculus.empty_columns(params.attention, config)
    return {
        "support_recovery": share(same_support(A > 0, problem) & ~empty, config),
        "rounded_attention_distance": population.norm(A - problem.context, problem.stationary),
        "rounded_value_distance": population.norm(V - problem.transition, problem.stationary),
        "empty_columns": jnp.sum(empty).astype(float),
    }


def predict(
    problem: Problem, config: Config, steps: Int[np.ndarray, " t"]
) -> dict[str, Float[Array, " t"]]:
    """Return the theory's curves at the given steps.

    attention_alignment, value_alignment: population   equation (8), exact for `population` and
                                                       `dynamics`, sgd with large batches
    attention_alignment, value_alignment: prox         the same with the noiseless threshold and
                                                       prox of the second stage (uniform weights)
    attention_alignment, value_alignment: early        d (cosh s - 1), d sinh s while alpha_V <= 1,
                                                       NaN after
    loss: bayes, population                            the least loss; the loss along equation (8)
    right_sign: sign_law                               Phi(z), the share of runs whose first stage
                                                       ends with the right sign
    off_support_std, support_match: one_step           `transfer`, after its one step: before the
                                                       threshold (lambda = 0), and after it
    """
    times = np.asarray(steps)
    length = int(times.max(initial=0)) + 1
    path = dynamics.path(length, problem, config)
    shrunk = dynamics.path(length, problem, config, prox=True)
    early = dynamics.early(dynamics.elapsed(jnp.asarray(times), config), problem, config)
    small = early.value <= 1
    constant = lambda value: jnp.broadcast_to(value, times.shape)
    spread = jnp.sqrt(jnp.sum(transfer.step_spread(problem, config) ** 2) / config.num_states.real)
    recovery = (
        jnp.sum(jnp.where(config.num_states.mask(), transfer.step_recovery(problem, config), 0))
        / config.num_states.real
    )
    bayes = population.bayes_loss(problem, config)
    return {
        "attention_alignment:population": path.attention[times],
        "value_alignment:population": path.value[times],
        "attention_alignment:prox": shrunk.attention[times],
        "value_alignment:prox": shrunk.value[times],
        "attention_alignment:early": jnp.where(small, early.attention, jnp.nan),
        "value_alignment:early": jnp.where(small, early.value, jnp.nan),
        "loss:bayes": constant(bayes),
        "loss:population": bayes + population.excess_on_line(path, problem, config)[times],
        "right_sign:sign_law": constant(norm.cdf(noise.growth_noise(problem, config))),
        "off_support_std:one_step": constant(spread),
        "support_match:one_step": constant(recovery),
    }


def assumptions(problem: Problem, config: Config) -> dict[str, tuple[Array, Array]]:
    """Return assumption 2.1, with C = 4 where the source has some constant.

    Each condition has its margin, negative where it fails.

    The formulas of the assumption are lost. (b), (c) and (d) are reconstructed from the remarks.
    """
    N, T, Q = (
        jnp.asarray(size.real, float)
        for size in (config.num_states, config.length, config.sparsity)
    )
    mu, q, (K_P, _) = problem.stationary, problem.context, population.signals(problem, config)
    C = 4.0
    most = jnp.max(jnp.sum(q > 0, axis=0)).astype(float)
    least_q = jnp.min(jnp.where(q > 0, q, jnp.inf))
    least_mu = jnp.min(jnp.where(config.num_states.mask(), mu, jnp.inf))
    margins = {
        "(a) each q^(k) has at most Q entries, margin Q - their number + 1": Q - most + 1,
        "(b) q_t >= 1 / (4 Q) where not zero, margin 4 Q min q - 1": C * Q * least_q - 1,
        "(b) 1 / (4 N) <= mu_k <= 4 / N, margin min(4 N min mu, 4 / (N max mu)) - 1": jnp.minimum(
            C * N * least_mu, C / (N * jnp.max(mu))
        )
        - 1,
        "(c) nontrivial: K_P >= |mu|^2 / 4, margin 4 K_P / |mu|^2 - 1": C * K_P / jnp.sum(mu**2)
        - 1,
        "(d) long: T >= (N Q)^2, margin log(T / (N Q)^2)": jnp.log(T / (N * Q) ** 2),
    }
    return {name: (margin > 0, margin) for name, margin in margins.items()}
