"""Verdicts against expectations, and too few runs for a verdict."""

import re

import numpy as np
import pytest
import xarray as xr

from jaxtheory.claims import at_most, judge

from .test_claim import make

SEEDS = xr.Dataset(coords={"seed": range(4)})


def make_claim(expect, *values, minimum=3):
    """A claim whose four runs measure these values, to be at least 1."""
    measured = xr.DataArray(list(values), dims="seed")
    return make(measure=lambda data: measured, expect=expect, minimum=minimum)


def test_too_few_runs_left_for_a_verdict_are_none():
    (judged,) = judge((make_claim("fails", 1.0, 2.0, np.nan, np.nan),), SEEDS)
    assert judged.verdict is None and judged.reason == "not tested (n=2 < 3)" and judged.as_expected


@pytest.mark.parametrize(
    ("expect", "as_expected"), [("holds", False), ("fails", False), (None, True)]
)
def test_nan_confirms_nothing(expect, as_expected):
    claim = make_claim(expect, *[np.nan] * 4, minimum=0)
    assert judge((claim,), SEEDS)[0].as_expected is as_expected


def test_a_verdict_on_a_mean_over_seeds_counts_the_runs_that_diverged():
    data = xr.Dataset(
        {
            "loss": (("p", "seed"), [[1.0, 1, 1, 1], [1, np.nan, np.nan, np.nan]]),
            "diverged_at": (("p", "seed"), [[-1, -1, -1, -1], [-1, 2, 2, 2]]),
        }
    )
    mean = make(measure=lambda d: d.loss.mean("seed"), minimum=2)
    (judgment,) = judge((mean,), data)
    assert judgment.verdict and (judgment.verdict.least, judgment.verdict.seeds) == (1, 4)


def test_a_measure_that_reduces_the_seeds_is_resampled():
    """The exponent of a mean: its interval is that of the jackknife; here of a mean it is Student's
    own.
    """
    runs = np.random.default_rng(0).normal(size=16)
    data = xr.Dataset({"loss": (("p", "seed"), np.stack([runs, 2 * runs]))})
    reduced = make(measure=lambda d: d.loss.mean("seed"), bound=at_most(3.0))
    own = make(measure=lambda d: d.loss, bound=at_most(3.0))
    (one,), (reference,) = judge((reduced,), data), judge((own,), data)
    np.testing.assert_allclose(one.verdict.interval, reference.verdict.interval, rtol=1e-12)
    assert one.verdict.n == 16 and one.verdict.seeds == 16 and one.finding == "holds"
    squared = make(measure=lambda d: d.loss.mean("seed") ** 2, bound=at_most(0.0))
    assert judge((squared,), data)[0].finding == "undecided"


def test_what_no_seed_changes_is_exact():
    data = xr.Dataset({"bound": ("p", [1.0, 2.0])}, {"seed": range(16)})
    (judgment,) = judge((make(measure=lambda d: d.bound, bound=at_most(2.0)),), data)
    assert judgment.finding == "holds" and judgment.verdict.interval == (2.0, 2.0)


def test_a_condition_in_which_all_runs_diverged_is_not_dropped():
    nan = np.nan
    loss = [[1.0] * 8, [nan] * 8]
    data = xr.Dataset(
        {"loss": (("p", "seed"), loss), "diverged_at": (("p", "seed"), [[-1] * 8, [3] * 8])},
        {"p": [0.3, 0.7]},
    )
    (judgment,) = judge((make(measure=lambda d: d.loss, bound=at_most(2.0)),), data)
    assert judgment.finding == "undecided" and judgment.verdict.at == "p = 0.7 (all runs diverged)"
    assert judgment.outcome == "undecided" and judgment.as_expected
    filled = make(measure=lambda d: d.loss.fillna(np.inf), bound=at_most(2.0), statistic="each")
    assert judge((filled,), data)[0].verdict.holds is False
    spoken_of = make(measure=lambda d: d.loss.sel(p=[0.3]), bound=at_most(2.0))
    assert judge((spoken_of,), data)[0].finding == "holds"


@pytest.mark.parametrize(("expect", "outcome"), [("holds", "undecided"), (None, "undecided")])
def test_undecided_is_neither_expected_nor_different(expect, outcome):
    values = xr.DataArray(np.linspace(0, 2, 8), dims="seed")
    claim = make(measure=lambda data: values, bound=at_most(1.1), expect=expect)
    (judgment,) = judge((claim,), xr.Dataset(coords={"seed": range(8)}))
    assert (judgment.outcome, judgment.finding) == (outcome, "undecided")
    assert judgment.as_expected is True


def test_a_value_that_is_no_longer_on_the_axis_is_not_tested():
    data = SEEDS.assign(loss=(("seed", "p"), np.ones((4, 2)))).assign_coords(p=[0.1, 0.2])
    claims = [
        make(measure=lambda d: d.loss.sel(p=0.3), minimum=2),
        make(measure=lambda d: d.loss.isel(p=7), minimum=2),
        make(measure=lambda d: d["los"], minimum=2),
        make(measure=lambda d: d.loss.sel(p=0.2), minimum=2),
    ]
    *lost, control = judge(claims, data)
    said = ("KeyError: .*index 'p'", "IndexError", "KeyError: .*los")
    for judged, error in zip(lost, said, strict=True):
        words = rf"not judged: the axes lack what it measures \({error}"
        assert re.match(words, judged.reason) and judged.verdict is None
        assert "(test_judged.py, line" in judged.reason and "\n" not in judged.reason
    assert control.verdict is not None
    with pytest.raises(AttributeError):
        judge([make(measure=lambda d: d.nothing, minimum=2)], data)
