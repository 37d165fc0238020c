"""Wrong versions of contextual_bigram: transposed, a term missing, a step off, a neighbor's
formula.
"""

import jax
import jax.numpy as jnp

from jaxtheory.theories.contextual_bigram import data, training
from jaxtheory.theories.contextual_bigram.laws import dynamics, population
from jaxtheory.theories.contextual_bigram.model import Config, Params

ROOM = "jaxtheory.theories.contextual_bigram"


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
    """Rows that sum to 1 in place of columns."""
    return lambda A, config: A + (1 - jnp.sum(A, axis=1, keepdims=True)) / A.shape[1]


def without_mean(original):
    """diag(a) g alone."""
    return lambda a, g: a * g


def clipped(original):
    """Positive parts over their sum, another way onto the simplex."""
    return lambda A, config: jnp.maximum(A, 0) / jnp.sum(jnp.maximum(A, 0), axis=0, keepdims=True)


def one_step_more(original):
    return lambda t, config: original(t + 1, config)


def logarithmic(original):
    """log(2 c / d) / eta, right for large c only."""
    return lambda level, problem, config: (
        jnp.log(2 * level / dynamics.drift(problem, config)) / config.learning_rate
    )


def of_exchanged_alphas(original):
    return lambda alpha, *rest: original(type(alpha)(*alpha[::-1]), *rest)


def without_level(original):
    """The term in |1 - alpha_A| missing: A moved along its line to alpha_A = 1."""

    def wrong(A, problem, config):
        alpha = population.alignment(Params(A, problem.transition), problem, config).attention
        return original(A + (1 - alpha) * (problem.context - 1 / len(A)), problem, config)

    return wrong


def without_draw(original):
    return training.population_step


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


def independent(original):
    """Fresh samples, nothing generated."""
    return data.sample


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
        "sequences": (independent, of_transposed_transition, of_reversed_context),
    },
    "model": {"loss": (first_token,)},
    "calculus": {
        "gradient": (changed(value=jnp.transpose), first_token),
        "preconditioned": (changed(value=jnp.transpose), of_reversed_mu),
        "softmax_gradient": (without_mean,),
        "soft_threshold": (without_prox, three_cases),
        "projected": (along_rows,),
        "on_simplex": (clipped,),
        "rounded": (kept_too_many, not_idempotent),
    },
    "training": {
        "noise_entry_step": (swapped, with_config(l1=0.0)),
        "step": (overshoot, one_step_later, with_config(l1=0.0)),
        "natural": (changed(value=jnp.transpose), of_reversed_mu),
        "sgd_plain_step": (overshoot,),
        "softmax_step": (overshoot, with_config(softmax_rate=0.5)),
        "refit_step": (overshoot, with_config(stage_threshold=0.9)),
        "transfer_step": (one_step_later, with_config(stage_threshold=0.9)),
        "noise_step": (overshoot, without_draw),
        "population_step": (overshoot, one_step_later),
    },
    "laws.population": {
        "population_loss": (of_transposed_transition,),
        "expected_gradient": (changed(value=jnp.transpose), of_transposed_transition),
        "expected_preconditioned": (changed(value=jnp.transpose), of_reversed_context),
        "bayes_loss": (of_transposed_transition,),
        "excess_loss": (of_transposed_transition,),
        "attended_law": (of_transposed_transition,),
        "pair_law": (of_transposed_transition,),
        "alignment": (swapped,),
        "residual": (whole,),
        "projected_step": (without_noise, exchanged_rates, of_transposed_transition),
        "residual_step": (without_noise, exchanged_rates),
        "optimal_value": (of_transposed_transition,),
        "aligned": (of_reversed_context,),
        "excess_on_line": (of_exchanged_alphas,),
    },
    "laws.dynamics": {
        "path": (starts_late, swapped, ignores_prox),
        "sparsified": (half_lambda,),
        "early": (swapped,),
        "elapsed": (one_step_more,),
        "boosting_steps": (logarithmic,),
        "eigenvalues": (exchanged,),
    },
    "laws.noise": {
        "occupancy_moment": (second_moments_swapped,),
        "residual_moment": (of_transposed_transition, second_moments_swapped),
        "attention_variance": (of_transposed_transition,),
        "factor": (plain_matrix, transposed_result),
        "draw": (changed(value=jnp.transpose),),
        "growth_noise": (of_transposed_transition,),
    },
    "laws.transfer": {
        "initial_alignment": (with_config(pretrained_weight=0.7),),
        "first_rate": (with_config(pretrained_weight=1.0),),
        "step_spread": (with_config(switch_step=1),),
        "step_recovery": (of_reversed_mu, with_config(stage_threshold=0.4)),
    },
    "laws.bounds": {
        "threshold_bounds": (without_level,),
        "rounding_bound": (without_level,),
    },
}
ROWS = [
    ("contextual_bigram", f"{ROOM}.{module}", name, wrong)
    for module, functions in _TABLE.items()
    for name, several in functions.items()
    for wrong in several
]
_SYMMETRIC = "normal draws have the law of their negative"
_ZERO = "alpha_A is 0"
EXPLAINED = {
    **dict.fromkeys(("draw: x -1", "draw: array 0 x -1", "draw: array 1 x -1"), _SYMMETRIC),
    **{f"initial_alignment: array 0 x {factor}": _ZERO for factor in (-1, 0.9, 2)},
}

# edits of the source that once nothing noticed: module, function, edit
KNOWN = [
    ("laws.dynamics", "cut", "background + alpha * jnp.max(problem.context) -> background"),
    ("data", "sequences", "T.n + 1 -> T.n - 1"),
]
