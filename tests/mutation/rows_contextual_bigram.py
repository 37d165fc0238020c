"""Wrong versions of contextual_bigram: negated, halved, transposed, a term missing, a neighbour's
formula.
"""

import jax
import jax.numpy as jnp

from jaxtheory.theories.contextual_bigram.model import Config, Params

ROOM = "jaxtheory.theories.contextual_bigram"


def scaled(factor):
    """Every array of the result times a factor."""
    return lambda original: (
        lambda *args, **options: jax.tree.map(lambda x: factor * x, original(*args, **options))
    )


negated, halved, doubled = scaled(-1), scaled(0.5), scaled(2)


def changed(**change):
    """Named fields of the result, each through a function."""

    def build(original):
        def wrong(*args, **options):
            result = original(*args, **options)
            return result._replace(**{name: f(getattr(result, name)) for name, f in change.items()})

        return wrong

    return build


def transposed_result(original):
    return lambda *args: original(*args).T


def with_config(**change):
    """The original at other hyper-parameters."""

    def build(original):
        replaced = lambda arg: arg.replace(**change) if isinstance(arg, Config) else arg
        return lambda *args, **options: original(*map(replaced, args), **options)

    return build


def with_problem(f):
    """The original on another task."""

    def build(original):
        other = lambda arg: f(arg) if hasattr(arg, "stationary") else arg
        return lambda *args, **options: original(*map(other, args), **options)

    return build


of_transposed_transition = with_problem(
    lambda problem: problem._replace(transition=problem.transition.T)
)
of_reversed_mu = with_problem(lambda problem: problem._replace(stationary=problem.stationary[::-1]))
of_reversed_context = with_problem(lambda problem: problem._replace(context=problem.context[::-1]))


def overshoot(original):
    """Twice the step, of A and V in the state."""

    def wrong(key, t, state, batch, problem, config):
        new = original(key, t, state, batch, problem, config)
        return jax.tree.map(lambda old, new: 2 * new - old, state, new)

    return wrong


def one_step_later(original):
    """Stages switch one step too early."""
    return lambda key, t, *rest: original(key, t + 1, *rest)


def without_prox(original):
    return lambda a, lam, config: original(a, 0 * lam, config)


def three_cases(original):
    """The other of the two maps."""
    other = {"two_case": "textbook", "textbook": "two_case", "simplex": "textbook"}
    return lambda a, lam, config: original(a, lam, config.replace(prox=other[config.prox]))


def along_rows(original):
    return lambda A, *rest: (
        original(A.T, *rest).T if A.shape[0] == A.shape[1] else -original(A, *rest)
    )


def kept_too_many(original):
    return lambda A, share, config: original(A, 0.5 * share, config)


def not_idempotent(original):
    return lambda A, share, config: 0.9 * original(A, share, config) + 0.1 * A


def first_token(original):
    """Every query is the first token."""

    def wrong(params, batch, problem, config):
        return original(params, batch._replace(query=0 * batch.query), problem, config)

    return wrong


def swapped(original):
    return lambda *args, **options: type(result := original(*args, **options))(*result[::-1])


def uniform_tokens(original):
    def wrong(key, problem, config):
        n = jnp.full_like(problem.stationary, 1 / len(problem.stationary))
        return original(key, problem._replace(stationary=n), config)

    return wrong


def flat_labels(original):
    def wrong(key, problem, config):
        return original(key, problem._replace(transition=problem.transition[:, ::-1]), config)

    return wrong


def never_dithered(original):
    return lambda mu, U, config: original(mu, 0 * U, config)


def reversed_window(original):
    return lambda key, problem, tokens, count, config: original(
        key, problem, tokens[::-1], count, config
    )


def one_more(original):
    return lambda *args: original(*args) + jnp.ones((), original(*args).dtype)


def without_noise(original):
    def wrong(params, noise, *rest):
        return original(params, jax.tree.map(jnp.zeros_like, noise), *rest)

    return wrong


def exchanged_rates(original):
    def wrong(params, noise, rates, *rest):
        return original(params, noise, Params(rates.value, rates.attention), *rest)

    return wrong


def plain_matrix(original):
    """The matrix itself in place of its factor."""
    return lambda R: R


def ignores_prox(original):
    return lambda length, problem, config, prox=False: original(length, problem, config)


def starts_late(original):
    """Each step seen one step too late."""

    def wrong(*args, **options):
        return jax.tree.map(lambda x: jnp.roll(x, 1), original(*args, **options))

    return wrong


def second_moments_swapped(original):
    return lambda params, problem, config: original(
        params._replace(attention=problem.context), problem, config
    )


