"""Wrong versions of in_context_regression: transposed, a term or a factor missing, another size,
the wrong order or block.
"""

import jax.numpy as jnp

from jaxtheory.core.config import Size
from jaxtheory.theories.in_context_regression import laws
from jaxtheory.theories.in_context_regression.model import (
    Config,
    Data,
    Literal,
    Merged,
    Moments,
    Params,
    Separate,
)

ROOM = "jaxtheory.theories.in_context_regression"


def changed(**change):
    """Named fields of the result, each through a function."""

    def build(original):
        def wrong(*args):
            result = original(*args)
            found = {n: f(getattr(result, n)) for n, f in change.items() if hasattr(result, n)}
            return result._replace(**found)

        return wrong

    return build


def given(kind, f):
    """The original with its arguments of a type through a function."""
    return lambda original: (
        lambda *args: original(*(f(arg) if isinstance(arg, kind) else arg for arg in args))
    )


def larger(name):
    """One more of a size."""

    def change(config):
        size = getattr(config, name)
        padded = size.value is not None
        more = Size(size.cap if padded else size.cap + 1, size.value + 1 if padded else None)
        return config.replace(**{name: more})

    return given(Data, change)


of_one_example_more, of_one_head_more = larger("length"), larger("heads")
white = given(Data, lambda config: config.replace(spectrum=0.0))
without_in_weight_tasks = given(Data, lambda config: config.replace(in_weight_share=0.0))
of_trace_one = given(Data, lambda config: config.replace(total_variance=1.0))
of_twice_sigma = given(Config, lambda c: c.replace(initial_scale=2 * c.initial_scale))
of_half_eta = given(Config, lambda c: c.replace(learning_rate=c.learning_rate / 2))
of_the_other_form = given(
    Config, lambda c: c.replace(form="merged" if c.form == "separate" else "separate")
)
rising = lambda original: lambda config: original(config)[::-1]
descends = lambda original: lambda *args: _mirrored(original(*args), args[2])


def _mirrored(new, old):
    """Ascent: the step in the other direction."""
    return type(new)(*(2 * before - after for before, after in zip(old, new, strict=True)))


def by_index(original):
    """Eigenvalues d^a for (D + 1 - d)^a."""

    def wrong(config):
        D = Size.wrap(config.dimension)
        index = jnp.arange(1.0, D.cap + 1)
        weight = jnp.where(D.mask(), index**config.spectrum, 0)
        return config.total_variance * weight / jnp.sum(weight)

    return wrong


def not_scaled(original):
    """The eigenvalues without their trace."""
    return lambda config: original(config) / config.total_variance * config.dimension.real


def query_left_out(original):
    """S without the query's token."""

    def wrong(x, y, query, label, count, length):
        whole = original(x, y, query, label, count, length)
        return whole._replace(S=original(x, y, 0 * query, label, count, length).S)

    return wrong


def query_labeled(original):
    """The token of the query has its label."""

    def wrong(x, y, query, label, count, length):
        whole, N = original(x, y, query, label, count, length), Size.wrap(length).real
        one = jnp.concatenate([label[:, None], query], axis=1)
        own = jnp.pad(query, ((0, 0), (1, 0)))
        added = one[:, :, None] * one[:, None, :] - own[:, :, None] * own[:, None, :]
        return whole._replace(S=whole.S + added / N)

    return wrong


def over_all_tokens(original):
    """1 / (N + 1) for 1 / N."""
    return lambda *args: original(*args[:-1], Size.wrap(args[-1]).real + 1)


def label_last(original):
    """The order of the source."""

    def wrong(*args):
        whole = original(*args)
        return whole._replace(S=jnp.roll(whole.S, -1, axis=(1, 2)))

    return wrong


def noisy(original):
    """Labels with noise."""

    def wrong(*args):
        drawn = original(*args)
        return drawn._replace(y=drawn.y * (1 + 0.1 * jnp.sign(drawn.x[:, :, 0])))

    return wrong


def everything_fixed(original):
    return given(Data, lambda c: c.replace(in_weight_share=1.0))(original)


def one_task_alone(original):
    """No prompt has the fixed task."""
    return given(Data, lambda c: c.replace(in_weight_share=0.0))(original)


def labels_of_another_task(original):
    """The query's label has the sign of the other task."""
    return changed(label=jnp.negative)(original)


def heads_alike(original):
    """All heads have component 1."""

    def wrong(*args):
        params = original(*args)
        if not isinstance(params, Separate):
            return params
        first = jnp.zeros_like(params.K).at[:, :, 0].set(jnp.sum(params.K, axis=2))
        return params._replace(K=first, Q=first)

    return wrong


