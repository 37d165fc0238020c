"""Verdicts against expectations, and too few runs for a verdict."""

import numpy as np
import pytest
import xarray as xr

from jaxtheory.claims import judge

from .test_claim import make

SEEDS = xr.Dataset(coords={"seed": range(4)})


def made(expect, *values, minimum=3):
    """A claim whose four runs measure these values, to be at least 1."""
    measured = xr.DataArray(list(values), dims="seed")
    return make(measure=lambda data: measured, expect=expect, minimum=minimum)


def test_too_few_runs_left_for_a_verdict_are_none():
    (judged,) = judge((made("fails", 1.0, 2.0, np.nan, np.nan),), SEEDS)
    assert judged.verdict is None and judged.reason == "not tested (n=2 < 3)" and judged.as_expected


@pytest.mark.parametrize(
    ("expect", "as_expected"), [("holds", False), ("fails", False), (None, True)]
)
def test_nan_confirms_nothing(expect, as_expected):
    claim = made(expect, *[np.nan] * 4, minimum=0)
    assert judge((claim,), SEEDS)[0].as_expected is as_expected


def test_a_verdict_on_a_mean_over_seeds_counts_the_runs_that_diverged():
    data = xr.Dataset(
        {
            "loss": (("p", "seed"), [[1.0, 1, 1, 1], [1, np.nan, np.nan, np.nan]]),
            "diverged_at": (("p", "seed"), [[-1, -1, -1, -1], [-1, 2, 2, 2]]),
        }
    )
    mean = make(measure=lambda d: d.loss.mean("seed"), minimum=2)
    (found,) = judge((mean,), data)
    assert found.verdict and (found.verdict.least, found.verdict.seeds) == (1, 4)
