"""Verdicts: the share of replicates that satisfy a bound, and the rule solved for the bound."""

import itertools

import numpy as np
import pytest
import xarray as xr

from jaxtheory import InputError, verdict
from jaxtheory.claims import at_least, at_most, between
from jaxtheory.claims.verdict import decide
from jaxtheory.reports import wording

NINE = xr.DataArray(np.linspace(1, 3, 9), dims="seed")
NAN = float("nan")


@pytest.mark.parametrize(
    ("bound", "q", "decision", "measured", "satisfied"),
    [
        (at_least(1.0), 0.5, "holds", 2.0, 9),
        (at_least(1.3), 0.5, "undecided", 2.0, 7),
        (at_least(2.9), 0.5, "undecided", 2.0, 1),
        (at_least(3.5), 0.5, "fails", 2.0, 0),
        (at_most(3.0), 0.5, "holds", 2.0, 9),
        (at_most(0.5), 0.5, "fails", 2.0, 0),
        (between(1.0, 3.0), 0.5, "holds", 2.0, 9),
        (between(1.0, 2.9), 0.5, "undecided", 2.0, 8),
        (between(3.5, 4.0), 0.5, "fails", 2.0, 0),
        (between(0.1, 0.9), 0.5, "fails", 2.0, 0),
        (at_least(1.0), 0.9, "undecided", 1.0, 9),
        (at_least(1.0), 0.75, "undecided", 1.5, 9),
        (at_most(3.0), 0.75, "undecided", 2.5, 9),
        (at_least(2.8), 0.75, "fails", 1.5, 1),
        (at_least(1.0), 1, "undecided", 1.0, 9),
        (at_least(1.1), 1, "fails", 1.0, 8),
        (at_most(2.9), 1, "fails", 3.0, 8),
    ],
)
def test_share_and_bound(bound, q, decision, measured, satisfied):
    outcome = verdict(NINE, bound, q=q)
    assert (outcome.decision, outcome.n, outcome.satisfied) == (decision, 9, satisfied)
    assert outcome.measured == pytest.approx(measured)
    assert outcome.holds is {"holds": True, "fails": False, "undecided": None}[decision]
    low, high = outcome.interval
    assert low <= outcome.measured <= high


def test_all_holds_without_an_exception_in_49_and_one_refutes():
    zeros = xr.DataArray(np.zeros(49), dims="seed")
    assert verdict(zeros, at_most(0.5), q=1).decision == "holds"
    assert verdict(zeros[:48], at_most(0.5), q=1).decision == "undecided"
    assert verdict(zeros[:48], at_most(0.5), q=1).seeds_needed == 49
    zeros[7] = 1.0
    assert verdict(zeros, at_most(0.5), q=1).decision == "fails"
    zeros[7] = NAN
    assert verdict(zeros, at_most(0.5), q=1).decision == "undecided"


def test_truth_values_are_ones_and_zeros():
    truth = xr.DataArray([True] * 20, dims="seed")
    assert verdict(truth, at_least(1), q=0.75).decision == "holds"
    assert verdict(~truth, at_least(1), q=0.75).decision == "fails"


@pytest.mark.parametrize(("undefined", "decision"), [(0, "holds"), (1, "holds"), (2, "undecided")])
def test_replicates_without_a_number_count_against_both(undefined, decision):
    values = xr.DataArray([NAN] * undefined + [1.0] * (16 - undefined), dims="seed")
    assert verdict(values, at_least(0.5)).decision == decision
    mirrored = {"holds": "fails", "undecided": "undecided"}[decision]
    outcome = verdict(values, at_least(1.5))
    assert (outcome.decision, outcome.undefined, outcome.n) == (mirrored, undefined, 16)


def test_without_numbers_nothing_is_decided():
    for count in (0, 5):
        outcome = verdict(xr.DataArray(np.full(count, NAN), dims="seed"), at_least(0.5))
        assert outcome.decision == "undecided" and np.isnan(outcome.measured)
        assert outcome.interval == (-np.inf, np.inf) and outcome.seeds_needed is None