def not_over_root_of_D(original):
    """U, K and Q of the scale of v."""

    def wrong(*args):
        first, *rest = original(*args)
        D = args[-1].dimension.real
        return type(original(*args))(first, *(x * jnp.sqrt(jnp.asarray(D, float)) for x in rest))

    return wrong


def tied(original):
    """Queries are keys."""
    return given(Separate, lambda p: p._replace(Q=p.K))(original)


def first_head(original):
    """One head alone."""
    return given(Params, lambda p: type(p)(*(x.at[1:].set(0) for x in p)))(original)


def first_rank(original):
    """One of the R products of a head."""
    return given(Separate, lambda p: p._replace(K=p.K.at[:, 1:].set(0), Q=p.Q.at[:, 1:].set(0)))(
        original
    )


transposed_heads = given(
    Params,
    lambda p: (
        Separate(p.v, p.Q, p.K)
        if isinstance(p, Separate)
        else Merged(p.v, p.U.swapaxes(1, 2))
        if isinstance(p, Merged)
        else p
    ),
)


def in_another_block(original):
    """Literal weights with the label last."""
    return lambda *args: Literal(*(jnp.roll(x, -1, axis=1) for x in original(*args)))


def v_at_rest(original):
    """Gradients of v are left out."""
    return changed(v=jnp.zeros_like)(original)


def swapped(original):
    """The gradients of K and Q swapped."""

    def wrong(*args):
        found = original(*args)
        return Separate(found.v, found.Q, found.K) if isinstance(found, Separate) else found

    return wrong


def without_rest(original):
    """The blocks that make f even in w do not move."""

    def wrong(*args):
        found = original(*args)
        if not isinstance(found, Literal):
            return found
        return Literal(found.v.at[:, 1:].set(0), found.U.at[:, 0].set(0))

    return wrong


def not_applied(original):
    """The moments act on A without b."""
    return given(Moments, lambda m: m._replace(b=jnp.zeros_like(m.b)))(original)


def with_transposed_G(original):
    """G_ijkl for G_klij transposed in its first pair."""
    return given(Moments, lambda m: m._replace(G=m.G.swapaxes(1, 2)))(original)


transposed_b = given(Moments, lambda m: m._replace(b=m.b.T))
without_c = given(Moments, lambda m: m._replace(c=0.0))
of_equal_weights = lambda original: (
    lambda batch: original(batch._replace(weight=jnp.ones_like(batch.weight) / len(batch.weight)))
)


def of_N_alone(original):
    """E without tr(Lambda W) Lambda / N."""

    def wrong(task, config):
        law = original(task, config)
        N = jnp.asarray(config.length.real, float)
        return law._replace(E=(1 + 1 / N) * law.b)

    return wrong


def without_fourth_moments(original):
    """Lambda W Lambda for (1 + 1/N) Lambda W Lambda in E."""

    def wrong(task, config):
        law = original(task, config)
        return law._replace(E=law.E - law.b / jnp.asarray(config.length.real, float))

    return wrong


def white_trace(original):
    """E has tr Lambda for tr(Lambda W)."""

    def wrong(task, config):
        law = original(task, config)
        N = jnp.asarray(config.length.real, float)
        more = (config.total_variance - law.c) / N * jnp.diag(law.spectrum)
        return law._replace(E=law.E + more)

    return wrong


def of_the_other_side(original):
    """Lambda on the left and E on the right."""
    return lambda A, law: original(A.T, law)


def of_the_source_alone(original):
    """The minimum without in-weight tasks."""

    def wrong(law):
        e = jnp.diag(law.E) / law.spectrum
        return jnp.diag(jnp.where(law.spectrum > 0, law.spectrum / e, 0))

    return wrong


def shifted(original):
    """The losses one level later."""
    return lambda config: jnp.roll(original(config), 1)


def smallest_first(original):
    """The components in the other order."""

    def wrong(config):
        levels = original(config)
        gains = levels[:-1] - levels[1:]
        first = levels[:1]
        return jnp.concatenate([first, first - jnp.cumsum(gains[::-1])])

    return wrong


def of_all_trace(original):
    """Levels of an infinite prompt: lambda_d for lambda_d^2 a_d."""

    def wrong(config):
        spectrum = jnp.cumsum(laws.model.eigenvalues(config))
        return config.total_variance - jnp.concatenate([jnp.zeros(1), spectrum])

    return wrong


def one_step_later(original):
    return lambda config, count: original(config, count + 1)[1:]


