"""The algorithms in small runs."""

import jax
import jax.numpy as jnp
import pytest
from helpers.pruning import drawn, train

from jaxtheory.theories.attention_pruning import THEORY, Config, laws
from jaxtheory.theories.attention_pruning.model import Batch


@pytest.mark.parametrize("algorithm", ["gradient_descent", "two_mask"])
def test_clip_keeps_the_mask_in_the_unit_interval(algorithm):
    config = Config(dimension=12, length=8, step_scale=0.05, clip=True, mask_init="uniform")
    for mask in train(drawn(config), config, 30, algorithm):
        assert jnp.min(mask) == 0 and jnp.max(mask) <= 1


def test_two_masks_start_apart_and_lower_their_loss():
    config = Config(
        dimension=12,
        length=8,
        logit_scale=12.5,
        regularization=0.1,
        step_scale=1e-3,
        mask_init="uniform",
    )
    problem = drawn(config)
    start, end = (train(problem, config, steps, "two_mask") for steps in (0, 200))
    assert not jnp.array_equal(start.query, start.key)
    loss = jax.jit(lambda m: THEORY.loss(m, Batch(problem.inputs), problem, config))
    assert loss(end) < loss(start)
    assert jnp.isnan(laws.bound_ratio(end, jnp.ones(()), problem, config)).all()


def test_smooth_descent_never_rises_and_ignores_the_given_step():
    config = Config(dimension=12, length=8, logit_scale=1.0, mask_init="uniform", clip=True)
    problem = drawn(config)
    loss = jax.jit(lambda m: THEORY.loss(m, Batch(problem.inputs), problem, config))
    masks = [train(problem, config, steps, "smooth") for steps in (0, 1, 2, 50)]
    losses = [loss(mask) for mask in masks]
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]
    variant = config.replace(step_scale=0.5, momentum=0.5)
    assert jnp.array_equal(train(problem, variant, 2, "smooth").mask, masks[2].mask)
