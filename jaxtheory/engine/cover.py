"""Cover the runs of a request with the rectangles of a store: those that are there, and new ones.

What is missing is decided once, under a lock, from what is there. Nothing is computed.
"""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxtheory.code.plain import as_json
from jaxtheory.engine.planning.planner import Plan, plan_request
from jaxtheory.engine.request.axes import Axis
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.results.environment import present
from jaxtheory.engine.results.identity import identity
from jaxtheory.engine.results.versions import Versions, require_present
from jaxtheory.engine.store.rectangle import (
    Rectangle,
    content_of,
    has_outputs,
    is_same,
    places,
    rectangles,
    runs_of,
)
from jaxtheory.engine.store.states import continues, observable
from jaxtheory.engine.store.store import Store
from jaxtheory.engine.store.view import parts_of
from jaxtheory.texts.errors import InputError


class Piece(NamedTuple):
    """A rectangle of a store from which a request takes runs.

    places: for each dimension the index in the request of each of its values, -1 for none.
    request, plan: those that compute the rectangle; None if only its finished runs are taken.
    """

    rectangle: Rectangle
    places: list[np.ndarray]
    request: Request | None = None
    plan: Plan | None = None


class Cover(NamedTuple):
    """The pieces that cover a request, and for each run of its grid the piece that it is from."""

    pieces: list[Piece]
    owner: np.ndarray


def cover(store: Store, request: Request, identified: Mapping[str, Any]) -> Cover:
    """Return the rectangles of a store from which a request takes runs, as far as they are there.

    Of runs that several rectangles have, those of the first are taken.
    """
    owner = np.full(grid_shape(request), -1, np.int32)
    pieces = list[Piece]()
    for rectangle in _of_these_runs(store, identified):
        at = places(rectangle.content, identified)
        if at is None or not has_outputs(rectangle.content, identified):
            continue
        free = (owner < 0) & _mask(owner.shape, at)
        if not free.any():
            continue
        piece = _computable(rectangle, at, request)
        if piece.plan is None:
            free &= _finished(store, piece, owner.shape)
        if free.any():
            owner[free] = len(pieces)
            pieces.append(piece)
    return Cover(pieces, owner)


def extend(
    store: Store, request: Request, identified: Mapping[str, Any], accept_versions: bool
) -> Cover:
    """Return the rectangles that cover a request, of which missing ones are published.

    Raises InputError if something is missing and the versions of this process are not accepted, or
    if it exceeds memory; nothing is published then.
    """
    pieces, owner = cover(store, request, identified)
    present_ones = {one.name: one for one in _of_these_runs(store, identified)}
    new = list(_missing(list(present_ones.values()), request, identified, owner < 0))
    if new or not all(is_finished(store, piece) for piece in pieces):
        before = [
            present_ones[addition.content["before"]]
            for addition in new
            if addition.content["before"]
        ]
        used = [*(piece.rectangle for piece in pieces), *before]
        require_present(store.path, versions_of(store, used), accept_versions)
    for addition in new:
        rectangle = store.add({**addition.content, "environment": present()})
        owner[_region(addition.places)] = len(pieces)
        pieces.append(Piece(rectangle, addition.places, addition.request, addition.plan))
    return Cover(pieces, owner)


def _of_these_runs(store: Store, identified: Mapping[str, Any]) -> list[Rectangle]:
    """The rectangles whose runs have the numbers that a request asks for."""
    runs = runs_of(identified)
    return [
        rectangle for rectangle in store.rectangles() if is_same(rectangle.content["runs"], runs)
    ]


def grid_shape(request: Request) -> tuple[int, ...]:
    """Return the number of values on each axis, then that of seeds."""
    return (*request.points.shape, len(request.seeds))


def is_finished(store: Store, piece: Piece) -> bool:
    """True if all chunks that a request may compute are there."""
    return piece.plan is None or not missing(store, piece)


