"""Wrong versions of nearest_neighbor: a term, a factor 1/d or an example missing, another
dimension, a transposed matrix, the talk's query logit.
"""

import jax.numpy as jnp

from jaxtheory.core.config import Size
from jaxtheory.theories.nearest_neighbor import data
from jaxtheory.theories.nearest_neighbor.model import Config, Full, Prompts, Reduced

ROOM = "jaxtheory.theories.nearest_neighbor"


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

    return given(Config, change)


in_another_dimension, of_one_example_more = larger("dimension"), larger("context")
without_start = given(Config, lambda config: config.replace(initial_alignment=0.0))
without_query = given(Reduced, lambda params: params._replace(xi2=jnp.full_like(params.xi2, 1e3)))
at_the_query = given(Prompts, lambda prompts: prompts._replace(t=jnp.ones_like(prompts.t)))
first_is_nearest = given(
    Prompts, lambda prompts: prompts._replace(nearest=jnp.zeros_like(prompts.nearest))
)


def at_rate_eta(original):
    """xi1 moves d times as fast: the 1/d of its rate is left out."""

    def wrong(*args):
        new, config = original(*args), args[-1]
        old = args[2] if len(args) > 2 else Reduced(0.0, 0.0)
        return new._replace(xi1=old.xi1 + config.dimension.real * (new.xi1 - old.xi1))

    return wrong


def of_the_other_rate(original):
    """The rates of xi1 and xi2 swapped."""

    def wrong(*args):
        new, config, old = original(*args), args[-1], args[2]
        d = config.dimension.real
        return Reduced(old.xi1 + d * (new.xi1 - old.xi1), old.xi2 + (new.xi2 - old.xi2) / d)

    return wrong


def as_in_the_talk(original):
    """-xi2 for the query."""

    def wrong(params, prompts):
        z = original(params, prompts)
        return z.at[-1].add(-params.xi1) if isinstance(params, Reduced) else z

    return wrong


def query_left_out(original):
    """Nothing for the query's own attention."""
    return lambda s, prompts: original(s, prompts).at[-1].set(0)


def without_its_mean(original):
    """s e for s e - s <s, e>."""

    def wrong(s, prompts):
        g = original(s, prompts)
        return g - s * g[-1:] / s[-1:]

    return wrong


def query_forgotten(original):
    """The query's own attention counts as none."""
    return lambda s, prompts: original(s.at[-1].set(0), prompts)


def transposed(original):
    """The query's vector on the left."""

    def wrong(*args):
        result = original(*args)
        return Full(result.W.T) if isinstance(result, Full) else result

    return wrong


def by_the_first_entry(original):
    """W_11's first entry for the mean of its diagonal."""

    def wrong(params, config):
        found = original(params, config)
        return found if isinstance(params, Reduced) else found._replace(xi1=params.W[0, 0])

    return wrong


def labels_too(original):
    """xi1 for the row of labels."""

    def wrong(params, config):
        W = original(params, config).W
        return Full(W.at[-2, -2].set(params.xi1))

    return wrong


def off_diagonal_alone(original):
    """The spread of the diagonal is left out."""

    def wrong(params, config):
        found = original(params, config)
        if not isinstance(params, Full):
            return found
        rest = params.W - jnp.diag(jnp.diag(params.W))
        return found | {"off_structure": jnp.sqrt(jnp.sum(rest**2))}

    return wrong


def unchanged(original):
    return lambda prompts, *rest: prompts


def everything_flipped(original):
    return lambda prompts, *rest: prompts._replace(x=-prompts.x, t=-prompts.t)


def half_delta(original):
    return lambda prompts, delta, *rest: original(prompts, delta / 2, *rest)


def bound_of_half_delta(original):
    return lambda params, prompts, delta, config: original(params, prompts, delta / 2, config)


def shift_bound_of_half_delta(original):
    return lambda params, delta, config: original(params, delta / 2, config)


def of_another_example(original):
    """2 R N for 2 R (N - 1)."""

    def wrong(params, prompts, delta, config):
        R = jnp.max(jnp.abs(prompts.y), axis=1)
        return original(params, prompts, delta, config) + 2 * R * jnp.exp(-params.xi1 * delta / 2)

    return wrong


def absolute_labels(original):
    def wrong(*args):
        result = original(*args)
        return result if result.y is None else result._replace(y=jnp.abs(result.y))

    return wrong


def cube_of_half(original):
    return lambda t, config: original(t / 2, config)


def swapped(original):
    return lambda *args: original(*args)[::-1]


def without_the_query(original):
    """The power law for the valley: d in place of d + r^2."""

    def wrong(t, config):
        xi1, xi2 = original(t, config)
        longer = jnp.cbrt(1 + (xi2 / xi1) ** 2 / config.dimension.real)
        return xi1 * longer, xi2 * longer

    return wrong


def shifted_test(original):
    """The tests under shift keep their query."""

    def wrong(*args):
        made = original(*args)
        return made._replace(shift=made.test)

    return wrong


def larger_distance(original):
    """i* the farthest example."""

    def wrong(*args):
        made, config = original(*args), args[-1]
        test = made.test
        return made._replace(test=test._replace(nearest=data.closest(-test.t, config)))

    return wrong


_TABLE = {
    "model": {
        "loss": (first_is_nearest,),
        "squared_errors": (first_is_nearest, query_forgotten),
        "logits": (as_in_the_talk,),
    },
    "data": {
        "draw_prompts": (in_another_dimension, absolute_labels),
        "problem": (shifted_test, larger_distance),
        "flipped": (unchanged, everything_flipped, half_delta),
        "relabeled": (unchanged, half_delta),
        "inner_products": (in_another_dimension,),
        "fresh": (in_another_dimension, of_one_example_more),
    },
    "calculus": {
        "logit_gradient": (query_left_out, without_its_mean, first_is_nearest),
        "gradient": (transposed, first_is_nearest),
        "reduce": (by_the_first_entry,),
        "lift": (labels_too, changed(W=lambda W: W.at[-1, -1].multiply(-1))),
        "rates": (at_rate_eta,),
        "off_structure": (off_diagonal_alone,),
    },
    "training": {
        "step": (at_rate_eta, of_the_other_rate),
        "natural": (first_is_nearest,),
        "literal_step": (transposed, first_is_nearest),
        "population_step": (at_rate_eta, of_the_other_rate),
    },
    "laws.population": {
        "loss": (in_another_dimension, of_one_example_more),
        "gradient": (in_another_dimension, of_one_example_more),
        "flow": (at_rate_eta,),
        "gap_density": (in_another_dimension, of_one_example_more),
        "power_laws": (cube_of_half, without_start, in_another_dimension),
        "log_nearest_density": (in_another_dimension, of_one_example_more),
        "valley": (cube_of_half, swapped, without_the_query),
    },
    "laws.bounds": {
        "bound": (bound_of_half_delta, at_the_query, without_query, of_another_example),
        "shift_bound": (shift_bound_of_half_delta, without_query, of_one_example_more),
    },
}
ROWS = [
    ("nearest_neighbor", f"{ROOM}.{module}", name, wrong)
    for module, functions in _TABLE.items()
    for name, several in functions.items()
    for wrong in several
]
_SYMMETRIC = "the law is symmetric: the negated array has the same one"
EXPLAINED = {"draw_prompts: array 3 x -1": _SYMMETRIC, "inner_products: x -1": _SYMMETRIC}

# edits of the source that once nothing noticed: module, function, edit
KNOWN = [
    (
        "predictions",
        "metrics",
        "model.logits(params, blind(test))[-1] -> model.logits(params, blind(test))[0]",
    ),
]
