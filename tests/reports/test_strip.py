"""The picture of a verdict: interval, number, bound and claimed side where they are."""

import re

import pytest

from jaxtheory.reports.strip import WIDTH, strip


def record(measured, interval, bound):
    return {"satisfied": 16, "measured": measured, "interval": interval, "bound": bound}


def places(picture):
    """The claimed side, the ends of the interval, the number and the bounds, in pixels."""
    side = re.search(r'<rect x="(\S+)" width="(\S+)"', picture)
    left, width = float(side[1]), float(side[2])
    line = re.search(r'd="M(\S+) 8H(\S+)"', picture)
    dot = float(re.search(r'cx="(\S+)"', picture)[1])
    bounds = [float(x) for x in re.findall(r'class="bound" d="M(\S+) 0', picture)]
    return (left, left + width), (float(line[1]), float(line[2])), dot, bounds


def test_at_most_shades_the_left_side_of_the_bound():
    side, ends, dot, bounds = places(strip(record(1.0, [0.5, 1.5], "≤ 2")))
    assert side[0] == 0 and bounds == [side[1]] and ends[0] < dot < ends[1] < side[1]
    assert dot - ends[0] == pytest.approx(ends[1] - dot, abs=0.2)


def test_at_least_shades_the_right_side_and_a_violation_lies_outside():
    side, ends, dot, bounds = places(strip(record(-1.0, [-1.2, -0.9], "≥ -0.5")))
    assert side[1] == WIDTH and bounds == [side[0]] and ends[1] < side[0] and dot < side[0]


def test_between_has_two_bounds_and_an_open_end_runs_to_the_edge():
    side, ends, _, bounds = places(strip(record(1.0, [None, 1.1], "0.9 to 1.25")))
    assert bounds == [*side] and ends[0] == 0


def test_equal_numbers_are_drawn():
    side, ends, dot, bounds = places(strip(record(0.0, [0.0, 0.0], "≤ 0")))
    assert ends == (dot, dot) and bounds == [dot] and side[0] == 0
    assert places(strip(record(4.0, [4.0, 4.0], "4 to 4")))[0][1] > 0


def test_everything_lies_within_the_picture():
    for bound in ("≤ 1e-12", "≥ 1e+06", "-1e-05 to 3"):
        side, ends, dot, bounds = places(strip(record(0.5, [-2e-9, 7e4], bound)))
        assert all(0 <= x <= WIDTH for x in (*side, *ends, dot, *bounds))


@pytest.mark.parametrize("missing", ["measured", "satisfied"])
def test_what_was_not_judged_by_replicates_has_no_picture(missing):
    assert strip(record(1.0, [0.5, 1.5], "≤ 2") | {missing: None}) == ""
