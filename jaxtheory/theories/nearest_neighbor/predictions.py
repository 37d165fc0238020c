"""Metrics along training, and the theory's curves and conditions."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxtheory.theories.nearest_neighbor import calculus, data, model
from jaxtheory.theories.nearest_neighbor.laws import bounds, population
from jaxtheory.theories.nearest_neighbor.model import Config, Params, Problem

RATIO_CAP = 1e12


def metrics(params: Params, problem: Problem, config: Config) -> dict[str, Float[Array, ""]]:
    """Return the metrics. Errors are those of averaged labels where training averages them.

    loss                 1/2 mean (f - y_{i*})^2 on the training prompts
    test_loss            1/2 mean (f - y_{i*})^2 on the test prompts
    population_loss      L(xi1, xi2) of infinitely many prompts, without what is off the structure;
                         NaN for xi1 > 40
    xi1, xi2             tr W_11 / d; -W_33
    off_structure        |W - diag(xi1 I, 0, -xi2)|_F
    off_diagonal         largest entry of W off the diagonal
    diagonal_spread      max - min of diag W_11
    nearest_attention    mean s* on the test prompts
    query_attention      mean s_q on the test prompts
    query_logit          mean h_q^T W h_q on the test prompts
    agreement            share of test prompts on which f has the sign of exact
                         one-nearest-neighbor prediction (labels +-1 where averaged)
    shift_error          mean (f - y_{i*})^2 where q = x_{i*} and examples within delta are flipped
    shift_bound          the bound on shift_error
    separated_error      mean (f - y_{i*})^2 on test prompts with labels separated by delta
                         (`data.relabeled`)
    bound_ratio          largest |f - y_{i*}| / bound on both of these
    """
    reduced, averaged = calculus.reduce(params, config), config.labels == "averaged"
    delta, test = config.separation, problem.test
    flipped, separated = data.flipped(problem.shift, delta, config), data.relabeled(test, delta)
    gap = bounds.flipped_separation(config)
    blind = lambda prompts: prompts._replace(y=None) if averaged else prompts
    s, at_flipped, at_separated = (
        model.attend(params, blind(prompts), config) for prompts in (test, flipped, separated)
    )
    mean = lambda values: jnp.sum(test.weight * values)
    error = jnp.abs(model.deviation(at_separated, separated))
    flipped_error = jnp.abs(model.deviation(at_flipped, flipped))
    labels = jnp.sign(test.y.T) if averaged else test.y.T
    same_sign = jnp.sign(jnp.sum(s[:-1] * labels, axis=0)) == jnp.sign(model.picked(labels, test))
    return {
        "loss": model.loss(params, problem.train, problem, config),
        "test_loss": mean(model.squared_errors(s, blind(test))) / 2,
        "population_loss": population.loss(reduced, config),
        **reduced._asdict(),
        **calculus.off_structure(params, config),
        "nearest_attention": mean(model.picked(s[:-1], test)),
        "query_attention": mean(s[-1]),
        "query_logit": mean(model.logits(params, blind(test))[-1]),
        "agreement": mean(same_sign.astype(s.dtype)),
        "shift_error": mean(model.squared_errors(at_flipped, blind(flipped))),
        "shift_bound": bounds.shift_bound(params, gap, config),
        "separated_error": mean(error**2),
        "bound_ratio": jnp.maximum(
            ratio(flipped_error, bounds.bound(params, flipped, gap, config)),
            ratio(error, bounds.bound(params, separated, delta, config)),
        ),
    }


def ratio(values: Float[Array, " B"], limits: Float[Array, " B"]) -> Float[Array, ""]:
    """The largest value / limit, at most 1e12, and 0 where the value is 0."""
    return jnp.max(
        jnp.where(
            values != 0,
            jnp.minimum(values / jnp.where(limits > 0, limits, values / RATIO_CAP), RATIO_CAP),
            0,
        )
    )


def predict(
    _problem: Problem, config: Config, steps: Int[Array | np.ndarray, " t"]
) -> dict[str, Float[Array, " t"]]:
    """Return the theory's curves at the given steps, for large t.

    xi1, loss, test_loss: law           t^(1/3) and t^(-1/3) with their constants
                                        (`population.power_laws`)
    xi1, xi2, loss, test_loss: valley   the same with the query's tie (`population.valley`), for
                                        which small d matters; L = C p(0) / xi1
    """
    xi1, loss = population.power_laws(jnp.asarray(steps), config)
    valley = population.valley(jnp.asarray(steps), config)
    slower = population.TIE * population.gap_density(config) / valley[0]
    laws = {"xi1:law": xi1, "loss:law": loss, "test_loss:law": loss}
    return laws | {
        "xi1:valley": valley[0],
        "xi2:valley": valley[1],
        "loss:valley": slower,
        "test_loss:valley": slower,
    }


def assumptions(_problem: Problem, config: Config) -> dict[str, tuple[Array, Array]]:
    """Return the theorem's conditions and their margins, negative where they fail.

    The conditions have constant 1, since the source's constants are lost.
    """
    d, N = (jnp.asarray(size.real, float) for size in (config.dimension, config.context))
    sigma, xi0 = jnp.asarray(config.mask, float), jnp.asarray(config.initial_alignment, float)
    margins = {
        "sigma >= d, for Omega(poly(d)): margin sigma / d - 1": sigma / d - 1,
        "N >= sqrt(d) log d: margin N / (sqrt(d) log d) - 1": N / (jnp.sqrt(d) * jnp.log(d)) - 1,
        "xi1 = 0 at the start: margin -xi0": -xi0,
        "power laws: d >= 3 and N >= 2, margin the lesser of d - 3 and N - 2": jnp.minimum(
            d - 3, N - 2
        ),
    }
    return {name: (margin >= 0, margin) for name, margin in margins.items()}
