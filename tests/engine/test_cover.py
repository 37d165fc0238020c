"""How the runs of a request are covered by rectangles of a store."""

import numpy as np
import pytest

import jaxtheory
from jaxtheory import InputError
from jaxtheory.code.plain import as_json
from jaxtheory.engine.cover import cover, extend, restrict
from jaxtheory.engine.request.request import read
from jaxtheory.engine.results.identity import identity
from jaxtheory.engine.store.store import Store
from tests.helpers.quadratic import THEORY, Config

ASKED = {"vary": {"eta": [0.1, 0.2]}, "seeds": 3, "steps": 4}


@pytest.fixture
def store(tmp_path):
    jaxtheory.sweep(THEORY, Config(), **ASKED, store=tmp_path / "a")
    return Store(tmp_path / "a")


def request_of(**options):
    request = read(THEORY, Config(), **ASKED | options)
    return request, as_json(identity(request))


def test_what_is_there_covers_a_part_of_a_larger_request(store):
    request, identified = request_of(vary={"eta": [0.3, 0.2, 0.1]}, seeds=[5, 0, 1, 2])
    pieces, owner = cover(store, request, identified)
    assert len(pieces) == 1 and pieces[0].request is not None
    wanted = np.full((3, 4), -1)
    wanted[1:, 1:] = 0
    np.testing.assert_array_equal(owner, wanted)
    assert [indices.tolist() for indices in pieces[0].places] == [[2, 1], [1, 2, 3]]


def test_the_rest_is_covered_by_as_few_rectangles_as_the_grid_allows(store):
    request, identified = request_of(vary={"eta": [0.1, 0.2, 0.3]}, seeds=4)
    pieces, owner = extend(store, request, identified, False)
    assert len(pieces) == 3 and (owner >= 0).all()
    again = extend(store, request, identified, False)  # decided once
    assert [p.rectangle.name for p in again.pieces] == [p.rectangle.name for p in pieces]
    assert len(store.rectangles()) == 3


def test_longer_runs_go_on_where_there_is_a_beginning(store):
    request, identified = request_of(vary={"eta": [0.2, 0.3]}, steps=9, record=[0, 2, 9])
    pieces, owner = extend(store, request, identified, False)
    before = {p.rectangle.content["before"] for p in pieces}
    assert before == {store.rectangles()[0].name, None} and (owner >= 0).all()


def test_runs_of_another_kind_cover_nothing(store):
    request, identified = request_of(key=1)
    assert cover(store, request, identified).pieces == []
    with pytest.raises(InputError, match="key: stored 0; requested 1"):
        jaxtheory.sweep(THEORY, Config(), **ASKED, key=1, store=store.path)


def test_a_restricted_request_is_that_of_its_values():
    request, _ = request_of(vary={"eta": [0.1, 0.2, 0.3], "cut": [1.0, 2.0]}, seeds=[4, 5, 6])
    part = restrict(request, [np.array([2, 0]), np.array([1]), np.array([1, 2])])
    wanted, _ = request_of(vary={"eta": [0.3, 0.1], "cut": [2.0]}, seeds=[5, 6])
    assert identity(part) == identity(wanted)
    assert restrict(request, [np.arange(3), np.arange(2), np.arange(3)]) is request
