"""`verify` holds the slot `gradient` of a theory from outside against autodiff of its loss."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import worked_example
from helpers.worked_example import MODULE, THEORY, Config

import jaxtheory
from jaxtheory.theories import get
from jaxtheory.verification import theory_gradient, verify
from jaxtheory.verification.verify import vary_config

EXAMPLES = (Config(dimension=3, batch_size=2), Config(dimension=1, batch_size=1))


def half(params, batch, problem, config):
    return MODULE.Params(THEORY.gradient(params, batch, problem, config).weights / 2)


def wrong_where_noisy(params, batch, problem, config):
    right = THEORY.gradient(params, batch, problem, config).weights
    return MODULE.Params(right * jnp.where(config.noise == 0.1, 1, -1))


def as_dictionary(params, batch, problem, config):
    return {"weights": params.weights}


def transposed(params, batch, problem, config):
    return MODULE.Params(jnp.ones((2, config.dimension.cap)))


def not_finite(params, batch, problem, config):
    return MODULE.Params(params.weights * jnp.nan)


WRONG = {
    "half": (half, "factor 0.5, in all of weights"),
    "variation": (wrong_where_noisy, "the sign is wrong, factor -1, in all of weights"),
    "structure": (as_dictionary, "expected the structure of params"),
    "shape": (transposed, "the gradient of weights has shape (2, 3)"),
    "NaN": (not_finite, "it is not finite somewhere"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_gradient_is_named(case):
    gradient, words = WRONG[case]
    theory = THEORY._replace(gradient=gradient)
    varied = verify.vary_config(theory, EXAMPLES[0], 0, 3, np.float64)
    row = verify._gradient_row(theory, 0, varied)
    assert not row.passed and words in row.remark and "\n" not in row.remark


def test_verify_has_a_row_for_each_example_with_or_without_checks():
    theory = THEORY._replace(gradient=half, examples=EXAMPLES, checks=())
    rows = [row for row in jaxtheory.verify(theory).checks if row.check == "gradient"]
    assert [(row.example, row.passed, row.source) for row in rows] == [
        (0, False, "autodiff of loss"),
        (1, False, "autodiff of loss"),
    ]
    assert rows[0].remark.startswith("entry (") and "autodiff" in rows[0].remark


def test_the_rooms_agree_and_are_held_by_checks_of_their_own():
    room = get("nearest_neighbor")
    varied = verify.vary_config(room, room.examples[0], 0, 2, np.float64)
    assert theory_gradient.compare_slot(room, varied).error < 1e-12
    assert not any(row.check == "gradient" for row in jaxtheory.verify(room, only=[]).checks)


def without_effect(params, batch, problem, config):
    """A loss that no parameter changes: autodiff is zero up to rounding."""
    return jnp.sum(jax.nn.softmax(params.weights)) * 7


@pytest.mark.parametrize(("closed", "agrees"), [(0.0, True), (1e-12, False)])
def test_a_gradient_that_is_zero_is_so_up_to_rounding(closed, agrees):
    gradient = lambda params, *args: jax.tree.map(lambda w: jnp.full_like(w, closed), params)
    theory = worked_example.THEORY._replace(loss=without_effect, gradient=gradient, checks=())
    varied = vary_config(theory, theory.Config(dimension=3), 0, 3, np.float64)
    comparison = theory_gradient.compare_slot(theory, varied)
    assert comparison.agrees == agrees == (comparison.error <= theory_gradient.TOLERANCE)


@jax.custom_vjp
def tripled(x):
    return jnp.sum(x**2) / 2


tripled.defvjp(lambda x: (tripled(x), x), lambda x, g: (3 * g * x,))


@jax.custom_jvp
def one_entry(x):
    """A sum whose rule doubles the slope of the last entry alone."""
    return jnp.sum(x**2) / 2


one_entry.defjvp(lambda xs, ts: (one_entry(*xs), jnp.vdot(xs[0].at[-1].multiply(2), ts[0])))
half_gradient = lambda x: jnp.sum(jax.lax.stop_gradient(x) * x)
straight = lambda x: jnp.sum((x + jax.lax.stop_gradient(jnp.round(4 * x) / 4 - x)) ** 2)


@pytest.mark.parametrize("wrong", [tripled, one_entry, half_gradient, straight])
def test_a_rule_of_the_loss_is_held_against_finite_differences(wrong):
    loss = lambda params, batch, problem, config: wrong(params.weights)
    theory = THEORY._replace(loss=loss, gradient=jax.grad(loss), checks=())
    varied = vary_config(theory, Config(dimension=40, batch_size=2), 0, 2, np.float64)
    row = verify._gradient_row(theory, 0, varied)
    assert not row.passed and row.error > row.tolerance
    assert "finite difference" in row.remark and "define a derivative of its own" in row.remark


def kinked(x):
    return jnp.sum(jnp.maximum(x - 0.05, 0) + jax.nn.relu(x) ** 2 + jnp.abs(x - 0.02))


@pytest.mark.parametrize(
    "right", [kinked, jax.nn.logsumexp, lambda x: jnp.sum(jnp.sort(x)[:3]), lambda x: 1e9 + x.sum()]
)
def test_kinks_and_right_rules_are_no_fault(right):
    loss = lambda params, batch, problem, config: right(params.weights)
    theory = THEORY._replace(loss=loss, gradient=jax.grad(loss), checks=())
    varied = vary_config(theory, Config(dimension=40, batch_size=2), 0, 3, np.float64)
    assert theory_gradient.compare_slot(theory, varied).agrees
