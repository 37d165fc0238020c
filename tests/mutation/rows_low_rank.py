"""Wrong versions of low_rank: transposed, a term missing, the wrong class, order or index."""

import inspect
import textwrap

import jax
import jax.numpy as jnp

from jaxtheory.theories.low_rank.model import Batch, Config, Params, Problem

ROOM = "jaxtheory.theories.low_rank"


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


flipped = result(lambda x: x[::-1])


def source_with(*changes):
    """The function with some of its text changed."""

    def build(original):
        text = textwrap.dedent(inspect.getsource(original))
        for old, new in changes:
            assert text.count(old) >= 1, old
            text = text.replace(old, new)
        space = dict(vars(inspect.getmodule(original)))
        exec(text, space)
        return space[original.__name__]

    build.__name__ = changes[0][0]
    return build


def edit(old, new):
    return source_with((old, new))


_TABLE = {
    "data": {
        "one_sample": (
            last_field(lambda pattern: pattern.at[0].set(0)),
            middle_field(lambda label: 1 - label),
            with_config(num_confusion=0, counts="exact"),
            edit("2 * votes >= both", "2 * votes > both + 1"),
        ),
        "tokens_of": (
            given(
                jax.Array,
                lambda x: 0.8 * x if jnp.issubdtype(x.dtype, jnp.floating) and x.ndim == 2 else x,
            ),
            edit("_unit(z) if", "z if"),
        ),
        "datasets": (with_config(labels="random"),),
        "patterns": (with_config(coherence=0.3), edit("jnp.sqrt(1 - c**2)", "(1 - c)")),
        "rotation": (one_more, edit("range(2)", "range(0)")),
        "sample": (first_samples, with_repetition),
        "start": (first_field(jnp.abs),),
        "class_means": (
            turned,
            with_config(num_irrelevant_each=0),
            edit("C.real - 1", "C.real"),
            edit("members / count", "members"),
        ),
    },
    "model": {
        "initial": (
            other_start,
            edit("delta / H", "delta"),
            edit("config.value_ratio * ", ""),
            edit("[:, None] * q.n", "[:, None] * 0"),
        ),
        "forward": (
            shared_signs,
            swapped_queries,
            uniform_attention,
            all_queries,
            more_queries,
            with_config(output="shared"),
            edit('jnp.einsum("bhlq,bhjq->bhlj", q, k)', 'jnp.einsum("bhlq,bhjq->bhjl", q, k)'),
            edit("X = X + (", "X = ("),
        ),
        "loss": (next_class, shared_signs, edit("config).F", "config).F - 0.1")),
    },
    "calculus": {
        "gradient": (
            next_class,
            changed(key=lambda x: x[..., ::-1]),
            changed(value=lambda x: x[..., ::-1, :]),
            changed(output=lambda x: x[::-1]),
            shared_signs,
            uniform_attention,
            all_queries,
            edit("D if layer + 1 < config.num_layers else 0", "0"),
            swapped_queries,
            edit("e, k)", "p, k)"),
        ),
        "balance_drift": (flipped, other_start, edit("(a - a0) - (b - b0)", "a - b")),
    },
    "training": {
        "lora_step": (with_config(learning_rate=0.123), next_class),
        "init_lora": (
            changed(up=lambda p: jax.tree.map(lambda x: x + jnp.ones_like(x), p)),
            edit("n.real", "r.real"),
        ),
    },
    "analyses.attention": {
        "attention_mass": (
            edit('"bhlj,bj->bhl"', '"bhlj,bl->bhj"'),
            edit("jnp.maximum(count, 1)", "L.real"),
        ),
        "head_loss": (
            flipped,
            edit("rank < n", "rank >= n"),
            edit("params.value**2", "params.value"),
        ),
    },
    "analyses.pruning": {
        "contributions": (shared_signs, all_queries),
        "curves": (
            flipped,
            other_start,
            next_test_class,
            result(lambda x: x[:, ::-1]),
            result(lambda x: jnp.roll(x, 40, axis=0)),
            result(lambda x: jnp.roll(x, 1, axis=0)),
        ),
        "order": (
            lambda original: lambda s, shown: jnp.argsort(jnp.where(shown, s, jnp.inf), axis=-1),
            edit("+ first, axis=-1), axis=-1)", "- first, axis=-1), axis=-1)"),
        ),
        "removed": (one_more, edit("+ STEPS) //", "+ STEPS - 1) //")),
    },
    "analyses.ranks": {
        "singular_values": (flipped, result(lambda s: s[:, ::-1])),
        "gap_rank": (one_more, edit("+ 1 < limit", "+ 1 <= limit"), edit("0.03 *", "0.6 *")),
        "truncation": (
            entry("truncated_loss", lambda x: x[::-1]),
            entry("truncated_error", lambda x: 1 - x),
            entry("alone_truncated_loss", lambda x: jnp.roll(x, 1)),
            entry("pruned_truncated_loss", lambda x: x[::-1]),
            other_start,
        ),
    },
    "analyses.neurons": {
        "projections": (turned, result(lambda x: x.mT), edit("delta.value[-1]", "delta.value[0]")),
        "activity": (turned, edit("jnp.sum(params.value[-1], axis=0)", "params.value[-1][0]")),
        "small_set": (first_field(lambda x: 1 - x), edit("place[best]", "best")),
    },
    "laws": {
        "relevant_share": (
            with_config(num_confusion=0),
            edit("jnp.maximum(b, rest)", "b"),
            edit("b <= n", "b < n"),
        ),
        "dead_fraction": (result(lambda x: 0.5 - x), with_config(num_irrelevant_each=0)),
        "small_fraction": (
            result(lambda x: 1 - x),
            with_config(num_irrelevant_each=0),
            edit("config.dimension.real", "config.value_dim.real + 1"),
        ),
        "ranks": (one_more, flipped, with_config(occurrence="together")),
        "first_step": (
            changed(key=lambda x: x.mT if x.shape[-1] == x.shape[-2] else -x),
            edit(" - mean[:, :, None] * mean[:, None, :]", ""),
            edit("X, X) / L", "X, X)"),
        ),
        "noiseless_null": (with_config(coherence=0.9), edit("j < 2", "j < 1")),
    },
}
ROWS = [
    ("low_rank", f"{ROOM}.{module}", name, wrong)
    for module, functions in _TABLE.items()
    for name, several in functions.items()
    for wrong in several
]
SYMMETRIC, ZERO = "a normal entry or a fair sign has a symmetric law", "B starts at zero"
EXPLAINED = {
    "gradient: D if layer + 1 < config.num_layers else 0": "shows from three layers on, which "
    "tests/reference compares",
    "init_lora: x -1": SYMMETRIC,
    **{f"start: array {i} x -1": SYMMETRIC for i in (0, 1)},
    **{f"init_lora: array {i} x -1": SYMMETRIC for i in (4, 5, 6, 7)},
    **{f"init_lora: array {i} x {f}": ZERO for i in (0, 1, 2, 3) for f in ("-1", "0.9", "2")},
}

# an edit of the source that once nothing noticed: module, function, edit
KNOWN = [
    (
        "data",
        "datasets",
        "(train.label + 1) % config.num_classes.n -> (train.label + 1) % 2",
    ),
]
