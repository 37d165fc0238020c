"""How the references are compared: to the largest entry, and by central differences."""

from collections.abc import Callable

import numpy as np


def agree(
    got: object,
    want: object,
    tolerance: float = 1e-10,
    floor: float = 1e-3,
    *,
    unknown: bool = False,
) -> None:
    """Assert equal shapes and max |got - want| <= tolerance max(|want|, floor).

    With `unknown`, the reference may have NaN and infinite entries, which must then be the same.
    """
    got, want = np.asarray(got, float), np.asarray(want, float)
    assert got.shape == want.shape, f"shapes {got.shape} and {want.shape}"
    finite = np.isfinite(want)
    if unknown:
        np.testing.assert_array_equal(got[~finite], want[~finite])
        got, want = got[finite], want[finite]
    else:
        assert np.all(finite), "the reference is not finite"
    if want.size:
        gap, scale = np.abs(got - want).max(), max(np.abs(want).max(), floor)
        assert gap <= tolerance * scale, f"differ by {gap:.3g} at scale {scale:.3g}"


def average(values: object, want: object, errors: float = 5.0) -> None:
    """Assert that the mean over the first axis is within 5 standard errors of `want`."""
    values = np.asarray(values, float)
    error = values.std(axis=0) / np.sqrt(len(values))
    gap = np.abs(values.mean(axis=0) - want)
    assert np.all(gap <= errors * error + 1e-12), f"means differ by up to {gap.max():.3g}"


def slope(f: Callable[[np.ndarray], float], x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """Central differences of a scalar function, entry by entry."""
    out = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = h
        out[index] = (f(x + step) - f(x - step)) / (2 * h)
    return out
