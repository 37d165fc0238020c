"""Wrong versions of nearest_neighbor: negated, halved, a factor 1/d or a term missing, the talk's
query logit.
"""

import jax
import jax.numpy as jnp

from jaxtheory.core.config import Size
from jaxtheory.theories.nearest_neighbor.model import Config, Full, Reduced

ROOM = "jaxtheory.theories.nearest_neighbor"


def scaled(factor):
    """Every array of the result times a factor."""
    return lambda original: lambda *args: jax.tree.map(lambda x: factor * x, original(*args))


negated, halved, doubled, tenth = scaled(-1), scaled(0.5), scaled(2), scaled(0.1)


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


def with_config(f):
    """The original at other hyper-parameters."""
    return lambda original: (
        lambda *args: original(*(f(arg) if isinstance(arg, Config) else arg for arg in args))
    )


def one_dimension_more(config):
    d = config.dimension
    return config.replace(dimension=Size(d.cap + 1, None if d.value is None else d.value + 1))


in_another_dimension = with_config(one_dimension_more)


def overshoot(original):
    """Twice the step."""

    def wrong(key, t, state, batch, problem, config):
        return jax.tree.map(
            lambda old, new: 2 * new - old, state, original(key, t, state, batch, problem, config)
        )

    return wrong


def as_in_the_talk(original):
    """-xi2 for the query."""

    def wrong(params, prompts):
        z = original(params, prompts)
        return z.at[:, -1].add(-params.xi1) if isinstance(params, Reduced) else z

    return wrong


def query_left_out(original):
    """Nothing for the query's own attention."""
    return lambda s, prompts: original(s, prompts).at[:, -1].set(0)


def transposed(original):
    """The query's vector on the left."""

    def wrong(*args):
        result = original(*args)
        return Full(result.W.T) if isinstance(result, Full) else result

    return wrong


def unchanged(original):
    return lambda prompts, *rest: prompts


def everything_flipped(original):
    return lambda prompts, *rest: prompts._replace(x=-prompts.x, t=-prompts.t)


def half_delta(original):
    return lambda prompts, delta, *rest: original(prompts, delta / 2, *rest)


def bound_of_half_delta(original):
    return lambda params, prompts, delta, config: original(params, prompts, 2 * delta + 0.5, config)


def absolute_labels(original):
    def wrong(*args):
        result = original(*args)
        return result if result.y is None else result._replace(y=jnp.abs(result.y))

    return wrong


def cube_of_half(original):
    return lambda t, config: original(t / 2, config)


_TABLE = {
    "model": {
        "loss": (doubled, halved),
        "squared_errors": (halved,),
        "logits": (as_in_the_talk,),
    },
    "data": {
        "draw_prompts": (changed(x=lambda x: 1.1 * x), in_another_dimension, absolute_labels),
        "problem": (
            changed(shift=lambda shift: shift._replace(t=shift.t / 2)),
            changed(test=lambda test: test._replace(nearest=0 * test.nearest)),
            changed(train=lambda train: train._replace(weight=2 * train.weight)),
        ),
        "flipped": (unchanged, everything_flipped, half_delta),
        "relabelled": (unchanged, half_delta),
        "inner_products": (halved, in_another_dimension),
        "fresh": (changed(t=lambda t: t / 2), in_another_dimension),
    },
    "calculus": {
        "logit_gradient": (negated, halved, query_left_out),
        "gradient": (negated, halved, transposed),
        "reduce": (halved, changed(xi2=jnp.negative)),
        "lift": (halved, negated),
        "rates": (doubled, changed(xi1=lambda rate: 1.5 * rate)),
        "off_structure": (halved,),
    },
    "training": {
        "step": (overshoot,),
        "literal_step": (overshoot,),
        "population_step": (overshoot,),
    },
    "laws.population": {
        "loss": (halved, in_another_dimension),
        "gradient": (negated, halved, in_another_dimension),
        "flow": (halved, changed(xi1=lambda v: 3 * v)),
        "gap_density": (halved, doubled),
        "power_laws": (halved, cube_of_half),
        "nearest_density": (halved, in_another_dimension),
        "valley": (halved, cube_of_half),
    },
    "laws.bounds": {
        "bound": (halved, bound_of_half_delta),
        "early_bound": (doubled, bound_of_half_delta),
        "shift_bound": (tenth,),
    },
}
ROWS = [
    ("nearest_neighbor", f"{ROOM}.{module}", name, wrong)
    for module, functions in _TABLE.items()
    for name, several in functions.items()
    for wrong in several
]
