"""The slot `gradient` of a theory beside autodiff of its loss, at random parameters."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.core.config import Config
from jaxtheory.core.errors import InputError
from jaxtheory.core.theory import Theory
from jaxtheory.engine.request.settings import compiler_options, numerics
from jaxtheory.verification.gradients import (
    SMALL,
    compare_gradients,
    require_gradient,
    require_real,
)

TOLERANCE = 1e-8  # of the largest entry of a leaf, as in compare_gradients


class Slope(NamedTuple):
    """The largest |closed - autodiff| over the largest entry of its leaf, whether the two agree,
    and the diagnosis where they do not.
    """

    error: float
    agrees: bool
    diagnosis: str = ""


def setting(theory: Theory, key: jax.Array, config: Config) -> tuple[Any, Any, Any]:
    """(problem, batch, params) away from special points: the parameters of `init` + .1 U(0, 1)."""
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


def compare(theory: Theory, varied: Config) -> Slope:
    """The worst of the variations of an example, stacked along a leading axis. One program gives
    both gradients; only where they differ does `compare_gradients` say why.
    """

    def both(key: jax.Array, config: Config) -> tuple[tuple, Any, Any, Any]:
        problem, batch, params = setting(theory, key, config)
        at = (params, batch, problem, config)
        require_gradient(theory.loss, theory.gradient, params, at[1:])
        return at, theory.gradient(*at), *jax.value_and_grad(theory.loss)(*at)

    leaves = jax.tree.leaves(varied)
    n = len(leaves[0]) if leaves else 1
    with numerics("float64"):
        data = np.random.default_rng(0).integers(2**32, size=(n, 4), dtype=np.uint32)
        keys = jax.random.wrap_key_data(jnp.asarray(data), impl="rbg")
        several = jax.jit(
            jax.vmap(both, in_axes=(0, 0 if leaves else None)),
            compiler_options=compiler_options(level=0),
        )
        try:
            at, *found = several(keys, varied)
            errors = _distances(*jax.device_get(found))
            worst = int(np.argmax(errors))
            if errors[worst] <= TOLERANCE:
                return Slope(float(errors[worst]), True)
            there = jax.tree.map(lambda x: x[worst], at)
            why = compare_gradients(theory.loss, theory.gradient, *there, tolerance=TOLERANCE)
        except InputError as error:
            return Slope(np.inf, False, str(error))
    if why.agrees:  # where several points, finite differences and kinks are looked at
        return Slope(why.largest, True)
    return Slope(max(float(errors[worst]), why.largest), False, why.verdict)


def _distances(closed: Any, loss: np.ndarray, autodiff: Any) -> np.ndarray:
    """The largest difference at each point over the scale of its leaf, as in
    `gradients.differences`; infinite for what is not finite.
    """
    flat = lambda tree: [np.reshape(x, (len(x), -1)) for x in jax.tree.leaves(tree) if np.size(x)]
    mine, right = flat(closed), flat(autodiff)
    if not right:
        return np.zeros(1)
    largest = np.stack([np.max(np.abs(x), axis=1) for x in right])
    scale = np.maximum(largest, SMALL * np.maximum(np.max(largest), np.abs(loss)))
    gaps = np.stack([np.max(np.abs(x - y), axis=1) for x, y in zip(mine, right, strict=True)])
    found = np.max(gaps / np.where(scale == 0, 1, scale), axis=0)
    return np.nan_to_num(found, nan=np.inf)
