"""Thinning of a variable to a number of entries: which places are kept along each dimension.

The rule, in the order in which it is applied until the variable fits:

1. all entries;
2. at most 200 steps;
3. the first seeds one by one, as many as fit, and statistics of all seeds;
4. at most 50 steps, and one seed one by one;
5. every second place of the longest further dimension (a row or column of a matrix, for instance)
   that has more than 16, repeatedly;
6. half of the places of the longest dimension, repeatedly; of an axis with both of its ends.

Statistics always use all seeds, even where only some are kept.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

STATISTICS = ("mean", "low", "high", "n")  # mean, 5 %, 95 % and number of the finite values
STEPS, FEW_STEPS = 200, 50
_FEW_PLACES = 16


class Selection(NamedTuple):
    """The part of a variable that the page keeps.

    places: the kept places along each dimension; along "seed", those kept one by one. notes: one
    phrase for each dimension that is thinned.
    """

    places: dict[str, np.ndarray]
    notes: list[str]


def size(counts: Mapping[str, int], seeds: int) -> int:
    """Return the number of stored entries: each kept seed and, of several, their statistics.

    `counts` is the number of kept places along each dimension, and `seeds` that of all seeds.
    """
    seed_size = math.prod(n for dim, n in counts.items() if dim != "seed")
    return seed_size * (counts.get("seed", 1) + (len(STATISTICS) if seeds > 1 else 0))


def thinned(
    sizes: Mapping[str, int], axes: Sequence[str], steps: np.ndarray, most: int
) -> Selection:
    """Choose what is kept of a variable so that it has at most `most` entries, by the rule above.

    Args:
        sizes: Length of each dimension.
        axes: Names of the axes of the sweep.
        steps: The recorded steps, as many as the dimension "step" is long.
        most: Number of entries at most; it is exceeded only if one entry per variable does so.

    Returns:
        What is kept.
    """
    seeds = sizes.get("seed", 1)
    places = {dim: np.arange(n) for dim, n in sizes.items()}
    fits = lambda: size({dim: len(at) for dim, at in places.items()}, seeds) <= most
    if not fits() and "step" in places:
        places["step"] = some_steps(steps, STEPS)
    if not fits() and seeds > 1:
        places["seed"] = np.arange(_seeds_that_fit(places, seeds, most))
    if not fits() and "step" in places:
        places["step"] = some_steps(steps, FEW_STEPS)
        if seeds > 1:
            places["seed"] = np.arange(_seeds_that_fit(places, seeds, most))
    further = [dim for dim in sizes if dim not in (*axes, "seed", "step")]
    while not fits() and any(len(places[dim]) > _FEW_PLACES for dim in further):
        dim = max(further, key=lambda dim: len(places[dim]))
        places[dim] = places[dim][::2]
    other_dims = [dim for dim in sizes if dim != "seed"]
    while not fits() and any(len(places[dim]) > 1 for dim in other_dims):
        dim = max(other_dims, key=lambda dim: len(places[dim]))
        places[dim] = _half(places[dim]) if dim in axes else places[dim][::2]
    return Selection(places, _notes(places, sizes, seeds))


def _seeds_that_fit(places: Mapping[str, np.ndarray], seeds: int, most: int) -> int:
    """Number of seeds that are kept one by one, at least 1."""
    seed_size = math.prod(len(at) for dim, at in places.items() if dim != "seed")
    return min(max(most // max(seed_size, 1) - len(STATISTICS), 1), seeds)


def _half(places: np.ndarray) -> np.ndarray:
    """About half of the places, evenly spaced, with the first and the last if there are two."""
    n = max(len(places) // 2, 1)
    chosen: np.ndarray = places[np.linspace(0, len(places) - 1, n).round().astype(int)]
    return chosen


def some_steps(steps: np.ndarray, most: int) -> np.ndarray:
    """Return the places of at most `most` steps, with the first and the last.

    Half of them are evenly spaced and half of them geometrically, so that both a linear and a
    logarithmic axis are covered.
    """
    n = len(steps)
    if n <= most:
        return np.arange(n)
    even = np.linspace(0, n - 1, most // 2).round().astype(int)
    positive = np.flatnonzero(steps > 0)
    wanted = np.geomspace(steps[positive[0]], steps[-1], most - most // 2)
    geometric = np.searchsorted(steps, wanted).clip(0, n - 1)
    chosen: np.ndarray = np.unique([*even, *geometric])
    return chosen


def _notes(places: Mapping[str, np.ndarray], sizes: Mapping[str, int], seeds: int) -> list[str]:
    """Say in a phrase for each dimension what was left out."""
    notes = []
    for dim, at in places.items():
        if len(at) == sizes[dim]:
            continue
        if dim == "seed":
            singles = "the first of them is" if len(at) == 1 else f"the first {len(at)} are"
            notes.append(
                f"mean and 5 to 95 % over {seeds} seeds, and {singles} also kept one by one"
            )
        else:
            notes.append(f"{dim} thinned to {len(at)} of {sizes[dim]}")
    return notes