def at_half_the_time(original):
    return lambda t, config: original(t / 2, config)


def at_curvature_of_the_diagonal(original):
    """The directions off the diagonal are left out."""

    def wrong(config):
        a, _ = laws.shares(config)
        spectrum = laws.model.eigenvalues(config)
        n = laws.heads_of(config)
        if config.form == "separate":
            return jnp.max(6 * spectrum**2 / a * n * jnp.cbrt(a / n) ** 4)
        norm = jnp.sqrt(jnp.sum(a**2))
        return jnp.max(2 * spectrum**2 / a) * norm

    return wrong


def of_one_head_per_component(original):
    """The curvature with n_d = 1."""
    return given(Config, lambda c: c.replace(heads=Size.wrap(c.dimension).cap))(original)


def of_log_time(original):
    """The time of the logistic curve."""

    def wrong(config):
        return original(config) * jnp.log(1 / config.initial_scale)

    return wrong


def of_lambda(original):
    """lambda_d for lambda_d^2."""

    def wrong(config):
        return original(config) * laws.model.eigenvalues(config)

    return wrong


def of_train_loss(original):
    """Excess over the loss 0."""

    def wrong(*args):
        found = original(*args)
        return found | {"excess": found["loss"]}

    return wrong


def without_division(original):
    """Components in the units of A."""

    def wrong(*args):
        found = original(*args)
        a, _ = laws.shares(args[-1])
        return found | {"components": found["components"] * a}

    return wrong


def of_half_learned(original):
    """Components of at least 1.1."""

    def wrong(*args):
        found = original(*args)
        return found | {"learned": jnp.sum(found["components"] >= 1.1).astype(float)}

    return wrong


def on_the_diagonal(original):
    """off_diagonal the share of the diagonal."""

    def wrong(*args):
        found = original(*args)
        return found | {"off_diagonal": 1 - found["off_diagonal"]}

    return wrong


_TABLE = {
    "model": {
        "eigenvalues": (white, by_index, not_scaled, rising, of_trace_one),
        "init": (heads_alike, not_over_root_of_D, of_twice_sigma, v_at_rest),
        "output": (transposed_heads, first_head, first_rank, tied),
        "literal": (in_another_block, transposed_heads, first_rank, first_head),
    },
    "data": {
        "batch": (query_left_out, query_labeled, over_all_tokens, label_last),
        "prompts": (noisy, everything_fixed, one_task_alone, labels_of_another_task),
        "moments": (of_equal_weights, changed(b=jnp.transpose), changed(c=jnp.sqrt)),
    },
    "calculus": {
        "gradient": (transposed_heads, v_at_rest, swapped, without_rest, first_rank, first_head),
    },
    "laws": {
        "population": (
            of_N_alone,
            without_fourth_moments,
            white_trace,
            without_in_weight_tasks,
            of_one_example_more,
            white,
        ),
        "minimum": (of_the_source_alone,),
        "plateaus": (shifted, smallest_first, of_all_trace, of_one_example_more, white),
        "aligned_run": (one_step_later, of_one_head_more, of_twice_sigma, of_half_eta),
        "logistic": (at_half_the_time, of_one_head_more, of_one_example_more, of_twice_sigma),
        "curvature": (
            of_one_example_more,
            at_curvature_of_the_diagonal,
            of_one_head_per_component,
            of_the_other_form,
        ),
        "escape_steps": (of_log_time, of_lambda, of_half_eta, of_twice_sigma),
    },
    "training": {
        "step": (v_at_rest, swapped, of_half_eta),
        "population_step": (v_at_rest, swapped, of_half_eta, without_in_weight_tasks),
    },
    "predictions": {
        "metrics": (of_train_loss, without_division, of_half_learned, on_the_diagonal),
    },
}
ROWS = [
    ("in_context_regression", f"{ROOM}.{module}", name, wrong)
    for module, functions in _TABLE.items()
    for name, several in functions.items()
    for wrong in several
]
EXPLAINED = {
    "prompts: x -1": "the law is symmetric: the negated arrays have the same one",
    "literal: x -1": "f reads products of v and U, which both change their sign",
}

# edits of the source that once nothing noticed: module, function, edit
KNOWN = [
    (
        "laws",
        "_of_rank_one",
        "jnp.asarray(config.form != 'separate') | (jnp.asarray(config.rank.n) == 1) -> "
        "jnp.asarray(config.rank.n) == 1",
    ),
    ("predictions", "predict", "white & aligned & merged -> white & aligned"),
    ("predictions", "predict", "plain & aligned -> aligned"),
]
