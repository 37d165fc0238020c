"""Verdicts against expectations, and too few replicates for a verdict."""

import math
import re

import numpy as np
import pytest
import xarray as xr

from jaxtheory import InputError
from jaxtheory.claims import at_least, at_most, between, judge
from jaxtheory.claims.judged import judge_numbers, replicates

from .test_claim import make

SEEDS = xr.Dataset(coords={"seed": range(8)})
NAN = float("nan")


def runs(*values):
    """A dataset with a loss for each seed."""
    return xr.Dataset({"loss": ("seed", list(values))}, {"seed": range(len(values))})


def test_fewer_than_eight_replicates_are_not_tested():
    (judged,) = judge((make(expect="fails"),), runs(1.0, 2.0))
    assert judged.verdict is None and judged.reason == "not tested (n=2 < 8)" and judged.as_expected


@pytest.mark.parametrize(
    ("expect", "as_expected"), [("holds", False), ("fails", False), (None, True)]
)
def test_nan_confirms_nothing(expect, as_expected):
    (judged,) = judge((make(expect=expect),), runs(*[NAN] * 8))
    assert judged.as_expected is as_expected and judged.verdict.undefined == 8


def test_a_measure_gets_one_replicate_at_a_time():
    visited = []

    def measure(data):
        assert "seed" not in data.dims
        visited.append(int(data.seed))
        return data.loss

    values = [1.0, 3.0, 2.0]
    numbers = replicates(make(measure=measure), runs(*values))
    assert visited == [0, 1, 2] and numbers == values


@pytest.mark.parametrize(
    ("bound", "number"),
    [(at_least(2.5), 1.0), (at_most(2.5), 4.0), (between(1.5, 2.0), 4.0), (between(2.5, 9.0), 1.0)],
)
def test_of_several_numbers_the_one_farthest_beyond_the_bound_counts(bound, number):
    data = xr.Dataset({"loss": (("p", "seed"), [[1.0], [4.0]])}, {"p": [0.3, 0.7], "seed": [0]})
    assert replicates(make(bound=bound), data) == [number]
    assert replicates(make(bound=bound, law=2.0), data) == [(1.0, 4.0)]
    assert judge_numbers(make(bound=bound), [(1.0, 4.0)] * 8).verdict.measured == number


@pytest.mark.parametrize("bound", [at_least(1.0), at_most(-1.0)])
def test_an_infinite_number_on_the_claimed_side_hides_no_violation(bound):
    infinite = math.inf if math.isinf(bound.high) else -math.inf
    judged = judge_numbers(make(bound=bound), [(infinite, 0.1)] * 8)
    assert judged.verdict.measured == 0.1
    assert judged.verdict.holds is False


def test_a_law_is_rejected_by_one_setting_whose_numbers_all_lie_on_one_side():
    rng = np.random.default_rng(7)
    noise = rng.choice([-0.01, 0.01], 64)
    claim = make(bound=between(0.8, 1.2), law=1.0)
    rejects = lambda *columns: judge_numbers(claim, [*zip(*columns, strict=True)]).rejects_law
    assert not rejects(1 + noise, 1 - noise)
    assert rejects(1 + noise, 1.1 + noise) and rejects(0.9 + noise, 1 - noise)
    one = 1 + np.array([0.1] * 9 + [-0.1])  # 9 of 10: evidence for a single setting is 10
    assert not judge_numbers(claim, [(x, y) for x, y in zip(one, one, strict=True)]).rejects_law
    assert not rejects(*(1.1 + noise[:8] for _ in range(2)))  # 8 of 8: 156 of 400 for two settings
    assert rejects(*(1.1 + noise[:10] for _ in range(2)))
    ragged = [(1.1, 1.1), (1.1,)] * 16
    assert not judge_numbers(claim, ragged).rejects_law
    broken = [(1.1, 1.1)] * 31 + [NAN]
    assert judge_numbers(claim, broken).verdict.undefined == 1
    assert judge_numbers(claim, broken).rejects_law
    assert not judge_numbers(claim, broken[22:]).rejects_law  # 9 of 10


