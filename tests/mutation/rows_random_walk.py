"""Wrong versions of the random walk's closed forms: the checks that name a function must fail under
each.

A row is (theory, module, function, build): build(original) returns the wrong version.
"""

import jax
import jax.numpy as jnp

from jaxtheory.core.config import Config, Size
from jaxtheory.theories.random_walk import calculus, model

ROOM = "jaxtheory.theories.random_walk"


def changed(**change):
    """Named fields of the result, each through a function."""

    def build(original):
        def wrong(*args):
            result = original(*args)
            return result._replace(
                **{
                    name: f(getattr(result, name))
                    for name, f in change.items()
                    if hasattr(result, name)
                }
            )

        return wrong

    return build


def mirrored(original):
    """The original at 1 - p."""
    mirror = lambda arg: (
        arg.replace(clockwise_probability=1 - arg.clockwise_probability)
        if isinstance(arg, Config)
        else arg
    )
    return lambda *args: original(*map(mirror, args))


def transposed_value(V):
    return V.T if V.shape[0] == V.shape[1] else V


def without_query(original):
    """dw of the query dropped: its attention is part of the softmax though its value is 0."""

    def wrong(params, batch, problem, config):
        g = original(params, batch, problem, config)
        return g._replace(w=g.w.at[config.length.cap - 1].set(0)) if hasattr(g, "w") else g

    return wrong


def without_mean(original):
    """du without the softmax's mean m: q_k H_k in place of (q_k - m) H_k."""

    def wrong(params, batch, problem, config):
        g = original(params, batch, problem, config)
        if not hasattr(g, "u") or params.A is not None:
            return g
        H = model.attend(params, batch, config)[1]
        r = batch.weight * calculus.slope(model.label_output(params, batch, H), config)
        m = jnp.sum(params.V[batch.y] * H, axis=1)
        return g._replace(u=g.u - (r * m) @ H)

    return wrong


def without_offset(original):
    """1/f_y in place of 1/(f_y + eps)."""
    return lambda f, config: original(f, config.replace(epsilon=1e-3))


def other_norms(tokens):
    """The scales of raw tokens for unit ones, or the reverse."""
    return lambda original: (
        lambda *args: original(
            *(arg.replace(tokens=tokens) if isinstance(arg, Config) else arg for arg in args)
        )
    )


def one_dimension_less(original):
    """rho = M/2 in place of (M + 1)/2."""

    def wrong(config):
        M = config.encoding_dim
        less = Size(M.cap - 1, None if M.value is None else M.value - 1)
        return original(config.replace(encoding_dim=less))

    return wrong


def shifted(original):
    """Positions counted from 0: p_i has the sines of i - 1."""
    return lambda config: jnp.roll(original(config), 1, axis=0).at[0].set(0)


def of_first_state(original):
    """The law given s_1 in place of s_{N-1}."""
    return lambda batch, config: original(batch._replace(s=batch.s[:, ::-1]), config)


def majority_of_four(original):
    """The last fruit of qa1 is not counted."""
    return lambda coins, task: (
        original(coins, task)[0],
        original(coins.at[:, 8].set(False), task)[1],
    )


def query_forgotten(original):
    """1/(N - 1) in place of 1/N: the share of the query forgotten."""
    return lambda config: original(config) * config.length.n / (config.length.n - 1)


def one_lag_less(original):
    """The lags 1..N - 2."""

    def wrong(config, *rest):
        N = config.length
        less = Size(N.cap - 1, None if N.value is None else N.value - 1)
        shorter = original(config.replace(length=less), *rest)
        factor = (N.n - 1) / N.n  # 1/N stays
        return jax.tree.map(lambda x: x * factor, shorter)

    return wrong


def a_step_late(original):
    """Everything after t = 0 one step late."""

    def wrong(config, length):
        run = original(config, length + 1)
        late = jnp.maximum(jnp.arange(length) - 1, 0)
        return jax.tree.map(lambda x: x[late], run)

    return wrong


def without_root(original):
    """The direction (p, 1 - p) of the theorem: no error, no divergence."""

    def wrong(config):
        direction, kl, gap = original(config)
        p = jnp.asarray(config.clockwise_probability, float)
        return direction * 0, kl * 0, jnp.abs(1 - jnp.hypot(p, 1 - p)) + 0 * gap

    return wrong


def normalized_law(original):
    """The gap to the law over its norm: the first number in place of the third."""
    return lambda config: (lambda first, kl, _: (first, kl, first))(*original(config))


def theorems_ratio(original):
    """Steps squared, so that v(1)/v(-1) would follow p/(1 - p)."""
    return lambda v, config: v + (original(v, config) - v) ** 2


def without_eta(original):
    return lambda key, t, state, batch, problem, config: original(
        key, t, state, batch, problem, config.replace(learning_rate=1.0)
    )


def overshoot(original):
    """Twice the step."""
    return lambda key, t, state, *rest: jax.tree.map(
        lambda old, new: 2 * new - old, state, original(key, t, state, *rest)
    )


def forget(original):
    """The old matrix transposed, no score set."""
    return lambda W, u, w, config: W.T


def always_clockwise(original):
    return lambda config: jnp.asarray(config.clockwise_probability)


ROWS = [
    ("random_walk", f"{ROOM}.{module}", name, build)
    for module, name, build in [
        ("calculus", "gradient", changed(V=transposed_value)),
        ("calculus", "gradient", changed(W=jnp.transpose, u=jnp.flip)),
        ("calculus", "gradient", without_query),
        ("calculus", "gradient", without_mean),
        ("calculus", "slope", without_offset),
        ("calculus", "reduce", changed(u=jnp.flip)),
        ("calculus", "reduce", changed(w=lambda w: jnp.roll(w, 1))),
        ("calculus", "reduce", other_norms("raw")),
        ("calculus", "lift", changed(W=jnp.transpose)),
        ("calculus", "lift", other_norms("raw")),
        ("calculus", "imprint", forget),
        ("model", "rates", other_norms("raw")),
        ("model", "rates", other_norms("unit")),
        ("model", "rates", one_dimension_less),
        ("model", "encodings", shifted),
        ("data", "label_law", mirrored),
        ("data", "label_law", of_first_state),
        ("data", "problem", mirrored),
        ("data", "sentences", majority_of_four),
        ("training", "step", without_eta),
        ("training", "step", overshoot),
        ("laws", "best_accuracy", always_clockwise),
        ("laws", "limit_error", without_root),
        ("laws", "limit_error", normalized_law),
        ("laws", "first_step", query_forgotten),
        ("laws", "first_step", one_lag_less),
        ("laws", "first_step", mirrored),
        ("laws", "adam_first_step", query_forgotten),
        ("laws", "adam_first_step", mirrored),
        ("laws", "saturated_step", theorems_ratio),
        ("laws", "saturated_step", mirrored),
        ("laws", "selected_run", mirrored),
        ("laws", "selected_run", a_step_late),
        ("laws", "symmetric_run", changed(growth=jnp.abs, query=jnp.zeros_like)),
        ("laws", "symmetric_run", changed(token=lambda token: jnp.roll(token, 1))),
        ("laws", "symmetric_run", changed(growth=lambda growth: growth**0.5)),
    ]
]

# an edit of the source that once nothing noticed: module, function, edit
KNOWN = [
    ("predictions", "_test_metrics", "N.n - 2 -> N.n"),
    ("model", "factored", "top_u + top_w -> top_u"),
    ("laws", "symmetric_run", "gap - high -> gap + high"),
]
