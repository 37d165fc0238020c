"""Wrong versions of the closed forms of group_sparse: the checks that name a function must fail
under each.

A row is (theory, module, function, build): build(original) returns the wrong version.
"""

import jax
import jax.numpy as jnp

from jaxtheory.core.config import Config
from jaxtheory.theories.group_sparse import calculus, model

ROOM = "jaxtheory.theories.group_sparse"


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


# D + 1 for D where only its value is read
one_more_group = with_config(num_groups=lambda D: type(D)(D.cap + 1))


def tilted(original):
    """Encodings that are not orthogonal."""
    return lambda config: (lambda P: P + 0.1 * jnp.eye(len(P)))(original(config))


def shifted_labels(batch):
    return batch._replace(y=-batch.y)


def also_other_groups(original):
    """Every group is moved."""

    def wrong(batch, problem, config):
        after = original(batch, problem, config)
        return after._replace(x=after.x + jnp.sum(after.x - batch.x, axis=1, keepdims=True))

    return wrong


def at_the_other_rate(original):
    """eta and eta2 change places."""

    def wrong(key, t, state, batch, problem, config):
        rates = {"learning_rate": config.downstream_rate, "downstream_rate": config.learning_rate}
        return original(key, t, state, batch, problem, config.replace(**rates))

    return wrong


def not_centered(original):
    """Class means of A as it is, though its columns do not sum to 0."""

    def wrong(params, problem, config):
        A, means = model.positional(params, config)[3], calculus.classes(config)
        means = [jnp.sum(A * i) / jnp.sum(i) for i in means]
        return original(params, problem, config)._replace(
            selected=means[0], pull=means[1], own=means[2]
        )

    return wrong


def with_value(original):
    """The share of |v|^2 and |W|^2, not of |W|^2."""

    def wrong(params, problem, config):
        a, b, off = original(params, problem, config)
        W = sum(jnp.sum(x**2) for x in params[2:])
        return a, b, off * W / (W + params.v1 @ params.v1 + params.v2 @ params.v2)

    return wrong


def once_by_rho(original):
    """A moves at rho times its gradient, not rho^2."""

    def wrong(reduced, batch, problem, config):
        new, rho = original(reduced, batch, problem, config), (config.num_groups.cap + 1) / 2
        return new._replace(selected=new.selected / rho, pull=new.pull / rho, own=new.own / rho)

    return wrong


def other_truth(original):
    """v* and v~ change places."""

    def wrong(*args):
        swapped = [
            x._replace(truth=x.downstream_truth, downstream_truth=x.truth)
            if hasattr(x, "downstream_truth")
            else x
            for x in args
        ]
        return original(*swapped)

    return wrong


with_partition = with_config(partition=lambda kind: "contiguous")


def a_step_on(original):
    """The run from its second point on."""
    return lambda config, length: tuple(x[1:] for x in original(config, length + 1))


def square_root(original):
    """The square root in place of the third one."""
    return lambda t, config: original(t, config) ** 1.5


squared_noise = with_config(noise_scale=lambda sigma: sigma**2)

ROWS = [
    ("group_sparse", f"{ROOM}.{module}", name, build)
    for module, name, build in [
        ("calculus", "gradient", mean_over_queries),
        ("calculus", "gradient", changed(W11=jnp.transpose)),
        ("calculus", "gradient", changed(W22=jnp.transpose)),
        ("calculus", "gradient", changed(W21=jnp.zeros_like)),
        ("calculus", "gradient", changed(beta=lambda beta: beta[::-1])),
        ("model", "attend", rows_for_columns),
        ("model", "encodings", tilted),
        ("data", "problem", changed(train=shifted_labels)),
        ("data", "problem", with_config(relevant_group=next_group)),
        ("data", "problem", with_partition),
        ("data", "moved", with_config(relevant_group=next_group)),
        ("data", "moved", other_truth),
        ("data", "moved", also_other_groups),
        ("training", "step", at_the_other_rate),
        ("training", "downstream_step", one_late),
        ("training", "downstream_step", at_the_other_rate),
        (
            "training",
            "downstream_step",
            with_config(attention=lambda kind: "trained" if kind == "frozen" else "frozen"),
        ),
        ("training", "logistic_step", at_the_other_rate),
        ("training", "logistic_step", one_late),
        ("training", "fit_step", at_the_other_rate),
        ("training", "fit_step", one_late),
        ("training", "population_step", at_the_other_rate),
        ("calculus", "velocity", changed(own=jnp.zeros_like)),
        ("calculus", "velocity", once_by_rho),
        ("calculus", "embed", changed(W22=jnp.transpose)),
        ("calculus", "embed", other_truth),
        ("calculus", "project", not_centered),
        ("calculus", "project", other_truth),
        ("predictions", "structure", with_value),
        ("laws", "first_step", other_truth),
        ("laws", "first_step", squared_noise),
        ("laws", "selected_loss", squared_noise),
        ("laws", "selected_loss", one_more_group),
        ("laws", "selected_run", a_step_on),
        ("laws", "selected_run", one_more_group),
        ("laws", "growth", squared_noise),
        ("laws", "growth", square_root),
        ("laws", "decay", one_more_group),
        ("laws", "decay", square_root),
    ]
]

EXPLAINED = {
    f"{function}: array {i} x {factor}": "this block is zero"
    for function, blocks in {"embed": (1, 3, 4), "first_step": (1, 2, 3, 4, 5)}.items()
    for i in blocks
    for factor in ("-1", "0.9", "2")
}

# edits of the source that once nothing noticed: module, function, edit
KNOWN = [
    ("predictions", "selection", "params.beta ** 2 -> abs(params.beta)"),
    ("predictions", "predict", "L[times] -> L[times + 1]"),
]
