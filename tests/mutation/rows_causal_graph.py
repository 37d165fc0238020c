"""Wrong versions of causal_graph: transposed, a term or a factor missing, the wrong token, state or
layer.
"""

import jax.numpy as jnp

from jaxtheory.theories.causal_graph.model import Config, Data, Params

ROOM = "jaxtheory.theories.causal_graph"


def changed(**change):
    """Named fields of the result, each through a function."""

    def build(original):
        def wrong(*args):
            result = original(*args)
            return result._replace(**{n: f(getattr(result, n)) for n, f in change.items()})

        return wrong

    return build


def given(kind, f):
    """The original with its arguments of a type through a function."""
    return lambda original: (
        lambda *args: original(*(f(arg) if isinstance(arg, kind) else arg for arg in args))
    )


def result(f):
    """The result through a function."""
    return lambda original: lambda *args: f(original(*args))


transposed_second = given(Params, lambda p: p._replace(A2=p.A2.T))
transposed_first = given(Params, lambda p: p._replace(A1=p.A1.T))
first_at_zero = given(Params, lambda p: p._replace(A1=jnp.zeros_like(p.A1)))
without_eps = given(Config, lambda c: c.replace(epsilon=1e-12))
of_twice_alpha = given(Data, lambda c: c.replace(concentration=2 * c.concentration))
of_half_eta = given(Config, lambda c: c.replace(learning_rate=c.learning_rate / 2))
with_swapped_rates = given(
    Config, lambda c: c.replace(learning_rate=c.second_rate, second_rate=c.learning_rate)
)
negative, doubled = result(jnp.negative), result(lambda x: 2 * x)
swapped = result(lambda pair: (pair[1], pair[0]))
without_one = result(lambda pair: tuple(jnp.where(x != 0, x + 1, 0) for x in pair))


def first_parent(original):
    """Each parent is the first token."""
    return lambda first, p, *rest: original(first, jnp.minimum(p, 1), *rest)


def uniform_law(original):
    """1/S for mu."""
    return lambda pi: jnp.ones_like(original(pi)) / pi.shape[1]


def of_the_transposed(original):
    """The law of the transposed matrix."""
    return lambda pi: original(pi.swapaxes(1, 2))


def without_prior(original):
    """The posterior mean with alpha = 0, near enough."""
    return given(Data, lambda c: c.replace(concentration=1e-9))(original)


def of_unigrams(original):
    """The level of pairs is that of single states."""

    def wrong(*args):
        found = original(*args)
        return found._replace(bigram=found.unigram)

    return wrong


def without_scale(original):
    """Laws without their 1 + S eps."""

    def wrong(batch, p, config):
        found = original(batch, p, config)
        more = jnp.log(1 + config.num_states.real * config.epsilon)
        return found._replace(bayes=found.bayes + more, entropy=found.entropy + more)

    return wrong


def of_the_information(original):
    """As the source states it."""
    return lambda problem, config: original(problem._replace(overlap=problem.information), config)


def ascending(original):
    """The step in the other direction."""

    def wrong(*args):
        new, old = original(*args), args[2]
        return Params(*(2 * b - a for a, b in zip(new, old, strict=True)))

    return wrong


def one_step_later(original):
    """The stage changes at tau + 1."""
    return lambda key, t, *rest: original(key, jnp.maximum(jnp.asarray(t) - 1, 0), *rest)


_TABLE = {
    "data": {
        "stationary": (uniform_law, of_the_transposed, negative),
        "information": (swapped, without_one, first_parent),
    },
    "calculus": {
        "gradient": (
            transposed_second,
            first_at_zero,
            without_eps,
            changed(A2=jnp.transpose),
            changed(A1=jnp.negative),
        ),
    },
    "laws": {
        "posterior": (without_prior, of_twice_alpha, first_parent),
        "levels": (of_unigrams, without_scale, without_eps, first_parent),
        "first_slope": (of_the_information, doubled),
    },
    "training": {
        "joint": (ascending, with_swapped_rates, of_half_eta),
        "two_stage": (ascending, with_swapped_rates, of_half_eta, one_step_later),
    },
    "model": {"first_attention": (transposed_first, first_at_zero)},
}
ROWS = [
    ("causal_graph", f"{ROOM}.{module}", name, wrong)
    for module, functions in _TABLE.items()
    for name, several in functions.items()
    for wrong in several
]
KNOWN = [
    (
        "data",
        "parents",
        "draws.uniform(key, T) * i.astype(jnp.float32) -> i.astype(jnp.float32)",
    ),
    ("data", "parents", "draws.uniform(key, T) * i.astype(jnp.float32) -> draws.uniform(key, T)"),
    (
        "data",
        "parents",
        "1 + (draws.uniform(key, T) * i.astype(jnp.float32)).astype(jnp.int32) -> 1",
    ),
    ("laws", "levels", "q > 0 -> q >= 0"),
    (
        "data",
        "information",
        "(up >= 0) & (indices(T.cap)[None, :] <= indices(T.cap)[:, None]) & T.mask()[:, None] -> "
        "(up >= 0) & (indices(T.cap)[None, :] <= indices(T.cap)[:, None])",
    ),
]
