"""Metrics along training, the theory's curves for them, and the conditions of its theorems."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxtheory.ops import linalg
from jaxtheory.ops.fallback import fallback
from jaxtheory.ops.positions import indices
from jaxtheory.theories.random_walk import data, laws, model
from jaxtheory.theories.random_walk.model import Batch, Config, Params, Problem

TIE = 1e-9  # relative distance from the largest entry of f within which entries are tied
FLOOR = 1e-12  # smallest probability of a normalized output
RATIO_CAP = 1e12


def predicted(f: Float[Array, "B K"], config: Config) -> Int[Array, " B"]:
    """The predicted state Pred(f), the smallest index among the largest entries.

    The largest are those within 1e-9 of the largest one, relative to its size.
    """
    f = jnp.where(config.num_states.mask()[None, :], f, -jnp.inf)
    top = jnp.max(f, axis=1, keepdims=True)
    return jnp.argmax(f >= top - TIE * jnp.abs(top), axis=1)


def normalized(f: Float[Array, "B K"], config: Config) -> Float[Array, "B K"]:
    """The output as a probability law: max(f, 0) over its sum.

    Every entry is at least 1e-12, and the law is uniform where no entry is positive.
    """
    K = config.num_states
    f = jnp.where(K.mask()[None, :], jnp.maximum(f, 0), 0)
    total = jnp.sum(f, axis=1, keepdims=True)
    return jnp.maximum(
        jnp.where(total > 0, f / jnp.where(total > 0, total, 1), 1 / jnp.asarray(K.real, float)),
        FLOOR,
    )


def divergence(law: Float[Array, "*#n K"], q: Float[Array, "*#n K"]) -> Float[Array, "*n"]:
    """KL(law || q) = sum_k law_k log(law_k / q_k) in nats, with 0 log 0 = 0."""
    some = law > 0
    # the choice precedes the log, so that the log is vectorized
    ratio = jnp.where(some, law, 1) / jnp.where(some, q, 1)
    return jnp.sum(law * jnp.log(ratio), axis=-1)


def metrics(params: Params, problem: Problem, config: Config) -> dict:
    """Return the metrics: `loss` on the training set, the others on the test sequences.

    In population mode both sets are the law.

    loss                  mean of ell(f_y) over the training walks; f_y may exceed 1
    accuracy              mean P(Pred(f) | s_1..s_{N-1}): conditional on the true law, no label is
                          drawn; in [0, 1]
    kl                    mean KL(true law || normalized f), nats; log K less the entropy of the law
                          at V = 0
    output_error          mean | f/|f| - law/|law| |_2, in [0, 2]; 1 at f = 0
    output_gap            mean | f/|f| - law |_2, the law as it is: at least 1 - |law| once f != 0
    parent_attention      mean S_{N-1}
    stray_attention       the rest, 1 - S_{N-1} without cancellation
    selected_lag          N - j of the token j < N with the largest mean attention (ties to 1e-9 go
                          to the earliest token, lag N - 1)
    attention_spread      max over sequences of max - min of S over the tokens 1..N-1
    query_attention       mean S_N
    For the walk, with the value matrix V (A relu(V) for an mlp):
    value_direction_error       | V/|V| - Pi^T/|Pi^T| |_F, in [0, 2]; 1 at V = 0
    value_direction_error_sqrt  the same against sqrt(Pi^T), entry by entry
    value_ratio           sum_k V_{k+1,k} / sum_k V_{k-1,k}; 1 at V = 0, size at most 1e12
    value_spread          (max V - min V) / max |V|, in [0, 2]: 0 for V ~ 1 1^T and at V = 0
    """
    train, test = problem.train, problem.test
    factors, exact = model.factored(params, train, config)
    loss = fallback(
        exact,
        model.loss_at(params, train, factors.g * factors.C, config),
        lambda params, train: model.loss(params, train, problem, config),
        params,
        train,
    )
    factors, exact = model.factored(params, test, config)
    of_test = fallback(
        exact,
        _test_metrics(params, *model.spread_out(factors, test, config), test, config),
        lambda params, test: _test_metrics(
            params, *model.attend(params, test, config), test, config
        ),
        params,
        test,
    )
    of_value = _value_metrics(params, config) if config.task == "walk" else {}
    return {"loss": loss, **of_test, **of_value}


def _test_metrics(
    params: Params,
    S: Float[Array, "B N"],
    H: Float[Array, "B K"],
    test: Batch,
    config: Config,
) -> dict:
    """The metrics on the test sequences."""
    N, weight, law = config.length, test.weight, data.label_law(test, config)
    f = model.output(params, H)
    mean = lambda per_sequence: jnp.sum(weight * per_sequence)
    at = indices(N.cap)
    token = at < N.n - 1
    of_query = jnp.take(S, N.n - 1, axis=1)
    S = jnp.where(token[None, :], S, S[:, :1])  # within the tokens' range: one array for three sums
    everywhere = jnp.sum(weight[:, None] * S, axis=0)
    everywhere = jnp.where(token, everywhere, jnp.where(at < N.n, mean(of_query), 0))
    attention = jnp.where(token, everywhere, -jnp.inf)
    selected = jnp.argmax(attention >= jnp.max(attention) * (1 - TIE)).astype(jnp.int32)
    spread = jnp.max(S, axis=1) - jnp.min(S, axis=1)
    return {
        "accuracy": mean(jnp.take_along_axis(law, predicted(f, config)[:, None], axis=1)[:, 0]),
        "kl": mean(divergence(law, normalized(f, config))),
        "output_error": mean(jax.vmap(linalg.direction_error)(f, law)),
        "output_gap": mean(jnp.linalg.norm(jax.vmap(linalg.unit)(f) - law, axis=1)),
        "parent_attention": jnp.take(everywhere, N.n - 2),
        "stray_attention": jnp.sum(jnp.where(at == N.n - 2, 0, everywhere)),
        "selected_lag": (N.n - 1 - selected).astype(float),
        "attention_spread": jnp.max(jnp.where(weight > 0, spread, 0)),
        "query_attention": jnp.take(everywhere, N.n - 1),
    }


def _value_metrics(params: Params, config: Config) -> dict:
    target = data.transition(config).T
    V = model.output(params, jnp.eye(config.num_states.cap)).T
    forth, back = (
        jnp.sum(data.transition(config.replace(clockwise_probability=p)).T * V) for p in (1.0, 0.0)
    )
    ratio = forth / jnp.where(back == 0, 1, back)
    unbounded = jnp.where(forth == 0, 1, RATIO_CAP * jnp.sign(forth))
    real = config.num_states.mask()
    shown = jnp.where(real[:, None] & real[None, :], V, V[0, 0])
    size = jnp.max(jnp.abs(shown))
    return {
        "value_direction_error": linalg.direction_error(V, target),
        "value_direction_error_sqrt": linalg.direction_error(V, jnp.sqrt(target)),
        "value_ratio": jnp.where(back == 0, unbounded, jnp.clip(ratio, -RATIO_CAP, RATIO_CAP)),
        "value_spread": (jnp.max(shown) - jnp.min(shown)) / jnp.where(size == 0, 1, size),
    }


def predict(_problem: Problem, config: Config, steps: Int[np.ndarray, " T"]) -> dict:
    """Return the theory's curves at the given steps.

    accuracy                                         limit: max(p, 1 - p); 1/K where the failure
                                                     theorem applies; 1 and 1/2 for qa1 and qa2
    value_direction_error, kl: theorem               limit 0, as the source states it for every
                                                     0 < p < 1
    value_ratio: theorem                             limit p/(1-p)
    value_direction_error, kl, output_gap: sqrt_law  limits of V with v(1)/v(-1) = sqrt(p/(1-p)),
                                                     the ratio of the log loss
    value_ratio: sqrt_law                            limit sqrt(p/(1-p))
    value_direction_error, kl, loss: population      the run of a large batch from the zero start
                                                     (`laws.selected_run`)
    attention_spread: linear                         p in {0, 1}, N = rK + 1, start disturbed by
                                                     delta: delta times the growth, to first order
    NaN where a curve does not apply: all but the first and the last need 0 < p < 1.
    """
    times = np.asarray(steps)
    constant = lambda value: jnp.broadcast_to(jnp.asarray(value, float), times.shape)
    if config.task != "walk":
        best, least_kl = (1.0, 0.0) if config.task == "qa1" else (0.5, float(np.log(2)))
        return {"accuracy": constant(best), "kl": constant(least_kl)}
    p = jnp.asarray(config.clockwise_probability, float)
    direction, kl, gap = laws.limit_error(config)
    within = lambda value: constant(jnp.where((p > 0) & (p < 1), value, jnp.nan))
    odds = p / jnp.where(p < 1, 1 - p, 1)
    guess = 1 / jnp.asarray(config.num_states.real, float)
    curves = {
        "accuracy": constant(jnp.where(laws.fails(config), guess, laws.best_accuracy(config))),
        "value_direction_error:theorem": within(0.0),
        "value_direction_error:sqrt_law": within(direction),
        "kl:theorem": within(0.0),
        "kl:sqrt_law": within(kl),
        "output_gap:sqrt_law": within(gap),
        "value_ratio:theorem": within(odds),
        "value_ratio:sqrt_law": within(jnp.sqrt(odds)),
    }
    if config.value != "linear":
        return curves
    length = int(times.max(initial=0)) + 1
    run, law = laws.selected_run(config, length), data.step_law(config)
    errors = jax.vmap(linalg.direction_error, (0, None))(run.v, law)
    q = normalized(jnp.where((indices(length) < 2)[:, None], 1, run.v), config)
    symmetric = laws.symmetric_run(config, length)
    turns = (config.length.real - 1) / config.num_states.real
    disturbance = laws.normal_range(config.num_states.real) / jnp.sqrt(turns)
    spread = config.perturbation * symmetric.token * symmetric.growth * disturbance
    linear = jnp.where(
        laws.fails(config.replace(perturbation=0.0)), jnp.minimum(spread, 1), jnp.nan
    )
    return curves | {
        "value_direction_error:population": within(errors[times]),
        "kl:population": within(divergence(law[None, :], q)[times]),
        "loss:population": within(run.loss[times]),
        "attention_spread:linear": linear[times],
    }


def assumptions(_problem: Problem, config: Config) -> dict:
    """Return the conditions of the source's theorems, each with its margin.

    The margin is negative where the condition fails. The constants of Omega(.) are not given, so
    they are 1 here. At K = 4 every odd lag carries as much information as the parent, which then is
    not identifiable.
    """
    if config.task != "walk":
        return {}
    K, N, M = (
        jnp.asarray(size.real, float)
        for size in (config.num_states, config.length, config.encoding_dim)
    )
    p = jnp.asarray(config.clockwise_probability, float)
    conditions = {
        "0 < p < 1": jnp.minimum(p, 1 - p),
        "M >= N^1.5": M / N**1.5 - 1,
        "K != 4 (parent identifiable)": jnp.abs(K - 4),
        "N != 1 mod K (needed at p = 0 and 1)": (N - 1) % K,
    }
    start = jnp.asarray(config.init_scale, float) + jnp.asarray(config.perturbation, float)
    return {name: (margin > 0, margin) for name, margin in conditions.items()} | {
        "zero start": (start == 0, -start)
    }