def test_a_law_among_many_settings_is_wrongly_rejected_rarely():
    """Two-sided over twelve settings: at most 1 % of repetitions with symmetric noise."""
    rng = np.random.default_rng(31)
    claim = make(bound=between(-9.0, 9.0), law=0.0)
    rejected = sum(
        judge_numbers(claim, [*map(tuple, rng.standard_normal((32, 12)))]).rejects_law
        for _ in range(400)
    )
    assert rejected <= 8


def test_a_setting_without_a_number_leaves_its_replicate_undefined():
    loss = np.ones((2, 16))
    loss[1, 3] = NAN
    data = xr.Dataset({"loss": (("p", "seed"), loss)}, {"p": [0.3, 0.7]})
    (judged,) = judge((make(bound=at_most(2.0)),), data)
    assert (judged.verdict.undefined, judged.verdict.satisfied, judged.finding) == (1, 15, "holds")
    (judged,) = judge((make(bound=at_most(2.0), q=1),), data)
    assert judged.finding == "undecided"
    for bound in (at_most(2.0), at_least(0.5), between(0.5, 2.0)):
        (judged,) = judge((make(bound=bound, q=1, diverged="violates"),), data)
        assert judged.finding == "refuted" and not judged.verdict.undefined
    spoken_of = make(measure=lambda d: d.loss.sel(p=0.3), bound=at_most(2.0))
    assert judge((spoken_of,), data)[0].verdict.undefined == 0


def test_numbers_without_draws_are_exact():
    data = runs(2.0)
    assert judge((make(bound=at_most(2.0)),), data)[0].reason == "not tested (n=1 < 8)"
    assert judge((make(bound=at_most(2.0), exact=True),), data)[0].finding == "holds"
    assert judge((make(bound=at_most(1.9), exact=True),), data)[0].finding == "refuted"
    assert judge((make(bound=at_most(2.0), exact=True),), runs(NAN))[0].finding == "undecided"


def test_an_example_is_shown_and_not_judged():
    for values in ((0.0, 0.5, 0.7), (0.0,) * 64):
        (judged,) = judge((make(bound=at_most(2.0), example=True, expect=None),), runs(*values))
        assert (judged.finding, judged.verdict.decision) == ("an example", "undecided")
        assert judged.verdict.satisfied == len(values) and judged.verdict.seeds_needed is None


@pytest.mark.parametrize("expect", ["holds", None])
def test_undecided_is_neither_expected_nor_different(expect):
    claim = make(bound=at_most(1.1), expect=expect)
    (judged,) = judge((claim,), runs(*np.linspace(0, 2, 8)))
    assert (judged.outcome, judged.finding) == ("undecided", "undecided")
    assert judged.as_expected is True


def test_a_value_that_is_no_longer_on_the_axis_is_not_tested():
    data = SEEDS.assign(loss=(("seed", "p"), np.ones((8, 2)))).assign_coords(p=[0.1, 0.2])
    claims = [
        make(measure=lambda d: d.loss.sel(p=0.3)),
        make(measure=lambda d: d.loss.isel(p=7)),
        make(measure=lambda d: d["los"]),
        make(measure=lambda d: d.loss.sel(p=0.2)),
    ]
    *lost, control = judge(claims, data)
    said = ("KeyError: .*index 'p'", "IndexError", "KeyError: .*los")
    for judged, error in zip(lost, said, strict=True):
        words = rf"not judged: the axes lack what it measures \({error}"
        assert re.match(words, judged.reason) and judged.verdict is None
        assert "(test_judged.py, line" in judged.reason and "\n" not in judged.reason
    assert control.verdict is not None
    with pytest.raises(AttributeError):
        judge([make(measure=lambda d: d.nothing)], data)


def test_a_measure_that_returns_no_number_is_refused():
    with pytest.raises(InputError, match=r"claim x: measure must return a number .* got a dict"):
        judge([make(measure=lambda d: {})], SEEDS)