def missing(store: Store, piece: Piece) -> list[Any]:
    """Return the chunks of a piece whose parts are missing or damaged."""
    if piece.plan is None:
        return []
    chunks = piece.plan.chunks
    return [c for c in chunks if store.note(piece.rectangle, c.name) is None]


def versions_of(store: Store, used: list[Rectangle]) -> Iterator[Versions]:
    """Yield the versions under which rectangles were begun, and those of their parts."""
    for rectangle in used:
        yield rectangle.content["environment"]
        for chunk in rectangle.chunks:
            if note := store.note(rectangle, chunk):
                yield note


def _region(at: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The index of the runs of a request that a rectangle has."""
    return np.ix_(*(index[index >= 0] for index in at))


def _mask(shape: tuple[int, ...], at: list[np.ndarray]) -> np.ndarray:
    mask = np.zeros(shape, bool)
    mask[_region(at)] = True
    return mask


def _computable(rectangle: Rectangle, at: list[np.ndarray], request: Request) -> Piece:
    """The piece of a rectangle, which this request computes if all of its runs are its own."""
    piece = Piece(rectangle, at)
    if any((index < 0).any() for index in at):
        return piece
    part = restrict(request, at)
    content = rectangle.content
    description = content_of(as_json(identity(part)), content["plan"], content["before"])
    if Rectangle(0, {**description, "environment": {}}).mark != rectangle.mark:
        return piece  # it has further outputs
    try:
        plan = plan_request(part).following(content["plan"])
    except InputError:  # another version of jaxtheory plans other buckets
        return piece
    return piece._replace(request=part, plan=plan)


def _finished(store: Store, piece: Piece, shape: tuple[int, ...]) -> np.ndarray:
    """The runs of a request that are in finished parts of a rectangle."""
    done = np.zeros(shape, bool)
    for part in parts_of(store, piece.rectangle, piece.places, shape):
        done.ravel()[part.point * shape[-1] + part.place] = True
    return done


class _New(NamedTuple):
    """A rectangle that is not published yet."""

    places: list[np.ndarray]
    request: Request
    plan: Plan
    content: dict[str, Any]


def _missing(
    present_ones: list[Rectangle], request: Request, identified: Mapping[str, Any], free: np.ndarray
) -> Iterator[_New]:
    """The rectangles to compute: first those that continue others, then the rest."""
    for rectangle in present_ones:
        content, at = rectangle.content, places(rectangle.content, identified)
        if at is None or not (
            observable(content, request, identified) or continues(content, request, identified)
        ):
            continue
        mine = free & _mask(free.shape, at)
        for indices in rectangles(mine):
            yield _planned(request, list(indices), rectangle)
        free = free & ~mine
    for indices in rectangles(free):
        yield _planned(request, list(indices), None)


def _planned(request: Request, at: list[np.ndarray], before: Rectangle | None) -> _New:
    """A new rectangle, with the plan of the one that it continues, where that fits."""
    part = restrict(request, at)
    plan = plan_request(part)
    if before is not None:
        with contextlib.suppress(InputError):
            plan = plan.following(before.content["plan"])
    name = None if before is None else before.name
    return _New(at, part, plan, content_of(as_json(identity(part)), as_json(plan.layouts), name))


def restrict(request: Request, at: list[np.ndarray]) -> Request:
    """Return the request with these values of its axes and these seeds, as indices."""
    pairs = zip(at, grid_shape(request), strict=True)
    if all(np.array_equal(index, np.arange(n)) for index, n in pairs):
        return request
    pick = lambda values, index: (
        values[index] if isinstance(values, np.ndarray) else tuple(values[i] for i in index)
    )
    axes = tuple(
        Axis(
            axis.name,
            pick(axis.labels, index),
            {word: pick(values, index) for word, values in axis.values.items()},
        )
        for axis, index in zip(request.axes, at, strict=False)
    )
    points = request.points._replace(axes=axes)
    return request._replace(axes=axes, points=points, seeds=request.seeds[at[-1]])
