"""The record of a theory: its algorithms remember for which functions they were made."""

import types

from helpers.worked_example import THEORY

from jaxtheory.core.theory import Algorithm, Check, check, checks_of, outputs


def test_outputs_are_metrics_analyses_and_predictions_with_their_dimensions():
    assert outputs(THEORY) == {
        "metrics": ["loss", "rounded_loss", "weights(coordinate)"],
        "analyses": [],
        "predictions": ["predicted_loss"],
    }
    theory = THEORY._replace(
        analyses=lambda params, problem, config: {"twice": 2 * params.weights},
        dims=THEORY.dims | {"twice": ("coordinate",)},
    )
    assert outputs(theory)["analyses"] == ["twice(coordinate)"]


def test_an_algorithm_remembers_the_first_theory_it_is_put_into():
    new = Algorithm(*THEORY.algorithms["sgd"])
    assert new.origin is None
    inside = THEORY._replace(algorithms={"new": new}).algorithms["new"]
    assert new.origin is None and inside == new and inside.origin.loss is THEORY.loss
    later = THEORY._replace(loss=lambda *args: THEORY.loss(*args), algorithms={"new": inside})
    assert later.algorithms["new"].origin.loss is THEORY.loss


def test_with_another_step_it_is_another_algorithm():
    old = THEORY.algorithms["sgd"]
    step = lambda key, t, state, batch, problem, config: state
    assert old._replace(params=lambda state, problem, config: state).origin is old.origin
    assert old._replace(step=step).origin is None


def test_the_loss_of_the_gradient_is_kept_until_the_gradient_is_replaced():
    loss = lambda params, batch, problem, config: 2 * THEORY.loss(params, batch, problem, config)
    assert THEORY.derived is THEORY.loss
    assert THEORY._replace(loss=loss).derived is THEORY.loss
    assert THEORY._replace(loss=loss, gradient=lambda *args: None).derived is loss


def test_checks_of_modules_are_those_made_by_the_decorator_and_those_listed():
    @check("norm: Pythagoras", "Elements I.47", "equal", 1e-12)
    def one(key, config):
        return 5.0, 5.0

    two = Check("norm: of zero", "derived", "bound", one.fn)
    first, second = types.ModuleType("first"), types.ModuleType("second")
    vars(first).update(one=one, other=3)
    vars(second).update(CHECKS=(two,), one=lambda: None)
    assert one == Check("norm: Pythagoras", "Elements I.47", "equal", one.fn, 1e-12)
    assert checks_of(first, second) == (one, two)
