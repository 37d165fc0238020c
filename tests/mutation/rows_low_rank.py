"""Wrong versions of low_rank: negated, halved, transposed, a term missing, the wrong class, order
or scale.
"""

import jax
import jax.numpy as jnp

from jaxtheory.theories.low_rank.model import Batch, Config, Params, Problem

ROOM = "jaxtheory.theories.low_rank"


def scaled(factor):
    """Every real array of the result times a factor."""
    times = lambda x: factor * x if jnp.issubdtype(x.dtype, jnp.floating) else x
    return lambda original: lambda *args, **options: jax.tree.map(times, original(*args, **options))


negated, halved, doubled = scaled(-1), scaled(0.5), scaled(2)


def changed(**change):
    """Named fields of the result, each through a function."""

    def build(original):
        def wrong(*args, **options):
            result = original(*args, **options)
            return result._replace(**{name: f(getattr(result, name)) for name, f in change.items()})

        return wrong

    return build


def given(kind, f):
    """The original with its argument of a kind changed."""
    return lambda original: (
        lambda *args: original(*(f(arg) if isinstance(arg, kind) else arg for arg in args))
    )


def with_config(**change):
    return given(Config, lambda config: config.replace(**change))


def result(f):
    """The result, changed."""
    return lambda original: lambda *args, **options: f(original(*args, **options))


def overshoot(original):
    """Twice the step."""

    def wrong(key, t, state, *rest):
        return jax.tree.map(lambda old, new: 2 * new - old, state, original(key, t, state, *rest))

    return wrong


next_class = given(Batch, lambda batch: batch._replace(label=(batch.label + 1) % 2))
next_test_class = given(
    Problem, lambda made: made._replace(test=made.test._replace(label=(made.test.label + 1) % 2))
)
shared_signs = given(Problem, lambda made: made._replace(signs=jnp.roll(made.signs, 1, axis=1)))
other_start = given(Problem, lambda made: made._replace(normal=2 * made.normal))
turned = given(Problem, lambda made: made._replace(patterns=made.patterns[::-1]))
all_queries = with_config(num_queries=0)
more_queries = with_config(num_queries=2)
swapped_queries = given(Params, lambda p: p._replace(query=p.key, key=p.query))
uniform_attention = given(Params, lambda p: p._replace(query=0 * p.query))


def first_field(f):
    """The first of several results through a function."""
    return result(lambda found: (f(found[0]), *found[1:]))


def last_field(f):
    return result(lambda found: (*found[:-1], f(found[-1])))


def middle_field(f):
    return result(lambda found: (found[0], f(found[1]), *found[2:]))


def one_more(original):
    return lambda *args: original(*args) + jnp.ones((), original(*args).dtype)


def entry(name, f):
    """One entry of a dictionary."""
    return result(lambda found: found | {name: f(found[name])})


def first_samples(original):
    """Always the same batch."""
    return lambda key, problem, config: original(jax.random.key(0, impl="rbg"), problem, config)


def with_repetition(original):
    def wrong(key, problem, config):
        batch = original(key, problem, config)
        return Batch(*(x.at[1].set(x[0]) for x in batch))

    return wrong


def last_column_first(original):
    return result(lambda W: W[..., ::-1])(original)


flipped = result(lambda x: x[::-1])

_TABLE = {
    "data": {
        "one_sample": (
            last_field(lambda pattern: pattern.at[0].set(0)),
            middle_field(lambda label: 1 - label),
            with_config(num_confusion=0, counts="exact"),
        ),
        "tokens_of": (
            scaled(1.1),
            given(
                jax.Array,
                lambda x: 0.8 * x if jnp.issubdtype(x.dtype, jnp.floating) and x.ndim == 2 else x,
            ),
        ),
        "datasets": (with_config(labels="random"),),
        "patterns": (with_config(coherence=0.3), halved),
        "rotation": (scaled(1.01), one_more),
        "sample": (first_samples, with_repetition, changed(weight=lambda w: 2 * w)),
        "start": (first_field(jnp.abs), middle_field(lambda x: 1.5 * x)),
        "class_means": (halved, turned, with_config(num_irrelevant_each=0)),
    },
    "model": {
        "initial": (halved, changed(value=lambda x: 2 * x), changed(key=lambda x: -x), other_start),
        "forward": (
            shared_signs,
            swapped_queries,
            uniform_attention,
            all_queries,
            more_queries,
            with_config(output="shared"),
        ),
        "loss": (negated, halved, next_class, shared_signs),
    },
    "calculus": {
        "gradient": (
            negated,
            halved,
            next_class,
            changed(query=lambda x: -x),
            changed(key=lambda x: x[..., ::-1]),
            changed(value=lambda x: x[..., ::-1, :]),
            changed(output=lambda x: x[::-1]),
            shared_signs,
            uniform_attention,
            all_queries,
        ),
        "balance_drift": (doubled, flipped, other_start),
    },
    "training": {
        "step": (overshoot, with_config(learning_rate=0.123), next_class),
        "lora_step": (overshoot, with_config(learning_rate=0.123)),
        "init_lora": (
            changed(down=lambda p: jax.tree.map(lambda x: 2 * x, p)),
            changed(up=lambda p: jax.tree.map(lambda x: x + jnp.ones_like(x), p)),
        ),
    },
    "analyses.attention": {
        "attention_mass": (halved, first_field(lambda x: 2 * x), last_field(lambda x: 2 * x)),
        "head_loss": (flipped, doubled),
    },
    "analyses.pruning": {
        "contributions": (negated, halved, shared_signs, all_queries),
        "curves": (
            flipped,
            other_start,
            next_test_class,
            result(lambda x: x[:, ::-1]),
            result(lambda x: jnp.roll(x, 40, axis=0)),
        ),
        "removed": (one_more,),
    },
    "analyses.ranks": {
        "singular_values": (doubled, last_column_first),
        "gap_rank": (one_more,),
        "truncation": (
            entry("truncated_loss", lambda x: x[::-1]),
            entry("truncated_attention", halved.__call__(lambda x: x)),
            entry("alone_truncated_loss", lambda x: jnp.roll(x, 1)),
            entry("pruned_truncated_loss", lambda x: x[::-1]),
            other_start,
        ),
    },
    "analyses.neurons": {
        "projections": (negated, turned, result(lambda x: x.mT)),
        "activity": (negated, turned),
        "small_set": (halved, first_field(lambda x: 1 - x)),
    },
    "laws": {
        "relevant_share": (halved, with_config(num_confusion=0)),
        "dead_fraction": (halved, result(lambda x: 0.5 - x), with_config(num_irrelevant_each=0)),
        "small_fraction": (halved, result(lambda x: 1 - x), with_config(num_irrelevant_each=0)),
        "ranks": (one_more, flipped, with_config(occurrence="together")),
        "first_step": (
            negated,
            halved,
            changed(query=lambda x: -x),
            changed(key=lambda x: x.mT if x.shape[-1] == x.shape[-2] else -x),
        ),
        "noiseless_null": (halved, with_config(coherence=0.9)),
    },
}
ROWS = [
    ("low_rank", f"{ROOM}.{module}", name, wrong)
    for module, functions in _TABLE.items()
    for name, several in functions.items()
    for wrong in several
]
