"""Wrong versions of the random walk's closed forms: the checks that name a function must fail under each.

A row is (theory, module, function, build): build(original) returns the wrong version.
"""

import jax
import jax.numpy as jnp

ROOM = "jaxtheory.theories.random_walk"


def scaled(factor):
    """Every array of the result times a factor: -1 negates, 1/2 halves."""
    return lambda original: lambda *args: jax.tree.map(lambda x: factor * x, original(*args))


def changed(**change):
    """Named fields of the result, each through a function."""

    def build(original):
        def wrong(*args):
            result = original(*args)
            return result._replace(**{name: f(getattr(result, name)) for name, f in change.items() if hasattr(result, name)})

        return wrong

    return build


def in_config(**change):
    """The original at another config."""
    return lambda original: lambda *args: original(*args[:-1], args[-1].replace(**{k: f(getattr(args[-1], k)) for k, f in change.items()}))


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
    return lambda config: jax.tree.map(lambda x: x * config.length.n / (config.length.n - 1), original(config))


def step_in_p(original):
    """Rates of the theorem's direction (p, 1 - p)^2 in place of (p, 1 - p): the ratio of v would follow p/(1 - p)."""

    def wrong(v, config):
        law = jnp.maximum(original(v, config) - v, 0)
        return v + law**2

    return wrong


def without_eta(original):
    return lambda key, t, state, batch, problem, config: original(key, t, state, batch, problem, config.replace(learning_rate=1.0))


def by_hand(params, config, power):
    from jaxtheory.theories.random_walk import calculus, model

    return calculus.Literal(params.V, jax.vjp(lambda W: model.scores(model.Literal(params.V, W), config), _zero(config))[1]((params.u, params.w))[0] ** power)


def _zero(config):
    D = config.num_states.cap + config.encoding_dim.cap
    return jnp.zeros((D, D))


def unweighted_lift(original):
    """The rates not divided out."""
    return lambda params, config: by_hand(params, config, 1)


def flip(p):
    return 1 - p


ROWS = [
    ("random_walk", f"{ROOM}.{module}", name, build)
    for module, name, build in [
        ("calculus", "gradient", scaled(-1)),
        ("calculus", "gradient", scaled(0.5)),
        ("calculus", "gradient", changed(V=transposed_value)),
        ("calculus", "gradient", changed(W=lambda W: W.T, u=jnp.negative)),
        ("calculus", "gradient", changed(A=lambda A: None if A is None else -A, w=jnp.negative)),
        ("calculus", "gradient", without_query),
        ("calculus", "slope", scaled(-1)),
        ("calculus", "slope", scaled(0.5)),
        ("calculus", "reduce", changed(u=jnp.negative)),
        ("calculus", "reduce", changed(w=lambda w: 0.5 * w)),
        ("calculus", "lift", scaled(0.5)),
        ("calculus", "lift", changed(W=lambda W: W.T)),
        ("calculus", "lift", unweighted_lift),
        ("calculus", "imprint", scaled(-1)),
        ("calculus", "imprint", lambda original: lambda W, u, w, config: W.T),
        ("model", "rates", second(lambda rate_w: 0.5 * rate_w)),
        ("model", "rates", lambda original: lambda config: (2 * original(config)[0], original(config)[1])),
        ("model", "rates", in_config(encoding_dim=lambda M: M.replace(cap=M.cap + 1, value=M.n))),
        ("model", "encodings", scaled(0.5)),
        ("model", "encodings", in_config(num_states=lambda K: K)) if False else ("model", "encodings", lambda f: lambda c: f(c)[::-1] * 2),
        ("model", "label_law", in_config(clockwise_probability=flip)),
        ("model", "problem", in_config(clockwise_probability=flip)),
        ("training", "step", without_eta),
        ("training", "step", lambda original: lambda k, t, x, *rest: jax.tree.map(lambda a, b: 2 * a - b, x, original(k, t, x, *rest))),
        ("predictions", "best_accuracy", scaled(0.5)),
        ("predictions", "best_accuracy", lambda original: lambda config: jnp.asarray(config.clockwise_probability)),
        ("predictions", "limit_error", scaled(-1)),
        ("predictions", "limit_error", second(lambda kl: 2 * kl)),
        ("dynamics", "first_step", scaled(-1)),
        ("dynamics", "first_step", one_more_lag),
        ("dynamics", "first_step", changed(V=transposed_value)),
        ("dynamics", "saturated_step", step_in_p),
        ("dynamics", "saturated_step", in_config(clockwise_probability=flip)),
        ("dynamics", "saturated_step", lambda original: lambda v, config: 2 * v - original(v, config)),
        ("dynamics", "selected_run", scaled(0.5)),
        ("dynamics", "selected_run", in_config(clockwise_probability=flip)),
        ("dynamics", "symmetric_run", scaled(-1)),
        ("dynamics", "symmetric_run", changed(growth=jnp.sqrt)),
        ("dynamics", "symmetric_run", changed(query=jnp.zeros_like)),
    ]
]