def given_transposed(original):
    def wrong(key, config):
        return original(
            key,
            config
            if config.given is None
            else config.replace(given=tuple(zip(*config.given, strict=True))),
        )

    return wrong


def half_lambda(original):
    return lambda alpha, lam, *rest: original(alpha, 0.5 * lam, *rest)


def whole(original):
    """Nothing taken off."""
    return lambda params, *rest: params


def exchanged(original):
    """The two numbers exchanged, one doubled so that sum and product tell."""
    return lambda *args: original(*args)[::-1] * jnp.asarray([1.0, 2.0])


def of_transpose(original):
    return lambda P: original(P.T)


def result_with(f):
    """The resulting task, changed."""
    return lambda original: lambda *args: f(original(*args))


_TABLE = {
    "data": {
        "stationary": (of_transpose,),
        "problem": (
            given_transposed,
            result_with(lambda task: task._replace(transition=task.transition.T)),
            result_with(
                lambda task: task._replace(context=task.context + jnp.roll(task.context, 1, axis=0))
            ),
            result_with(
                lambda task: task._replace(pretrained=(task.pretrained + task.transition.T) / 2)
            ),
        ),
        "sample": (uniform_tokens, flat_labels, of_reversed_context),
        "thresholds": (never_dithered, one_more),
        "count_reached": (one_more,),
        "generate": (reversed_window, of_transposed_transition),
    },
    "model": {"loss": (doubled, first_token)},
    "calculus": {
        "gradient": (negated, halved, changed(value=jnp.transpose), first_token),
        "preconditioned": (negated, changed(value=jnp.transpose), of_reversed_mu),
        "softmax_gradient": (negated, halved),
        "soft_threshold": (without_prox, three_cases),
        "projected": (halved, along_rows),
        "on_simplex": (halved,),
        "rounded": (kept_too_many, not_idempotent),
    },
    "training": {
        "step": (overshoot, one_step_later, with_config(l1=0.0)),
        "sgd_step": (overshoot, with_config(learning_rate=0.3)),
        "sgd_plain_step": (overshoot,),
        "softmax_step": (overshoot, with_config(softmax_rate=0.5)),
        "refit_step": (overshoot, with_config(stage_threshold=0.9)),
        "transfer_step": (one_step_later, with_config(stage_threshold=0.9)),
        "noise_step": (overshoot,),
        "population_step": (overshoot, with_config(learning_rate=0.25)),
    },
    "laws.population": {
        "population_loss": (negated, halved, of_transposed_transition),
        "expected_gradient": (
            negated,
            halved,
            changed(value=jnp.transpose),
            of_transposed_transition,
        ),
        "expected_preconditioned": (negated, changed(value=jnp.transpose), of_reversed_context),
        "bayes_loss": (negated, of_transposed_transition),
        "excess_loss": (halved, of_transposed_transition),
        "attended_law": (halved, of_transposed_transition),
        "pair_law": (halved, of_transposed_transition),
        "alignment": (halved, swapped),
        "residual": (whole,),
        "projected_step": (without_noise, exchanged_rates, of_transposed_transition),
        "residual_step": (without_noise, exchanged_rates),
        "optimal_value": (halved, of_transposed_transition),
        "aligned": (halved, of_reversed_context),
        "excess_on_line": (halved,),
    },
    "laws.dynamics": {
        "path": (starts_late, swapped, ignores_prox),
        "sparsified": (negated, half_lambda),
        "early": (halved, swapped),
        "elapsed": (doubled,),
        "boosting_steps": (doubled,),
        "eigenvalues": (halved, exchanged),
    },
    "laws.noise": {
        "occupancy_moment": (halved, second_moments_swapped),
        "residual_moment": (halved, of_transposed_transition, second_moments_swapped),
        "attention_variance": (halved, of_transposed_transition),
        "factor": (plain_matrix, transposed_result),
        "draw": (doubled, changed(value=jnp.transpose)),
        "growth_noise": (halved, of_transposed_transition),
    },
    "laws.transfer": {
        "initial_alignment": (halved,),
        "first_rate": (doubled,),
        "step_spread": (doubled,),
        "step_recovery": (halved,),
    },
    "laws.bounds": {
        "threshold_bounds": (scaled(0.1),),
        "rounding_bound": (scaled(0.1),),
    },
}
ROWS = [
    ("contextual_bigram", f"{ROOM}.{module}", name, wrong)
    for module, functions in _TABLE.items()
    for name, several in functions.items()
    for wrong in several
]
