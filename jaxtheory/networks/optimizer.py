"""AdamW with warm-up and cosine, of numbers that a sweep may trace."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

# parts of the names of arrays that are not matrices of weights, whatever their shape
_KEPT = ("bias", "scale", "embed", "position")


def warmed_cosine(peak: Any, warmup: Any, horizon: Any) -> Callable:
    """Return the learning rate by step: linear warm-up, times a cosine that ends at horizon."""

    def rate(t: Any) -> Any:
        warm = jnp.minimum((t + 1) / jnp.maximum(warmup, 1), 1)
        done = jnp.minimum(t / horizon, 1)
        return peak * warm * (1 + jnp.cos(jnp.pi * done)) / 2

    return rate


def _decayed(params: Any) -> Any:
    """Return True for each array that is a matrix of weights."""

    def is_matrix(path: Any, leaf: Any) -> bool:
        name = jax.tree_util.keystr(path[-1:], simple=True).lower()
        return jnp.ndim(leaf) > 1 and not any(part in name for part in _KEPT)

    return jax.tree_util.tree_map_with_path(is_matrix, params)


def adamw(
    peak: Any, *, warmup: Any, horizon: Any, weight_decay: Any = 0.0001, clip_norm: Any = None
) -> optax.GradientTransformation:
    """Return AdamW with linear warm-up, a cosine schedule and weight decay on matrices only.

    Its learning rate at step t, from 0, is

        peak min((t + 1) / max(warmup, 1), 1) (1 + cos(pi min(t / horizon, 1))) / 2.

    optax's own schedules test their arguments, so that a sweep cannot trace them; these numbers may
    all be traced fields of a config. Weight decay is applied to arrays of two and more dimensions
    whose own name has no part "bias", "scale", "embed" or "position": to the weights of dense
    layers, but not to biases, the scales of norms, embeddings and positions. The algorithm
    `adamw` of the standard Transformer is this one.

    Args:
        peak: The largest learning rate.
        warmup: The number of steps of linear warm-up, 0 for none.
        horizon: The step at which the cosine is at 0, in [1, inf).
        weight_decay: The decay of a matrix per step, divided by the learning rate.
        clip_norm: The largest norm of a gradient, to which larger ones are scaled; None for none.

    Returns:
        An optax.GradientTransformation.

    Example:
        >>> import jaxtheory
        >>> theory = jaxtheory.theories.get("low_rank")
        >>> rule = lambda config: jaxtheory.networks.adamw(
        ...     config.learning_rate, warmup=config.warmup_steps, horizon=config.decay_steps)
        >>> mine = theory.replace(algorithms={"adamw": jaxtheory.from_optax(theory, rule)})
        >>> data = jaxtheory.sweep(
        ...     mine, mine.Config(), vary={"learning_rate": [0.01, 0.1]}, steps=2)
        >>> data.sizes["learning_rate"]
        2
    """
    schedule = warmed_cosine(peak, warmup, horizon)
    rule = optax.adamw(schedule, weight_decay=weight_decay, mask=_decayed)
    return rule if clip_norm is None else optax.chain(optax.clip_by_global_norm(clip_norm), rule)
