"""Slopes of a loss by finite differences, which no derivative rule of the loss's own can change.

Autodiff obeys `jax.custom_vjp`, `jax.custom_jvp` and `stop_gradient`, right or wrong. So a gradient
with the same mistake agrees with it, but not with the differences of the loss itself.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

# two, since a kink between the points of one step is rarely between those of the other
_STEPS = (1e-5, 1e-6)
_SCALE = 0.3  # of a second point, over that of N(0, 1)
_TRUNCATION, _ROUNDING = 1e-6, 1e-8  # of the sum of |slope| over entries, and of |loss|


def slopes(loss: Callable, params: Any) -> tuple[jax.Array, Any, jax.Array]:
    """Return (loss, its gradient by autodiff, the error of that by finite differences) at params.

    The error is the larger one of two points, params and params + _SCALE N(0, 1), where a rule that
    is right at params may be wrong. One where the loss is not finite does not count.
    """
    random = np.random.default_rng(1)
    normal = jax.tree.map(lambda x: jnp.asarray(random.standard_normal(x.shape), x.dtype), params)

    def at(scale: jax.Array) -> tuple[jax.Array, Any, jax.Array]:
        point = jax.tree.map(lambda x, n: x + scale * n, params, normal)
        value, slope = jax.value_and_grad(loss)(point)
        return value, slope, _slope_gap(loss, point, slope)

    dtype = jnp.result_type(float)
    values, gradients, gaps = jax.lax.map(at, jnp.array([0, _SCALE], dtype))
    first = jax.tree.map(lambda x: x[0], (values, gradients))
    return *first, jnp.maximum(gaps[0], jnp.nan_to_num(gaps[1]))


def _slope_gap(loss: Callable, params: Any, slope: Any) -> jax.Array:
    """Return the error of a gradient along one random direction of all parameters.

    It is |difference - slope| over the sum of |slope| over the entries, the smaller one of two
    steps, and 0 within rounding. A wrong rule has it at both steps.
    """
    random = np.random.default_rng(0)
    move = jax.tree.map(lambda x: jnp.asarray(random.standard_normal(x.shape), x.dtype), params)
    at = lambda step: loss(jax.tree.map(lambda x, m: x + step * m, params, move))
    steps = np.array([[h, -h] for h in _STEPS])
    values = jax.lax.map(at, jnp.asarray(steps.ravel())).reshape(steps.shape)
    parts = [g * m for g, m in zip(jax.tree.leaves(slope), jax.tree.leaves(move), strict=True)]
    expected, scale = sum(map(jnp.sum, parts)), sum(jnp.sum(jnp.abs(x)) for x in parts)
    gap = jnp.min(jnp.abs((values[:, 0] - values[:, 1]) / (2 * steps[:, 0]) - expected))
    allowed = _TRUNCATION * scale + _ROUNDING * jnp.max(jnp.abs(values))
    error: jax.Array = jnp.where(gap <= allowed, 0, gap / jnp.where(scale > 0, scale, 1))
    return error


def odd_entry(value: Callable, params: Any, place: int, slope: np.ndarray) -> int | None:
    """Return the index in a flat leaf of an entry whose slope is not that of the loss, or None.

    Halves of the leaf are moved along a random direction until one entry is left.
    """
    leaves, tree = jax.tree.flatten(params)
    move = np.random.default_rng(0).standard_normal(slope.size)

    def is_odd(entries: np.ndarray) -> bool:
        direction = np.zeros(slope.size)
        direction[entries] = move[entries]
        parts = slope.ravel() * direction

        def at(step: float) -> float:
            moved = leaves[place] + step * direction.reshape(slope.shape)
            return float(
                value(jax.tree.unflatten(tree, [*leaves[:place], moved, *leaves[place + 1 :]]))
            )

        for step in _STEPS:
            up, down = at(step), at(-step)
            allowed = _TRUNCATION * np.abs(parts).sum() + _ROUNDING * max(abs(up), abs(down))
            if not abs((up - down) / (2 * step) - parts.sum()) > allowed:
                return False
        return True

    candidates = np.arange(slope.size)
    while candidates.size and is_odd(candidates):
        if candidates.size == 1:
            return int(candidates[0])
        half = candidates[: candidates.size // 2]
        candidates = half if is_odd(half) else candidates[candidates.size // 2 :]
    return None
