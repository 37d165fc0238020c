"""Comparison of a theory's `gradient` with autodiff of its loss, at random parameters."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.config import Config
from jaxtheory.core.theory import Theory
from jaxtheory.engine.request.settings import compiler_options, numerics
from jaxtheory.texts.errors import InputError
from jaxtheory.verification.finite_differences import slopes
from jaxtheory.verification.gradients import (
    SMALL,
    compare_gradients,
    require_gradient_structure,
    require_real,
)

TOLERANCE = 1e-8  # of the largest entry of a leaf, as in compare_gradients


class SlotGradient(NamedTuple):
    """Error of a theory's `gradient`, with a diagnosis where it does not agree with autodiff.

    error: the largest |closed - autodiff| over the largest entry of its leaf.
    """

    error: float
    agrees: bool
    diagnosis: str = ""


def draw_setting(theory: Theory, key: jax.Array, config: Config) -> tuple[Any, Any, Any]:
    """Draw (problem, batch, params), with params = `init` + 0.1 U(0, 1) to avoid special points."""
    keys = jax.random.split(key, 4)
    problem = theory.problem(keys[0], config)
    batch = theory.sample(keys[1], problem, config)
    params = theory.init(keys[2], problem, config)
    require_real(params)
    leaves, tree = jax.tree.flatten(params)
    moved = [
        x + 0.1 * jax.random.uniform(k, x.shape, x.dtype)
        for k, x in zip(jax.random.split(keys[3], len(leaves)), leaves, strict=True)
    ]
    return problem, batch, jax.tree.unflatten(tree, moved)


def compare_slot(theory: Theory, varied: Config) -> SlotGradient:
    """Return the worst error over the variations of an example, stacked along a leading axis.

    One program computes both gradients, and slopes of the loss by finite differences, because
    autodiff obeys a derivative rule that the loss defines itself. `compare_gradients`, which is
    slower and explains the difference, runs only where they differ.
    """

    def differentiate(key: jax.Array, config: Config) -> tuple[tuple, Any, Any, Any, Any]:
        problem, batch, params = draw_setting(theory, key, config)
        at = (params, batch, problem, config)
        require_gradient_structure(theory.loss, theory.gradient, params, at[1:])
        value, slope, gap = slopes(lambda p: theory.loss(p, *at[1:]), params)
        return at, gap, theory.gradient(*at), value, slope

    leaves = jax.tree.leaves(varied)
    n = len(leaves[0]) if leaves else 1
    with numerics("float64"):
        data = np.random.default_rng(0).integers(2**32, size=(n, 4), dtype=np.uint32)
        keys = jax.random.wrap_key_data(jnp.asarray(data), impl="rbg")
        differentiate_all = jax.jit(
            jax.vmap(differentiate, in_axes=(0, 0 if leaves else None)),
            compiler_options=compiler_options(level=0),
        )
        try:
            at, gaps, *gradients = differentiate_all(keys, varied)
            distances = _distances(*jax.device_get(gradients))
            errors = np.where(distances <= TOLERANCE, np.maximum(distances, gaps), distances)
            worst = int(np.argmax(errors))
            if errors[worst] <= TOLERANCE:
                return SlotGradient(float(errors[worst]), True)
            setting = jax.tree.map(lambda x: x[worst], at)
            why = compare_gradients(theory.loss, theory.gradient, *setting, tolerance=TOLERANCE)
        except InputError as error:
            return SlotGradient(np.inf, False, str(error))
    if why.agrees:  # it also compares other points and finite differences, and finds kinks
        return SlotGradient(why.largest, True)
    return SlotGradient(max(float(errors[worst]), why.largest), False, why.verdict)


def _distances(closed: Any, loss: np.ndarray, autodiff: Any) -> np.ndarray:
    """Return the largest difference at each point over the scale of its leaf.

    The scale is that of `gradients._differences`. A value that is not finite gives infinity.
    """
    flat = lambda tree: [np.reshape(x, (len(x), -1)) for x in jax.tree.leaves(tree) if np.size(x)]
    mine, right = flat(closed), flat(autodiff)
    if not right:
        return np.zeros(1)
    largest = np.stack([np.max(np.abs(x), axis=1) for x in right])
    scale = np.maximum(largest, SMALL * np.maximum(np.max(largest), np.abs(loss)))
    gaps = np.stack([np.max(np.abs(x - y), axis=1) for x, y in zip(mine, right, strict=True)])
    largest_gap = np.max(gaps / np.where(scale == 0, 1, scale), axis=0)
    return np.nan_to_num(largest_gap, nan=np.inf)
