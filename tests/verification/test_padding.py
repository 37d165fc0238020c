"""`verify` names the slot and the size where numbers depend on padding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worked_example import MODULE, THEORY, Config

import jaxtheory
from jaxtheory.engine.planning import padding as trusted_padding
from jaxtheory.verification import padding

EXAMPLE = Config(dimension=3, batch_size=2)


def mean_over_the_capacity(params, batch, problem, config):
    return jnp.mean((batch.inputs @ params.weights - batch.labels) ** 2) / 2


def capacity_in_a_formula(params, batch, problem, config):
    residual = batch.inputs @ params.weights - batch.labels
    return MODULE.Params(residual @ batch.inputs / config.batch_size.cap)


def unmasked_eye(params, problem, config):
    outer = problem.truth[:, None] * problem.truth[None, :]
    trace = jnp.trace(outer + jnp.eye(config.dimension.cap))
    return {**THEORY.metrics(params, problem, config), "trace": trace}


def own_draws(key, problem, config):
    inputs = jax.random.normal(key, (config.batch_size.cap, config.dimension.cap))
    return MODULE.Batch(inputs, inputs @ problem.truth)


WRONG = {  # slot -> function, where it shows first, the sizes it depends on
    "loss": (mean_over_the_capacity, "loss", "batch_size"),
    "gradient": (capacity_in_a_formula, "gradient", "batch_size"),
    "metrics": (unmasked_eye, "metrics", "dimension"),
    "sample": (own_draws, "sample", "dimension"),
}


@pytest.mark.parametrize("slot", WRONG)
def test_verify_names_the_slot_and_the_size(slot):
    function, shown, sizes = WRONG[slot]
    anew = {"algorithms": {"sgd": jaxtheory.Algorithm(*THEORY.algorithms["sgd"])}}
    slots = {slot: function, "checks": (), "examples": (EXAMPLE,)}
    wrong = jaxtheory.Theory(**THEORY._asdict() | anew | slots)
    table = jaxtheory.verify(wrong)
    failed = {row.check: row for row in table.checks if not row.passed}
    row = failed[f"padding: {shown}"]
    assert next(iter(failed)) == f"padding: {shown}" and not table.passed
    assert f"depends on the padding of {sizes}: got" in row.remark
    assert not trusted_padding.trusted(wrong)


def test_a_failing_check_names_array_index_and_ratio():
    check = jaxtheory.Check(
        "weights: doubled",
        "test",
        "equal",
        lambda key, config: (
            {"w": jnp.array([1.0, 2.0, 6.0])},
            {"w": jnp.array([1.0, 2.0, 3.0])},
        ),
    )
    table = jaxtheory.verify(THEORY._replace(checks=(check,), examples=(EXAMPLE,)))
    (row,) = [row for row in table.checks if row.check == check.name]
    assert row.remark == "w[2]: got 6, want 3, ratio 2"


def test_nan_against_a_number_is_a_difference():
    (row,) = padding._differences({"loss": np.nan}, {"loss": np.float64(1.0)})
    assert row.error == np.finfo(float).max or np.isinf(row.error)
