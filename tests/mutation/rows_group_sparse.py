"""Wrong versions of the closed forms of group_sparse: the checks that name a function must fail
under each.

A row is (theory, module, function, build): build(original) returns the wrong version.
"""

import jax
import jax.numpy as jnp

from jaxtheory.core.config import Config

ROOM = "jaxtheory.theories.group_sparse"


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


def with_config(**change):
    """The original at another config."""
    swap = lambda arg: (
        arg.replace(**{k: f(getattr(arg, k)) for k, f in change.items()})
        if isinstance(arg, Config)
        else arg
    )
    return lambda original: lambda *args: original(*map(swap, args))


def overshoot(original):
    """Twice the step."""
    return lambda key, t, state, *rest: jax.tree.map(
        lambda old, new: 2 * new - old, state, original(key, t, state, *rest)
    )


def one_late(original):
    """The stages switch a step too late."""
    return lambda key, t, *rest: original(key, t - 1, *rest)


def mean_over_queries(original):
    """f as the mean over queries, not the sum."""
    return lambda params, batch, problem, config: jax.tree.map(
        lambda g: g / config.num_groups.cap, original(params, batch, problem, config)
    )


def rows_for_columns(original):
    """The softmax over queries."""
    return lambda params, x, config: jnp.swapaxes(original(params, x, config), 0, 1)


def next_group(j):
    return jnp.where(jnp.asarray(j) == 1, 2, 1)


def one_more_group(original):
    """D + 1 for D where only its value is read."""
    return lambda *args: original(
        *args[:-1],
        args[-1].replace(num_groups=type(args[-1].num_groups)(args[-1].num_groups.cap + 1)),
    )


def tilted(original):
    """Encodings that are not orthogonal."""
    return lambda config: (lambda P: P + 0.1 * jnp.eye(len(P)))(original(config))


def shifted_labels(batch):
    return batch._replace(y=-batch.y)


def doubled_features(batch):
    return batch._replace(x=2 * batch.x)


def also_other_groups(original):
    """Every group is moved."""

    def wrong(batch, problem, config):
        after = original(batch, problem, config)
        return after._replace(x=after.x + jnp.sum(after.x - batch.x, axis=1, keepdims=True))

    return wrong


ROWS = [
    ("group_sparse", f"{ROOM}.{module}", name, build)
    for module, name, build in [
        ("calculus", "gradient", mean_over_queries),
        ("calculus", "gradient", changed(W12=jnp.negative, beta=jnp.negative)),
        ("calculus", "gradient", changed(W22=jnp.transpose)),
        ("calculus", "gradient", changed(beta=lambda beta: beta / 2)),
        ("model", "attend", rows_for_columns),
        ("model", "encodings", scaled(0.5)),
        ("model", "encodings", tilted),
        ("data", "problem", changed(train=shifted_labels)),
        ("data", "problem", changed(downstream=doubled_features)),
        ("data", "problem", with_config(relevant_group=next_group)),
        ("data", "moved", with_config(margin=lambda gamma: 0.9 * gamma)),
        ("data", "moved", with_config(relevant_group=next_group)),
        ("data", "moved", also_other_groups),
        ("training", "step", with_config(learning_rate=lambda eta: 2 * eta)),
        ("training", "downstream_step", one_late),
        (
            "training",
            "downstream_step",
            with_config(attention=lambda kind: "trained" if kind == "frozen" else "frozen"),
        ),
        ("training", "downstream_step", with_config(downstream_rate=lambda eta: 2 * eta)),
        ("training", "logistic_step", overshoot),
        ("training", "logistic_step", one_late),
        ("training", "fit_step", overshoot),
        ("training", "fit_step", one_late),
        ("calculus", "velocity", changed(b=lambda b: 2 * b)),
        ("calculus", "velocity", changed(own=lambda own: 0 * own)),
        (
            "calculus",
            "velocity",
            changed(selected=lambda x: x / 2, pull=lambda x: x / 2, own=lambda x: x / 2),
        ),
        ("calculus", "embed", changed(W22=lambda W: 2 * W)),
        ("calculus", "embed", changed(W11=jnp.negative)),
        ("calculus", "project", changed(b=lambda b: b / 2)),
        ("calculus", "project", changed(pull=jnp.negative)),
        ("training", "population_step", with_config(learning_rate=lambda eta: 2 * eta)),
        ("laws", "first_step", scaled(-1)),
        ("laws", "first_step", scaled(2)),
        ("laws", "selected_loss", scaled(0.5)),
        ("laws", "selected_loss", with_config(noise_scale=lambda sigma: 2 * sigma)),
        ("laws", "selected_run", with_config(learning_rate=lambda eta: 2 * eta)),
        ("laws", "selected_run", scaled(-1)),
        ("laws", "growth", with_config(learning_rate=lambda eta: 2 * eta)),
        ("laws", "growth", with_config(noise_scale=lambda sigma: sigma**2)),
        ("laws", "decay", one_more_group),
        ("laws", "decay", scaled(0.5)),
    ]
]
