"""Evidence: against an integral, and its error rates, through claims and looks, on twenty laws."""

import math

import numpy as np
import pytest
import xarray as xr
from scipy import integrate

import jaxtheory
from jaxtheory import Figure
from jaxtheory.claims import at_least, at_most, between, evidence, run_figure
from jaxtheory.claims.verdict import decide

from .test_claim import make

SHARES = (0.5, 0.75, 0.9)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.75, 0.9])
@pytest.mark.parametrize("n", [1, 8, 40])
def test_it_is_the_integral_of_its_docstring(n, q):
    for s in range(n + 1):
        ratio = lambda p, s=s: (p / q) ** s * ((1 - p) / (1 - q)) ** (n - s)
        mixed, _ = integrate.quad(ratio, q, 1, epsabs=0, epsrel=1e-10)
        expected = mixed / (1 - q) / 2 + (s == n) / (2 * q**n)
        assert math.exp(evidence.log_evidence(s, n, q)) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n", [0, 3, 50])
def test_a_further_replicate_multiplies_it_by_one_on_average_where_the_share_is_q(n, q):
    """So it is a martingale at S = q, whose start is 1."""
    assert evidence.log_evidence(0, 0, q) == pytest.approx(0, abs=1e-12)
    for s in range(n + 1):
        now, more, same = (
            math.exp(evidence.log_evidence(*state, q))
            for state in ((s, n), (s + 1, n + 1), (s, n + 1))
        )
        assert q * more + (1 - q) * same == pytest.approx(now, rel=1e-9)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_it_increases_with_the_replicates_that_satisfy_the_bound(q):
    for n in (1, 8, 200):
        values = [evidence.log_evidence(s, n, q) for s in range(n + 1)]
        assert values == sorted(values)
        least = evidence.least_successes(n, q)
        assert all((value >= math.log(100)) == (s >= least) for s, value in enumerate(values))


def test_many_replicates_neither_overflow_nor_vanish():
    assert evidence.log_evidence(100_000, 100_000, 0.5) == pytest.approx(
        1e5 * math.log(2), rel=1e-4
    )
    assert evidence.log_evidence(0, 100_000, 0.5) == -math.inf
    assert 50_400 < evidence.least_successes(100_000, 0.5) < 50_800


@pytest.mark.parametrize("q", SHARES)
def test_a_coin_at_the_boundary_is_ever_decided_in_one_percent_of_all_histories(q):
    """Looked at after each of 256 replicates; exact, from the distribution of the successes."""
    for share, side in ((q, "holds"), (q, "fails")):
        alive, ever = np.array([1.0]), 0.0
        for n in range(1, 257):
            alive = np.append(alive * (1 - share), 0) + np.append(0, alive * share)
            s = np.arange(n + 1)
            if side == "holds":
                reached = s >= evidence.least_successes(n, q)
            else:
                reached = n - s >= evidence.least_successes(n, 1 - q)
            ever += alive[reached].sum()
            alive = np.where(reached, 0, alive)
        assert 0.002 < ever <= 0.01


def ties(rng, shape):
    return rng.integers(0, 3, shape).astype(float)


