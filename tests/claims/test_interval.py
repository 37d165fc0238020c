"""Intervals cover what they are about as often as they say, also for skewed runs and with several
looks. Each rate is of 10,000 experiments with its own seed, of 2,500
where an interval takes a bootstrap.

An interval of 99 % that is exact misses 100 +- 10 of 10,000; the limits below leave four standard
deviations. Where nothing exact exists (means of skewed runs) the limit is the rate of
docs/decisions/0032-intervals.md, measured on other seeds, with the same margin.
"""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from jaxtheory import verdict
from jaxtheory.claims import at_least, at_most, interval

EXPERIMENTS = 10_000
SLOW = 2_500  # of what takes a bootstrap each
EXACT = 0.014  # misses, where 0.01 is meant: four standard deviations more


def of_slow(limit):
    """A limit of a rate of EXPERIMENTS as one of SLOW: four standard deviations are wider."""
    return limit + 4 * np.sqrt(limit) * (SLOW**-0.5 - EXPERIMENTS**-0.5)


def misses(method, draws, true, error=interval.ERROR):
    """The share of the rows whose interval does not contain the true number."""
    ends = np.array([method(row, error) for row in draws])
    return np.mean((ends[:, 0] > true) | (ends[:, 1] < true))


@pytest.fixture
def rng():
    return np.random.default_rng(20261125)


LAWS = {  # name -> draw, true mean, the largest share of misses by n
    "normal": (lambda rng, shape: rng.normal(size=shape), 0.0, {8: EXACT, 16: EXACT, 64: EXACT}),
    "uniform": (lambda rng, shape: rng.uniform(size=shape), 0.5, {8: EXACT, 16: EXACT}),
    "heavy tails": (lambda rng, shape: rng.standard_t(3, shape), 0.0, {8: EXACT, 16: EXACT}),
    "skewed": (
        lambda rng, shape: rng.exponential(size=shape),
        1.0,
        {8: 0.018, 16: EXACT, 64: EXACT},
    ),
    "very skewed": (
        lambda rng, shape: rng.lognormal(size=shape),
        np.exp(0.5),
        {8: 0.036, 16: 0.030, 64: 0.018},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "n"), [(law, n) for law, (*_, rates) in LAWS.items() for n in rates]
)
def test_the_interval_of_a_mean(law, n, rng):
    draw, true, rates = LAWS[law]
    assert misses(interval.of_mean, draw(rng, (SLOW, n)), true) <= of_slow(rates[n])


@pytest.mark.parametrize("n", [8, 16, 51])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9, 0.99])
def test_the_interval_of_a_share(share, n, rng):
    limits = lambda row, error: interval.of_share(row.sum(), len(row), error)
    assert misses(limits, rng.uniform(size=(EXPERIMENTS, n)) < share, share) <= EXACT


@pytest.mark.parametrize("n", [8, 16, 51])
def test_the_interval_of_a_median(n, rng):
    draws = rng.lognormal(size=(EXPERIMENTS, n))
    assert misses(interval.of_median, draws, 1.0) <= EXACT


@pytest.mark.parametrize("n", [8, 16, 51])
@pytest.mark.parametrize("share", [0.02, 0.2, 0.5])
def test_the_bound_on_the_share_of_exceptions(share, n, rng):
    counts = rng.binomial(n, share, EXPERIMENTS)
    most = np.array([interval.most_exceptions(count, n) for count in range(n + 1)])
    assert np.mean(most[counts] < share) <= EXACT


@pytest.mark.slow
@pytest.mark.parametrize(("best", "word"), [("everywhere", "fails"), ("somewhere", "holds")])
def test_the_worst_and_the_best_of_many_conditions(best, word, rng):
    """Of 12 conditions with the mean 0 the extreme one is not taken for more than that."""
    wrong = 0
    for draws in rng.normal(size=(EXPERIMENTS // 5, 12, 8)):
        values = xr.DataArray(draws, dims=("p", "seed"))
        wrong += verdict(values, at_most(0.0), where=best).decision == word
    assert wrong / (EXPERIMENTS // 5) <= 0.019


def test_runs_of_one_seed_that_share_their_draws_count_as_one(rng):
    """Six conditions in which a seed succeeds or fails alike: not 48 runs, but eight."""
    wrong = 0
    for draws in rng.uniform(size=(EXPERIMENTS // 5, 8)) < 0.7:
        values = xr.DataArray(np.tile(draws, (6, 1)), dims=("p", "seed"))
        low, high = verdict(values, at_least(0.7), statistic="share", where="together").interval
        wrong += not low <= 0.7 <= high
    assert wrong / (EXPERIMENTS // 5) <= 0.019


@pytest.mark.slow
@pytest.mark.parametrize("law", ["normal", "skewed"])
def test_looking_again_with_more_seeds_does_not_cheat(law, rng):
    """The mean is the bound itself: whatever is decided, at 8, 16, 32, 64, 128 or 256 seeds, is
    wrong.
    """
    draw, true, _ = LAWS[law]
    wrong = 0
    for row in draw(rng, (SLOW, 256)):
        for look, n in enumerate((8, 16, 32, 64, 128, 256), start=1):
            low, high = interval.of_mean(row[:n], interval.ERROR / 2**look)
            if low > true or high < true:
                wrong += 1
                break
    assert wrong / SLOW <= of_slow({"normal": EXACT, "skewed": 0.02}[law])


def test_against_textbook_values():
    """Student's interval of symmetric runs, the rule of Clopper and Pearson, order statistics."""
    assert interval.of_share(8, 8) == (pytest.approx(0.005 ** (1 / 8)), 1.0)
    assert interval.of_share(0, 8) == (0.0, pytest.approx(1 - 0.005 ** (1 / 8)))
    reference = stats.binomtest(3, 16).proportion_ci(0.99, "exact")
    assert interval.of_share(3, 16) == pytest.approx((reference.low, reference.high))
    assert interval.most_exceptions(0, 16) == pytest.approx(1 - 0.01 ** (1 / 16))
    assert interval.of_median(np.arange(8.0)[::-1]) == (0.0, 7.0)  # misses with 2 / 2^8
    assert interval.of_median(np.arange(7.0)) == interval.NOTHING
    low, high = interval.of_mean(np.arange(5.0))  # too few for a bootstrap
    arm = stats.t.ppf(0.995, 4) * np.std(np.arange(5.0), ddof=1) / 5**0.5
    assert (low, high) == pytest.approx((2 - arm, 2 + arm))


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e250])
def test_an_interval_scales_with_its_runs(scale):
    runs = np.random.default_rng(3).exponential(size=12)
    limits = lambda values: np.array(interval.of_mean(values))
    np.testing.assert_allclose(limits(runs * scale), limits(runs) * scale, rtol=1e-12)
    np.testing.assert_allclose(limits(-runs), -limits(runs)[::-1], rtol=0.3)  # other resamples


def test_degenerate_runs():
    assert interval.of_mean(np.full(9, 0.1)) == (pytest.approx(0.1, abs=1e-16),) * 2
    assert interval.of_mean(np.array([1.0])) == interval.NOTHING
    assert interval.of_share(0, 0) == (0.0, 1.0)
    assert interval.of_median(np.zeros(0)) == interval.NOTHING
    assert interval.most_exceptions(3, 3) == 1.0
    two = interval.of_mean(np.array([0.0] * 7 + [1.0]))
    assert two[0] < 0 < 1 < two[1]  # one run in eight that differs says little
