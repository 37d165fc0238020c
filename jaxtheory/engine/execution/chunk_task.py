"""The task of a sweep: the function that an executor calls for each chunk, here or elsewhere."""

import dataclasses
import functools
from collections.abc import Callable

from jaxtheory.engine.compute.part import diverged_entries
from jaxtheory.engine.execution.local import Computed, Report, run_chunk, silent
from jaxtheory.engine.planning.buckets import lanes
from jaxtheory.engine.records import Chunk, Outcome, Part, Resumed
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.results.environment import present
from jaxtheory.engine.store.rectangle import Rectangle
from jaxtheory.engine.store.states import PriorRuns, arrays_of
from jaxtheory.engine.store.store import Store
from jaxtheory.texts.errors import InputError


@dataclasses.dataclass(frozen=True)
class ChunkTask:
    """Computes a chunk.

    With a store, the part of a rectangle of it is published where it was computed, and True is
    returned, so that no array has to be sent; False if another process computes the chunk and
    `claim` is true. If `finite` is true, as jax_debug_nans requests, a run that is not finite is an
    error; otherwise the dataset flags it. With `keep` the states of the runs are kept beside the
    parts. With `accept` a worker may have another processor and other flags than the sweep.
    """

    request: Request
    store: Store | None = None
    rectangle: Rectangle | None = None
    finite: bool = False
    keep: bool = False
    claim: bool = True
    accept: bool = False

    def __call__(self, chunk: Chunk, tell: Report = silent) -> Computed:
        if self.store is None or self.rectangle is None:
            return self._part(chunk, tell, lambda _: None)
        with self.store.claim(self.rectangle, chunk.name) as mine:
            if self.store.note(self.rectangle, chunk.name) is not None:
                return True  # published since the sweep looked
            if self.claim and not mine:
                return False
            states: list[Outcome | Resumed] = []
            part = self._part(chunk, tell, states.append)
            if self.keep and states:
                self._keep(chunk, states[-1])
            arrays = {"point": part.point, "place": part.place, **part.values}
            self.store.write(self.rectangle, chunk.name, arrays, present())
            return True

    def _keep(self, chunk: Chunk, outcome: Outcome | Resumed) -> None:
        """Write the states of a chunk. On a full disk they are left out."""
        assert self.store is not None and self.rectangle is not None
        with numerics(self.request.dtype, self.request.partitionable):
            arrays = arrays_of(lanes(self.request, chunk), outcome)
        try:
            self.store.write(self.rectangle, chunk.name, arrays, {}, "state")
        except InputError:  # without states longer runs are trained from the beginning
            return

    def _part(self, chunk: Chunk, tell: Report, keep: Callable[[Outcome | Resumed], None]) -> Part:
        """The part of a chunk, whose runs continue those of another rectangle if possible."""
        part = self._continued(chunk, tell, keep)
        if part is None:
            part = run_chunk(self.request, chunk, tell, None, keep)
        lost = diverged_entries(part)
        if self.finite and len(lost):
            at = int(part.values["diverged_at"][lost[0]])
            raise InputError(
                f"jax_debug_nans is on, and a run was not finite after step {at}; turn it off to "
                "have such runs flagged in diverged_at instead"
            )
        return part

    def _continued(
        self, chunk: Chunk, tell: Report, keep: Callable[[Outcome | Resumed], None]
    ) -> Part | None:
        """The part of a chunk made from another rectangle, or None."""
        if (before := self.before) is None:
            return None
        with numerics(self.request.dtype, self.request.partitionable):
            resumed = before.resumed(chunk, lanes(self.request, chunk))
        if before.steps == self.request.points.steps:
            if (part := before.observed(chunk)) is not None and resumed is not None:
                keep(resumed)
            return part
        if resumed is None:
            return None
        return before.prepend_records(run_chunk(self.request, chunk, tell, resumed, keep))

    @functools.cached_property
    def before(self) -> PriorRuns | None:
        """The rectangle that this one continues, if it is in the store."""
        if self.store is None or self.rectangle is None or not self.rectangle.content["before"]:
            return None
        predecessor = self.store.rectangle(self.rectangle.content["before"])
        if predecessor is None:
            return None
        return PriorRuns(self.store, predecessor, self.request, self.rectangle.content)