UGLY = {  # draws, and a number that exactly half of them reach or exceed, or fewer
    "normal": (lambda rng, shape: rng.normal(size=shape), 0.0),
    "uniform": (lambda rng, shape: rng.uniform(size=shape), 0.5),
    "exponential": (lambda rng, shape: rng.exponential(size=shape), np.log(2)),
    "lognormal 1": (lambda rng, shape: rng.lognormal(size=shape), 1.0),
    "lognormal 3": (lambda rng, shape: rng.lognormal(sigma=3, size=shape), 1.0),
    "cauchy": (lambda rng, shape: rng.standard_cauchy(shape), 0.0),
    "student 2": (lambda rng, shape: rng.standard_t(2, shape), 0.0),
    "pareto": (lambda rng, shape: rng.pareto(0.5, shape), 3.0),
    "two humps": (lambda rng, shape: rng.normal(size=shape) + 10 * rng.integers(0, 2, shape), 5.0),
    "coin": (lambda rng, shape: rng.integers(0, 2, shape).astype(float), 0.5),
    "three values": (ties, 2.0),
    "one in twenty": (lambda rng, shape: (rng.uniform(size=shape) < 0.05) * 1.0, 1.0),
    "equal": (lambda rng, shape: np.where(rng.uniform(size=shape) < 0.5, 4.0, 5.0), 5.0),
    "discrete tail": (lambda rng, shape: rng.geometric(0.5, shape).astype(float), 2.0),
    "huge": (lambda rng, shape: rng.choice([-1e300, 1e300], shape), 0.0),
    "tiny": (lambda rng, shape: rng.choice([-5e-324, 5e-324], shape), 0.0),
    "infinite": (lambda rng, shape: rng.choice([-np.inf, np.inf], shape), 0.0),
    "some infinite": (
        lambda rng, shape: np.where(rng.uniform(size=shape) < 0.1, np.inf, rng.normal(size=shape)),
        0.14,
    ),
    "undefined": (
        lambda rng, shape: np.where(rng.uniform(size=shape) < 0.2, np.nan, rng.normal(size=shape)),
        -0.3186,
    ),
    "minimum of settings": (lambda rng, shape: rng.normal(size=(*shape, 3)).min(-1), -0.8194),
}
LOOKS = (8, 16, 32, 64, 128)
HISTORIES = 1500
CEILING = 0.01 + 3.1 * (0.01 * 0.99 / HISTORIES) ** 0.5  # in one law of a thousand by chance


@pytest.mark.slow
@pytest.mark.parametrize("law", UGLY)
def test_claims_on_ugly_laws_hold_wrongly_in_one_percent_of_all_histories(law):
    """A history is one claim, judged at 8, 16, ... 128 seeds; whoever stops at "holds" is wrong."""
    draw, bound = UGLY[law]
    draws = draw(np.random.default_rng(59), (HISTORIES, LOOKS[-1]))
    assert np.mean(np.nan_to_num(draws, nan=-np.inf) >= bound) <= 0.5 + 0.01
    claim = make(measure=lambda data: data.x, bound=at_least(bound))
    wrong = 0
    for row in draws:
        for n in LOOKS:
            if decide(row[:n], claim.bound, claim.q).holds:
                wrong += 1
                break
    assert wrong / HISTORIES <= CEILING


def coins(folder, key, progress, seeds, share):
    """An experiment: a coin for each seed, the same for any number of seeds."""
    draws = np.random.default_rng(key).uniform(size=64)[:seeds]
    return xr.Dataset({"x": ("seed", (draws < share) * 1.0)}, {"seed": range(seeds)})


@pytest.mark.parametrize("q", SHARES)
def test_figures_run_until_decided_whose_measures_try_to_look_across_replicates(q):
    """A measure sees one replicate, so it cannot make all of them agree. All decisions are wrong:
    so many replicates satisfy the bound as is claimed, and no more.
    """
    claim = make(measure=lambda data: data.x.mean(), bound=at_least(1.0), q=q)
    sweep = {"seeds": 8, "share": q}
    figure = Figure("coins", "test", None, None, sweep, {}, (claim,), lambda data: None, coins)
    decided = 0
    for key in range(HISTORIES // 10):
        (judged,) = run_figure(figure, key=key, max_seeds=32).verdicts
        assert judged.verdict.n in (8, 16, 32)
        decided += judged.verdict.holds is not None
    assert decided / (HISTORIES // 10) <= 2 * (
        0.01 + 3.1 * (0.01 * 0.99 / (HISTORIES // 10)) ** 0.5
    )


@pytest.mark.slow
def test_two_sided_bounds_are_wrong_in_one_percent_of_all_histories(rng):
    """The median of the runs is an end of the bound: whatever is decided is wrong or not known."""
    wrong = 0
    for row in rng.normal(size=(HISTORIES, LOOKS[-1])):
        decisions = [decide(row[:n], between(0.0, 3.5), 0.5).holds for n in LOOKS]
        wrong += False in decisions
    assert wrong / HISTORIES <= CEILING


def test_a_mean_is_not_judged_by_what_is_typical():
    """Equal runs say nothing of the one run in twenty that they lack: the sentence is on the
    typical run, or on a share of them.
    """
    runs = xr.DataArray(np.zeros(8), dims="seed")
    assert jaxtheory.verdict(runs, at_most(0.04)).decision == "holds"
    assert jaxtheory.verdict(runs, at_most(0.04), q=0.95).decision == "undecided"


@pytest.fixture
def rng():
    return np.random.default_rng(5900)
