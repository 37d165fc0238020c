"""The numbers between which a search moves: candidates, changes and brackets."""

import numpy as np
import pytest
from helpers.quadratic import THEORY, Config

import jaxtheory
from jaxtheory.engine import search
from jaxtheory.engine.boundary import read_boundary


def request(**options):
    usual = {"along": "eta", "between": (0.01, 100.0), "when": jaxtheory.diverged, "seeds": 3}
    return read_boundary(THEORY, Config(), steps=7, **usual | options)


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_candidates_divide_their_intervals_evenly(scale):
    low, high = np.array([[0.5, 1e-8]]), np.array([[2.0, 1e8]])
    line = np.log if scale == "log" else np.asarray
    grid = search.spaced(scale, low, high, 8)
    within = search.spaced(scale, low, high, 8, inside=True)
    assert grid.shape == within.shape == (1, 2, 8)
    np.testing.assert_allclose(grid[..., [0, -1]], np.stack([low, high], -1), rtol=1e-12)
    rounds = np.concatenate([low[..., None], within, high[..., None]], -1)
    for values in (grid, rounds):
        steps = np.diff(line(values))
        np.testing.assert_allclose(steps, steps[..., :1].repeat(steps.shape[-1], -1), rtol=1e-6)


def test_the_first_change_is_bracketed_and_all_are_counted():
    values = np.broadcast_to(np.arange(5.0), (4, 5))
    truth = np.array([[1, 1, 0, 0, 0], [0, 0, 0, 0, 1], [1, 0, 1, 0, 1], [1, 1, 1, 1, 1]], bool)
    assert search._changes(truth).tolist() == [1, 1, 4, 0]
    low, high = search._bracket(values, truth)
    assert low[:3].tolist() == [1, 3, 0] and high[:3].tolist() == [2, 4, 1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_search_ends_at_the_tolerance_or_where_candidates_coincide(dtype):
    one, middle = np.array([True, False]), np.array([1.0, 1.0])
    for scale, width in (("log", 0.01), ("linear", 0.01 * 99.99)):
        ended = request(scale=scale, dtype=dtype).narrow
        assert ended(middle, middle + np.array([0.99 * width, 50]), one)  # the other has none
        assert not ended(middle, middle + 1.01 * width, one)
        assert ended(middle, middle + 50, np.array([False, False]))
    finest = np.finfo(dtype).eps
    sharp = request(tolerance=1e-6, dtype=dtype).narrow
    assert sharp(middle, middle + 3 * finest, one)
    assert sharp(middle, middle + 9e-7, one) and not sharp(middle, middle + 2e-6, one)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_far_from_zero_a_search_ends_where_numbers_are_no_longer_distinct(dtype):
    """The spacing of numbers near 1000 is a share of 1000, not of the width of the interval."""
    one, low = np.array([True]), np.array([1000.2])
    ended = request(scale="linear", between=(1000.0, 1001.0), tolerance=1e-6, dtype=dtype).narrow
    finest = 1001 * np.finfo(dtype).eps
    widest = max(1e-6, 4 * finest)
    assert ended(low, low + 0.9 * widest, one) and not ended(low, low + 1.2 * widest, one)
    assert (widest > 1e-6) == (dtype == "float32")


def test_the_values_of_a_search_are_those_of_the_runs():
    for dtype in ("float32", "float64"):
        values = request(dtype=dtype).rounded(np.array([0.1, 1 / 3]))
        assert values.dtype == float and np.all(values == np.array([0.1, 1 / 3], dtype))
