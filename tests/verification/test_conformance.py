"""Parts of the contract's checks; tests/test_testing.py runs them on right and wrong theories."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxtheory.cli.templates import template
from jaxtheory.core import from_optax
from jaxtheory.verification import conformance


def test_of_the_algorithms_that_descent_builds_one_is_tested():
    built = from_optax.from_optax(template.THEORY, lambda config: optax.sgd(config.learning_rate))
    own = template.THEORY.algorithms
    among = lambda algorithms: conformance.trained(template.THEORY._replace(algorithms=algorithms))
    assert among(own) == ["sgd"]
    assert among({**own, "adam": built, "momentum": built}) == ["sgd", "momentum"]
    assert among({"adam": built, "cosine": built, **own}) == ["adam", "sgd"]


def test_nan_in_any_array_is_a_distance():
    one = np.ones(2)
    for got in ([np.nan * one, one], [one, np.nan * one]):
        assert not conformance.distance(got, [one, one]) <= np.inf


def test_a_taken_name_is_seen():
    named = template.THEORY._replace(
        dims={"error": ("method",)}, metrics=lambda params, problem, config: {"sizes": 0.0}
    )
    assert conformance.names_of(named) & conformance.TAKEN == {"method", "sizes"}


def test_a_wrong_rule_of_the_loss_is_seen():
    """A gradient that agrees with autodiff where both obey `stop_gradient`."""
    loss = lambda params, batch, problem, config: jnp.sum(
        jax.lax.stop_gradient(params.weights) * params.weights
    )
    wrong = template.THEORY._replace(loss=loss, gradient=jax.grad(loss))
    with pytest.raises(AssertionError, match="finite difference"):
        conformance.gradient_is_autodiff(conformance.Material(wrong), 0)
