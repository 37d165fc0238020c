"""Wrong versions of the random walk's closed forms: the checks that name a function must fail under
each.

A row is (theory, module, function, build): build(original) returns the wrong version.
"""

import jax
import jax.numpy as jnp

from jaxtheory.core.config import Config

ROOM = "jaxtheory.theories.random_walk"


def scaled(factor):
    """Every array of the result times a factor: -1 negates, 1/2 halves."""
    return lambda original: lambda *args: jax.tree.map(lambda x: factor * x, original(*args))


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


def second(f):
    """The second of two results, through a function."""
    return lambda original: lambda *args: (lambda first, last: (first, f(last)))(*original(*args))


def transposed_value(V):
    return V.T if V.shape[0] == V.shape[1] else V


def without_query(original):
    """dw of the query dropped: its attention is part of the softmax though its value is 0."""

    def wrong(params, batch, problem, config):
        g = original(params, batch, problem, config)
        return g._replace(w=g.w.at[config.length.cap - 1].set(0)) if hasattr(g, "w") else g

    return wrong


def one_more_lag(original):
    """1/(N - 1) in place of 1/N: the share of the query forgotten."""
    return lambda config: jax.tree.map(
        lambda x: x * config.length.n / (config.length.n - 1), original(config)
    )


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
        ("calculus", "gradient", scaled(-1)),
        ("calculus", "gradient", scaled(0.5)),
        ("calculus", "gradient", changed(V=transposed_value)),
        ("calculus", "gradient", changed(W=jnp.transpose, u=jnp.negative)),
        ("calculus", "gradient", changed(A=lambda A: None if A is None else -A)),
        ("calculus", "gradient", without_query),
        ("calculus", "slope", scaled(-1)),
        ("calculus", "slope", scaled(0.5)),
        ("calculus", "reduce", changed(u=jnp.negative)),
        ("calculus", "reduce", changed(w=lambda w: 0.5 * w)),
        ("calculus", "lift", scaled(0.5)),
        ("calculus", "lift", changed(W=jnp.transpose)),
        ("calculus", "imprint", scaled(-1)),
        ("calculus", "imprint", forget),
        ("model", "rates", second(lambda rate_w: 0.5 * rate_w)),
        ("model", "rates", scaled(-1)),
        ("model", "encodings", scaled(0.5)),
        ("data", "label_law", mirrored),
        ("data", "problem", mirrored),
        ("training", "step", without_eta),
        ("training", "step", overshoot),
        ("laws", "best_accuracy", scaled(0.5)),
        ("laws", "best_accuracy", always_clockwise),
        ("laws", "limit_error", scaled(-1)),
        ("laws", "limit_error", second(lambda kl: 2 * kl)),
        ("laws", "first_step", scaled(-1)),
        ("laws", "first_step", one_more_lag),
        ("laws", "first_step", changed(V=jnp.transpose)),
        ("laws", "saturated_step", theorems_ratio),
        ("laws", "saturated_step", mirrored),
        ("laws", "selected_run", scaled(0.5)),
        ("laws", "selected_run", mirrored),
        ("laws", "symmetric_run", scaled(-1)),
        ("laws", "symmetric_run", changed(growth=jnp.abs, query=jnp.zeros_like)),
        ("laws", "symmetric_run", changed(growth=lambda growth: 0.5 * growth)),
    ]
]
