"""How the references are compared: to the largest entry, and by central differences."""

from collections.abc import Callable

import numpy as np


def agree(got: object, want: object, tolerance: float = 1e-10, floor: float = 1e-3) -> None:
    """Assert equal shapes and max |got - want| <= tolerance max(|want|, floor)."""
    got, want = np.asarray(got, float), np.asarray(want, float)
    assert got.shape == want.shape, f"shapes {got.shape} and {want.shape}"
    assert np.all(np.isfinite(want)), "the reference is not finite"
    gap, scale = np.abs(got - want).max(), max(np.abs(want).max(), floor)
    assert gap <= tolerance * scale, f"differ by {gap:.3g} at scale {scale:.3g}"


def slope(f: Callable[[np.ndarray], float], x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """Central differences of a scalar function, entry by entry."""
    out = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = h
        out[index] = (f(x + step) - f(x - step)) / (2 * h)
    return out
