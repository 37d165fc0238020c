"""A pass through a network in which what its heads read is changed."""

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from jaxtyping import Array, Float

from jaxtheory.texts.errors import InputError


class Edit(NamedTuple):
    """A change of what heads read.

    layer: the layer that is changed; all of them if None. change: change(layer, maps, values,
    heads) returns the new outputs of its heads.
    """

    layer: int | None
    change: Callable[[int, Array, Array, Array], Array]


class Call(NamedTuple):
    """The call of a network in which an intervention is made.

    heads: heads(params, batch) returns what the heads of each layer read in a pass of the network
    without interventions, a list of arrays [B, query, head, d].
    """

    params: Any
    batch: Any
    problem: Any
    config: Any
    heads: Callable[[Any, Any], list[Array]]


Intervention = Callable[[Call], Edit]


class _Pass:
    """A pass through a network: its edits, and what the heads of each layer have read so far."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self.edits = edits
        self.heads: list[Array] = []

    def edited(self, maps: Array, values: Array, heads: Array) -> Array:
        layer = len(self.heads)
        for edit in self.edits:
            if edit.layer in (None, layer):
                heads = edit.change(layer, maps, values, heads)
        self.heads.append(heads)
        return heads

    def require_layers(self) -> None:
        """Raise InputError for an edit of a layer that the network does not have."""
        if self.edits and not self.heads:
            raise InputError(
                "the network cannot be changed, as it does not read by jaxtheory.networks.attend"
            )
        for edit in self.edits:
            if edit.layer is not None and not 0 <= edit.layer < len(self.heads):
                raise InputError(
                    f"layer = {edit.layer}: the network has the layers 0 to {len(self.heads) - 1}"
                )


_PASS: contextvars.ContextVar[_Pass | None] = contextvars.ContextVar("_PASS", default=None)


@contextlib.contextmanager
def changed(edits: Sequence[Edit]) -> Iterator[list[Array]]:
    """Make one pass through a network with edits; the list has the heads of each layer after it.

    Raises InputError for an edit of a layer that the network does not have.
    """
    current = _Pass(edits)
    token = _PASS.set(current)
    try:
        yield current.heads
    finally:
        _PASS.reset(token)
    current.require_layers()


def is_changed() -> bool:
    """True within `changed`."""
    return _PASS.get() is not None


def edited(
    maps: Float[Array, "B head query key"],
    values: Float[Array, "B key head d"],
    heads: Float[Array, "B query head d"],
) -> Float[Array, "B query head d"]:
    """Return the outputs of the heads of the next layer, changed by the edits of this pass."""
    current = _PASS.get()
    return heads if current is None else current.edited(maps, values, heads)
