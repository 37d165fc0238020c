"""Diagnosis of a wrong gradient: a single mistake that explains it, or the place where it is wrong.

Arrays have a leading axis over the points at which both gradients were computed. NaN entries are
ignored.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

_CLOSE = 1e-6  # |yours - explained| over the largest entry of a point


class AxisLength(NamedTuple):
    """An axis over which a mean may have been forgotten, with its length and its name."""

    n: int
    name: str


def _scale_of(right: np.ndarray) -> np.ndarray:
    """Return the largest |entry| of each point, with axes of length 1 for the rest."""
    axes = tuple(range(1, right.ndim))
    largest = np.nanmax(np.abs(right), axis=axes, keepdims=True, initial=0.0)
    return np.maximum(largest, 1e-9 * np.nanmax(largest, initial=0.0))


def _equal(yours: np.ndarray, right: np.ndarray, scale: np.ndarray) -> bool:
    """True if two arrays agree up to _CLOSE times the scale wherever neither is NaN."""
    mask = ~(np.isnan(yours) | np.isnan(right))
    return bool(np.all((np.abs(yours - right) <= _CLOSE * scale)[mask]))


def _ratio(yours: np.ndarray, right: np.ndarray) -> float | None:
    """Return c if yours = c right, else None. NaN is ignored and all points weigh the same."""
    scale = _scale_of(right)
    if not np.all(scale > 0):
        return None
    y, a = np.nan_to_num(yours / scale), np.nan_to_num(right / scale)
    a = np.where(np.isnan(yours), 0, a)
    c = float(np.sum(y * a) / np.sum(a * a)) if np.any(a) else 0.0
    return c if c and _equal(yours, c * right, scale) else None


def _factor(c: float, lengths: Sequence[AxisLength]) -> str:
    """Describe a constant factor, as 1/n where n > 2 is an axis length or a product of two."""
    if abs(c + 1) < _CLOSE:
        return "the sign is wrong, factor -1"
    products = [
        AxisLength(a.n * b.n, f"{a.name} times {b.name}") for a, b in combinations(lengths, 2)
    ]
    for n, name in (*lengths, *products):
        for power, what in ((n, "missing"), (1 / n, "too much")):
            if n > 2 and abs(abs(c) / power - 1) < _CLOSE:
                return f"factor {c:.6g}: 1/n is {what}? n = {n} is {name}"
    return f"factor {c:.6g}"


def _mistakes(right: np.ndarray, constant: np.ndarray) -> dict[str, np.ndarray]:
    """Return the gradients that common mistakes would give, by a description of the mistake.

    constant: the gradient with diag(s) in place of a softmax's Jacobian diag(s) - s s^T.
    """
    part = "the rank-one part of a softmax's Jacobian (s s^T of diag(s) - s s^T)"
    gradients = {}
    if not _equal(constant, right, _scale_of(right)):
        gradients = {
            f"{part} is missing": constant,
            f"{part} has the wrong sign": 2 * constant - right,
        }
    for first, second in combinations(range(1, right.ndim), 2):
        if right.shape[first] == right.shape[second] > 1:
            axes = "" if right.ndim == 3 else f" (axes {first - 1} and {second - 1})"
            gradients[f"transposed{axes}"] = np.swapaxes(right, first, second)
    for axis in range(1, right.ndim):
        if right.shape[axis] > 1:
            for shift in (1, -1):
                words = f"wrong index: shifted by {shift} along axis {axis - 1}"
                gradients[words] = np.roll(right, shift, axis)
            gradients[f"wrong index: reversed along axis {axis - 1}"] = np.flip(right, axis)
    return gradients


def _slices(yours: np.ndarray, right: np.ndarray) -> str | None:
    """Name the slices of one axis that are the only wrong ones, or the factor of each slice."""
    scale = _scale_of(right)
    for axis in range(1, right.ndim):
        parts = [
            (np.take(yours, [i], axis), np.take(right, [i], axis)) for i in range(right.shape[axis])
        ]
        wrong = [i for i, part in enumerate(parts) if not _equal(*part, scale)]
        if 0 < len(wrong) <= len(parts) // 2:
            c = _ratio(np.take(yours, wrong, axis), np.take(right, wrong, axis))
            which = f"wrong at index {', '.join(map(str, wrong))} of axis {axis - 1} alone"
            return which + (f", by the factor {c:.6g}" if c else "")
        factors = [_ratio(*part) for part in parts]
        if right.ndim > 2 and all(factors):
            shown = ", ".join(f"{c:.4g}" for c in factors[:4])
            return f"a factor for each index of axis {axis - 1}: {shown}{', ..' * (len(parts) > 4)}"
    return None


def _rank(matrices: np.ndarray) -> int:
    """Return the largest numerical rank over the leading axis of points."""
    s = np.linalg.svd(np.nan_to_num(matrices), compute_uv=False)
    return int(np.max(np.sum(s > _CLOSE * np.maximum(s[:, :1], 1e-300), axis=1)))


def _missing(yours: np.ndarray, right: np.ndarray, value: np.ndarray) -> str | None:
    """Describe the missing term if it has a simple form, else return None.

    Simple forms are a multiple of the parameter, the same value at all points, a constant along an
    axis, and a matrix of rank one.
    """
    gap = right - yours
    c = _ratio(gap, np.broadcast_to(value, gap.shape))
    if c:
        word, term = ("lacks", c) if c > 0 else ("has too much of", -c)
        return f"it {word} {term:.6g} times the parameter (a term {term / 2:.6g} |.|^2 of the loss)"
    if len(gap) > 1 and _equal(gap, np.broadcast_to(gap[:1], gap.shape), _scale_of(gap)):
        return "it lacks a term that does not depend on the parameters"
    for axis in range(1, gap.ndim):
        same = np.broadcast_to(np.take(gap, [0], axis), gap.shape)
        zero = _CLOSE * np.squeeze(_scale_of(right), axis)
        expected, actual = (np.all(np.abs(np.nansum(x, axis)) <= zero) for x in (right, yours))
        if gap.shape[axis] > 2 and expected and not actual:
            return (
                f"it does not sum to zero along axis {axis - 1}, as it should: is the rank-one "
                "part of a softmax's Jacobian missing?"
            )
        if gap.shape[axis] > 2 and _equal(gap, same, _scale_of(gap)):
            return f"it lacks a term that is constant along axis {axis - 1}"
    if gap.ndim == 3 and min(gap.shape[1:]) > 1 and _rank(gap) == 1 < _rank(right):
        return (
            "it lacks an outer product, a matrix of rank one (the s s^T of a softmax's Jacobian?)"
        )
    return None


def explain(
    yours: np.ndarray,
    right: np.ndarray,
    value: np.ndarray,
    constant: np.ndarray,
    lengths: Sequence[AxisLength],
) -> str | None:
    """Return the simplest mistake that turns `right` into `yours` at all points, or None.

    value: the parameters. constant: see `_mistakes`.
    """
    if not np.any(np.nan_to_num(yours)):
        return "it is zero"
    c = _ratio(yours, right)
    if c is not None:
        return _factor(c, lengths)
    for words, mistaken in _mistakes(right, constant).items():
        c = _ratio(yours, mistaken)
        if c is not None:
            return words if abs(c - 1) < _CLOSE else f"{words}, and {_factor(c, lengths)}"
    tries: tuple[Callable[[], str | None], ...] = (
        lambda: _slices(yours, right),
        lambda: _missing(yours, right, value),
    )
    return next((mistake for find in tries if (mistake := find())), None)
