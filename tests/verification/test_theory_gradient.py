"""`verify` holds the slot `gradient` of a theory from outside against autodiff of its loss."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worked_example import MODULE, THEORY, Config

import jaxtheory
from jaxtheory.theories import get
from jaxtheory.verification import theory_gradient, verify

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
    assert theory_gradient.compare(room, varied).error < 1e-12
    assert not any(row.check == "gradient" for row in jaxtheory.verify(room, only=[]).checks)