@pytest.mark.parametrize("q", [0.3, 0.5, 0.75, 0.9])
@pytest.mark.parametrize("n", [8, 16, 64, 200])
def test_the_interval_is_the_rule_solved_for_the_bound(n, q):
    """Also with ties, infinite numbers and replicates without one."""
    rng = np.random.default_rng(n)
    numbers = np.round(rng.normal(size=n), 1)
    numbers[:2], numbers[2] = NAN, np.inf
    bounds = np.unique(np.concatenate([numbers[3:], rng.normal(size=20)]))
    for bound in bounds:
        low, high = decide(numbers, at_least(bound), q).interval
        assert (decide(numbers, at_least(bound), q).holds is None) == (low < bound <= high)
        low, high = decide(numbers, at_most(bound), q).interval
        assert (decide(numbers, at_most(bound), q).holds is None) == (low <= bound < high)
    for low, high in itertools.combinations(bounds[::3], 2):
        outcome = decide(numbers, between(low, high), q)
        assert (outcome.holds is True) == (
            low <= outcome.interval[0] and outcome.interval[1] <= high
        )


def test_the_mirror_image_has_the_mirrored_verdict():
    rng = np.random.default_rng(1)
    for n, q in itertools.product((9, 33), (0.5, 0.75, 1.0)):
        numbers = rng.normal(size=n)
        for bound in (-1.0, 0.0, 0.4):
            one, other = decide(numbers, at_least(bound), q), decide(-numbers, at_most(-bound), q)
            assert (one.holds, one.satisfied) == (other.holds, other.satisfied)
            assert one.measured == -other.measured
            assert one.interval == tuple(-end for end in other.interval[::-1])


@pytest.mark.parametrize("q", [0.5, 0.75, 0.9])
@pytest.mark.parametrize("share", [0.6, 0.8, 0.95, 1.0])
def test_so_many_replicates_like_these_decide(q, share):
    numbers = np.repeat([1.0, 0.0], [round(20 * share), 20 - round(20 * share)])[::-1]
    outcome = decide(numbers, at_least(1), q)
    needed = outcome.seeds_needed
    if outcome.holds is not None:
        assert needed is None
    elif needed is not None:
        m = needed - needed % 20 + 20  # whole copies, so that the share is that of these
        assert decide(np.tile(numbers, m // 20 + 1), at_least(1), q).holds is not None
        assert decide(np.tile(numbers, max(1, needed // 20 // 2)), at_least(1), q).holds is None


def test_a_share_at_the_bound_itself_is_never_decided():
    truth = xr.DataArray([1.0, 0.0] * 8, dims="seed")
    assert verdict(truth, at_least(1)).seeds_needed is None


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (NINE, {"bound": 1.0}, r"bound must be at_least\(x\), .* of jaxtheory.claims, got 1.0"),
        (NINE, {"bound": (1.0, 2.0)}, r"bound must be .*, got \(1.0, 2.0\)"),
        (NINE, {"bound": at_least(1.0), "q": 0}, r"q = 0: must be a number in \(0, 1\]"),
        (NINE, {"bound": at_least(1.0), "q": 1.5}, r"q = 1.5: must be a number in \(0, 1\]"),
        (NINE, {"bound": at_least(1.0), "q": "most"}, "q = 'most': must be a number"),
        (NINE, {"bound": at_least(1.0), "q": True}, "q = True: must be a number"),
        (NINE.expand_dims("p"), {"bound": at_least(1.0)}, "values: has p; must have one number"),
        (NINE.mean(), {"bound": at_least(1.0)}, "values: has no dimension; must have one number"),
    ],
)
def test_a_verdict_needs_a_bound_a_share_and_one_number_for_each_seed(values, options, message):
    with pytest.raises(InputError, match=message):
        verdict(values, **options)


@pytest.mark.parametrize(
    ("claim", "text", "behind"),
    [
        ({"interval": [1.234567, 1.9]}, "1.5 [1.23, 1.9]", "15 of 16"),
        ({"interval": [None, 1.9], "q": 0.75}, "1.5 [open, 1.9]", "15 of 16 (0.75 is claimed)"),
        ({"interval": [None, None], "q": 1}, "1.5", "15 of 16 (all are claimed)"),
        ({"interval": [1.5, 1.5], "equal": 12}, "1.5", "15 of 16, 12 equal"),
        ({"interval": None, "undefined": 1}, "1.5", "15 of 16, 1 without a number"),
        ({"measured": None}, "no number", "15 of 16"),
        ({"measured": None, "n": None}, "", ""),
        ({"satisfied": None}, "1.5", "16"),
    ],
)
def test_the_measured_number_in_words(claim, text, behind):
    record = {"measured": 1.5, "interval": [1.5, 1.5], "n": 16, "satisfied": 15}
    record |= {"undefined": 0, "equal": 1, "q": 0.5} | claim
    assert wording.measured(record) == text
    assert wording.seeds(record) == behind
