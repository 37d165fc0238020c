"""Wrong versions of attention_pruning: negated, halved or doubled, transposed, or with a term
missing.
"""

import functools

import jax
import jax.numpy as jnp

ROOM = "jaxtheory.theories.attention_pruning"


def of_result(change):
    """A builder of wrong functions that change the original's result, entry by entry
    of its pytree.
    """

    @functools.wraps(change)
    def wrong(original):
        if not callable(original):
            return change(original)
        return lambda *args, **options: jax.tree.map(change, original(*args, **options))

    return wrong


@of_result
def negated(x):
    return -x


@of_result
def halved(x):
    return x / 2


@of_result
def doubled(x):
    return 2 * x


@of_result
def transposed(x):
    return x.T


def without_regularization(original):
    return lambda params, batch, problem, config, *known: original(
        params, batch, problem, config.replace(regularization=0.0), *known
    )


def without_residual_term(original):
    """The Hessian without the residual's own curvature (Gauss-Newton)."""
    return lambda f, c, s: original(f, 0 * c, s)


def ascending(original):
    def step(key, t, state, batch, problem, config):
        new = original(key, t, state, batch, problem, config)
        return new._replace(params=jax.tree.map(lambda a, b: 2 * a - b, state.params, new.params))

    return step


def without_momentum(original):
    return lambda key, t, state, batch, problem, config: original(
        key, t, state, batch, problem, config.replace(momentum=0.0)
    )


def one_more(original):
    return lambda ratio, n: original(ratio, n) + 1


def rounded_down(original):
    """floor(rho n) as floats give it: .29 of 100 becomes 28."""
    return lambda ratio, n: jnp.floor(ratio * jnp.asarray(n, float)).astype(int)


def largest_first(original):
    return lambda scores, *rest: original(-scores, *rest)


def last_tie_first(original):
    return lambda scores, ratio, valid: original(scores[::-1, ::-1], ratio, valid)[::-1, ::-1]


def always_one(original):
    return lambda z, f_star, mask: jnp.ones((), z.dtype)


def along_rows(original):
    return lambda weights, gram, config: original(weights.T, gram, config).T


def without_update(original):
    return lambda weights, gram, config: jnp.where(original(weights, gram, config) == 0, 0, weights)


def without_floor(original):
    """xi with the wrong sign: the inequality without its slack."""

    def chain(delta, batch, problem, config):
        right = original(delta, batch, problem, config)
        return right._replace(xi=-right.xi)

    return chain


def _rows(file, functions):
    return [
        ("attention_pruning", f"{ROOM}.{file}", name, wrong)
        for name, several in functions.items()
        for wrong in several
    ]


ROWS = [
    *_rows(
        "calculus",
        {
            "logit_gradient": (negated, halved),
            "logit_hessian": (negated, without_residual_term),
            "gradient": (negated, halved, transposed, without_regularization),
            "hessian_vector_product": (negated, transposed),
            "saliency": (negated, halved),
            "curvature_score": (halved, transposed),
            "hessian_norm": (doubled,),
        },
    ),
    *_rows("training", {"step": (ascending, without_momentum)}),
    *_rows(
        "analyses.pruning",
        {
            "count": (one_more, rounded_down),
            "binarise": (largest_first, last_tie_first),
            "doubled": (halved,),
            "best_logit_factor": (always_one,),
        },
    ),
    *_rows(
        "analyses.baselines",
        {"wanda": (along_rows,), "magnitude": (negated,), "sparsegpt": (without_update,)},
    ),
    *_rows(
        "laws",
        {
            "mask_norm": (halved,),
            "attention_norm": (halved,),
            "residual_norm": (negated,),
            "logit_gradient_norm": (negated,),
            "gradient_norm": (halved,),
            "log_attention_floor": (negated,),
            "lipschitz": (negated,),
            "ROW_CURVATURE": (negated,),
            "SHARP_ROW_CURVATURE": (halved,),
            "two_entry_curvature": (halved,),
            "smallest_attention": (doubled,),
            "gram_floor": (doubled,),
            "smallest_weight": (doubled,),
            "chain": (without_floor,),
            "descent": (halved,),
            "convergence": (negated,),
        },
    ),
]
