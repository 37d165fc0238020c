"""Checks of the bounds under shift."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.nearest_neighbor import data, model
from jaxtheory.theories.nearest_neighbor.checks import material
from jaxtheory.theories.nearest_neighbor.laws import bounds
from jaxtheory.theories.nearest_neighbor.model import Config


def bound_holds(key: Array, config: Config) -> Compared:
    """On separated test prompts and on flipped ones, for small and large parameters."""
    test, delta = material.drawn(key, config), config.separation
    flipped = data.flipped(data.at_example(test), delta, config)
    sets = ((data.relabelled(test, delta), delta), (flipped, bounds.flipped_separation(config)))
    scaled = [
        jax.tree.map(lambda v, scale=scale: scale * v, material.setting(key, config))
        for scale in (1.0, 5.0)
    ]
    got = [material.deviations(p, prompts, config) for p in scaled for prompts, _ in sets]
    return jnp.stack(got), jnp.stack(
        [bounds.bound(p, prompts, gap, config) + 1e-13 for p in scaled for prompts, gap in sets]
    )


def early_bound_at_example(key: Array, config: Config) -> Compared:
    """Where q = x_{i*} both forms are one."""
    shift = data.at_example(material.drawn(key, config))
    params, delta = material.setting(key, config), config.separation
    real = shift.weight > 0
    pair = [f(params, shift, delta, config) for f in (bounds.early_bound, bounds.bound)]
    return tuple(jnp.where(real, value, 0) for value in pair)


def shift_bound_holds(key: Array, config: Config) -> Compared:
    """On flipped prompts, for small and large parameters; the error of averaged labels by attention
    itself.
    """
    flipped = data.flipped(data.at_example(material.drawn(key, config)), config.separation, config)
    got, want = [], []
    for scale in (1.0, 5.0):
        params = jax.tree.map(lambda v: scale * v, material.setting(key, config))  # noqa: B023
        s = model.attend(params, flipped, config)
        error = jnp.sum(s[:, :-1] ** 2, axis=1) - 2 * model.picked(s[:, :-1], flipped) + 1
        got.append(jnp.max(jnp.where(flipped.weight > 0, error, 0)))
        want.append(bounds.shift_bound(params, bounds.flipped_separation(config), config) + 1e-13)
    return jnp.stack(got), jnp.stack(want)


CHECKS = (
    Check("bound: largest deviation", "derived", "bound", bound_holds),
    Check("early_bound: the bound at q = x_{i*}", "derived", "equal", early_bound_at_example),
    Check("shift_bound: largest error", "derived", "bound", shift_bound_holds),
)
