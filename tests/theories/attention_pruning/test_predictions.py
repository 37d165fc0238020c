"""What is measured of a fitted mask, and what the theory says of it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.pruning import drawn, train

from jaxtheory.theories.attention_pruning import Config, laws, model, predictions
from jaxtheory.theories.attention_pruning.model import Batch


@pytest.fixture(scope="module")
def fitted():
    """All that is measured of one fitted mask, at the literal scale."""
    config = Config(dimension=24, length=24)
    problem = drawn(config)
    params = train(problem, config, 800)

    def look(params, problem, config):
        measured = {
            **predictions.metrics(params, problem, config),
            **predictions.analyses(params, problem, config),
        }
        return measured, predictions.baselines(problem, config)

    return jax.jit(look)(params, problem, config)


def test_fitting_beats_every_baseline_on_its_own_sequence(fitted):
    """As measured for the source's figure 2."""
    ours, baselines = fitted
    assert ours["relative_error"][0] < jnp.min(baselines["relative_error"])


def test_rescaling_never_hurts_on_the_calibration_sequences(fitted):
    for metrics in fitted:
        assert (metrics["relative_error_rescaled"] <= metrics["relative_error"] + 1e-12).all()


def test_bound_ratios_are_shares(fitted):
    ratio = fitted[0]["bound_ratio"]
    assert ratio.shape == (len(laws.BOUNDS),) and ((ratio >= 0) & (ratio <= 1 + 1e-9)).all()


def test_the_large_lambda_prediction_is_reached():
    config = Config(dimension=16, length=16, regularization=1e7, step_scale=0.1)
    problem = drawn(config)
    look = jax.jit(
        lambda m, p: (
            predictions.metrics(m, p, config),
            predictions.predict(p, config, np.arange(3)),
        )
    )
    got, want = look(train(problem, config, 400), problem)
    assert want["relative_error:large_lambda"].shape == (3,)
    np.testing.assert_allclose(
        got["relative_error"], want["relative_error:large_lambda"][:1], rtol=1e-6
    )


@pytest.mark.parametrize(("length", "holds"), [(8, True), (9, False)])
def test_assumptions_tell_short_from_long_sequences(length, holds):
    config = Config(dimension=8, length=length, logit_scale=1.0)
    conditions = jax.jit(lambda p: predictions.assumptions(p, config))(drawn(config))
    floor = next(value for name, value in conditions.items() if "beta I" in name)
    assert bool(floor[0]) == holds
    assert all(bool(h) == bool(margin > 0) for h, margin in conditions.values())


def test_float32_where_attention_underflows():
    with jax.enable_x64(False):
        config = Config(dimension=16, length=16, logit_scale=500.0)
        problem = drawn(config)
        metrics = jax.jit(lambda m, p: predictions.metrics(m, p, config))(
            train(problem, config, 10), problem
        )
        delta = jnp.min(model.target(Batch(problem.inputs), problem, config)[0, -1])
    assert delta == 0
    assert all(np.isfinite(v).all() and v.dtype == jnp.float32 for v in metrics.values())
