"""Rectangles of runs: how grids meet, and how a set of runs is made of rectangles."""

import itertools

import numpy as np
import pytest

from jaxtheory.code.plain import as_json
from jaxtheory.engine.request.request import read
from jaxtheory.engine.results.identity import identity
from jaxtheory.engine.store.rectangle import (
    Rectangle,
    check_content,
    content_of,
    has_outputs,
    is_same,
    places,
    rectangles,
    runs_of,
)
from tests.helpers.quadratic import THEORY, Config


def identified(**options):
    return as_json(identity(read(THEORY, Config(), **{"steps": 4, **options})))


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (1, 1), (2, 0)])
def test_any_set_of_runs_is_made_of_disjoint_rectangles(shape):
    rng = np.random.default_rng(0)
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        mask = rng.random(shape) < share
        counts = np.zeros(shape, int)
        for indices in rectangles(mask):
            counts[np.ix_(*indices)] += 1
        np.testing.assert_array_equal(counts, mask)


def test_what_two_axes_and_seeds_lack_is_two_rectangles():
    mask = np.ones((3, 4), bool)
    mask[1:, :2] = False  # two values with two seeds are there
    assert len(list(rectangles(mask))) == 2
    assert len(list(rectangles(np.ones((3, 4), bool)))) == 1


def test_places_of_values_and_seeds():
    small = identified(vary={"eta": [0.3, 0.1]}, seeds=[5, 1])
    large = identified(vary={"eta": [0.1, 0.2, 0.3]}, seeds=[0, 1, 5])
    assert [p.tolist() for p in places(small, large)] == [[2, 0], [2, 1]]
    assert [p.tolist() for p in places(large, small)] == [[1, -1, 0], [-1, 1, 0]]
    assert places(small, identified(vary={"eta": [0.2]})) is None  # none in common
    assert places(small, identified(vary={"s": [0.1]})) is None  # another axis


def test_the_base_value_of_a_swept_field_does_not_decide_numbers():
    one, two = (
        as_json(identity(read(THEORY, Config(eta=r), vary={"eta": [0.1]}, steps=4)))
        for r in (0.1, 0.7)
    )
    assert one != two and runs_of(one) == runs_of(two)
    fixed = identified()
    assert runs_of(fixed) != runs_of(one)
    for more in ({"key": 1}, {"dtype": "float32"}, {"stop": lambda m: m["distance"] < 0}):
        assert not is_same(runs_of(identified(**more)), runs_of(fixed))
    for more in ({"seeds": 3}, {"steps": 9}, {"record": 2}, {"save_params": True}):
        assert is_same(runs_of(identified(**more)), runs_of(fixed))


def test_algorithms_are_compared_where_both_use_them():
    runs = runs_of(identified())
    more = {**runs, "code": {**runs["code"], "algorithm other": "x"}}
    assert is_same(runs, more) and is_same(more, runs)
    changed = {**runs, "code": {name: text + "x" for name, text in runs["code"].items()}}
    assert not is_same(runs, changed)


def test_outputs_that_a_rectangle_has():
    content = lambda **options: content_of(identified(**options), [], None)
    plain = {"record": [0, 2, 4]}
    for stored, wanted, answer in [
        (plain, plain, True),
        (plain, {"record": {"distance": [0, 2, 4]}}, True),
        (plain, {"record": [0, 4]}, False),  # curves may depend on all recorded steps
        (plain, {**plain, "save_params": True}, False),
        ({**plain, "save_params": True}, plain, True),
        ({**plain, "save_params": [2]}, plain, False),
        ({**plain, "save_params": [2]}, {**plain, "save_params": [2]}, True),
        (plain, {**plain, "steps": 5, "record": [0, 2, 4]}, False),
    ]:
        assert has_outputs(content(**stored), identified(**wanted)) is answer, (stored, wanted)


def test_chunks_follow_from_the_plan():
    bucket = {"slots": 5, "layout": {"slots": 2}}
    rectangle = Rectangle(1, {**content_of(identified(), [bucket, bucket], None)})
    assert rectangle.chunks[:3] == [
        f"0000-{first:08d}-{last:08d}" for first, last in ((0, 2), (2, 4), (4, 5))
    ]
    assert len(rectangle.chunks) == 6 and rectangle.shape == (1,)


def test_descriptions_of_wrong_types_are_refused():
    good = {
        **content_of(identified(vary={"eta": [0.1]}), [{"slots": 1, "layout": {"slots": 1}}], None),
        "environment": {},
    }
    check_content(good)
    wrong = [None, 3, "text", [], {}, [[]], {"a": 1}, [{"name": "eta"}], -1, 1e9]
    for name, value in itertools.product(good, wrong):
        changed = {**good, name: value}
        if changed == good or name == "before":
            continue
        try:
            check_content(changed)
        except (TypeError, ValueError, KeyError, AttributeError):
            continue
        Rectangle(0, changed).chunks  # noqa: B018  what is accepted can be used
