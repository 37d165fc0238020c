"""Wrong versions of task_diversity: transposed, a term or a factor missing, another size, the wrong
branch.
"""

import jax.numpy as jnp

from jaxtheory.core.config import Size
from jaxtheory.theories.task_diversity import laws
from jaxtheory.theories.task_diversity.model import Batch, Config, Data, Params

ROOM = "jaxtheory.theories.task_diversity"


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


def _longer(config):
    size = config.length
    padded = size.value is not None
    more = Size(size.cap if padded else size.cap + 1, size.value + 1 if padded else None)
    return config.replace(length=more)


of_one_example_more = given(Data, _longer)
of_fresh_tasks = given(Data, lambda config: config.replace(tasks="fresh"))
without_noise = given(Data, lambda config: config.replace(noise_variance=0.0))
without_ridge = given(Config, lambda config: config.replace(ridge=0.0))
of_half_eta = given(Config, lambda c: c.replace(learning_rate=c.learning_rate / 2))
transposed = given(Params, lambda p: p._replace(Gamma=p.Gamma.T))
without_gamma = given(Params, lambda p: p._replace(gamma=jnp.zeros_like(p.gamma)))
without_squares = given(Batch, lambda b: b._replace(q=jnp.ones_like(b.q)))
doubled = result(lambda x: 2 * x)
twice_gamma = changed(Gamma=lambda x: 2 * x)
swapped = result(lambda pair: type(pair)(pair[1], pair[0]))


def of_other_branch(original):
    """The formula of the other side of tau = 1."""

    def wrong(config):
        scale = laws.scales(config)
        d = Size.wrap(config.dimension).cap
        other = max(1, d**2 // 2) if Size.wrap(config.num_prompts).cap > d**2 else 2 * d**2
        return original(config.replace(num_prompts=other)) + 0 * scale.tau

    return wrong


def of_least_squares(original):
    """All eigenvalues kept as they are: no term for the penalty."""
    return lambda found, shift: original(found, jnp.zeros_like(shift))


def one_step_later(original):
    return lambda found, t, shift, config: original(found, t + 1, shift, config)


def without_mean(original):
    """Tasks whose mean is zero."""

    def wrong(tasks, config):
        found = original(tasks, config)
        edge = jnp.zeros_like(found.second[0, 1:])
        second = found.second.at[0, 1:].set(edge).at[1:, 0].set(edge)
        return found._replace(second=second, cross=found.cross.at[:, 0].set(edge))

    return wrong


def ascending(original):
    """Ascent: the step in the other direction."""

    def wrong(*args):
        new, old = original(*args), args[2]
        return Params(*(2 * a - b for a, b in zip(old, new, strict=True)))

    return wrong


_TABLE = {
    "data": {"batch": (changed(beta=lambda x: x / 2), of_one_example_more)},
    "calculus": {
        "gradient": (transposed, without_gamma, without_squares, without_ridge),
        "minimum": (of_least_squares, twice_gamma),
        "descended": (of_half_eta, one_step_later, twice_gamma),
    },
    "laws": {
        "task_moments": (of_one_example_more, without_noise, without_mean),
        "fresh_moments": (of_one_example_more, without_noise),
        "errors": (transposed, without_gamma, swapped),
        "best": (of_one_example_more, without_noise),
        "bayes": (of_one_example_more, doubled),
        "stieltjes": (lambda f: lambda z, inverse: f(z, 2 * inverse),),
        "limit": (without_ridge, of_fresh_tasks, swapped),
        "published": (of_other_branch, of_fresh_tasks, without_noise),
        "equivalent": (without_ridge, swapped, of_one_example_more),
        "stopped": (of_half_eta, without_ridge),
    },
    "training": {"step": (ascending, of_half_eta), "on_ridge_path": (of_half_eta, without_ridge)},
    "model": {"output": (transposed, without_gamma, without_squares)},
}
ROWS = [
    ("task_diversity", f"{ROOM}.{module}", name, wrong)
    for module, functions in _TABLE.items()
    for name, several in functions.items()
    for wrong in several
]
_SYMMETRIC = "the law is symmetric: the negated array has the same one"
EXPLAINED = {"on_sphere: x -1": _SYMMETRIC, "prompts: x -1": _SYMMETRIC}
KNOWN = [
    ("data", "on_sphere", "norm > 0 -> norm >= 0"),
    ("data", "prompts", "noise * draws.normal(for_last, n) -> noise"),
    ("laws", "published", "tau > 1 -> tau >= 1"),
]
