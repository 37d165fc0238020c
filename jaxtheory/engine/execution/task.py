"""The task of a sweep: the function that an executor calls for each chunk, here or elsewhere."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from jaxtheory.core.errors import InputError
from jaxtheory.engine.compute.part import diverged_entries
from jaxtheory.engine.execution.local import Computed, Tell, run_chunk, silent
from jaxtheory.engine.records import Chunk, Outcome, Part, Resumed
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.results.states import Before, save
from jaxtheory.engine.results.store import Store


@dataclasses.dataclass(frozen=True)
class Task:
    """Computes a chunk.

    With a store the part is written where it was computed, and None is returned, so that no array
    has to be sent. If `finite` is true, as jax_debug_nans requests, a run that is not finite is an
    error; otherwise the dataset flags it. With `keep` the states of the runs are kept beside the
    parts. `before` is the store of a shorter sweep that this one goes on from.
    """

    request: Request
    store: Store | None = None
    finite: bool = False
    keep: bool = False
    before: Path | None = None

    def __call__(self, chunk: Chunk, tell: Tell = silent) -> Computed:
        states: list[Outcome | Resumed] = []
        part = self._part(chunk, tell, states.append)
        lost = diverged_entries(part)
        if self.finite and len(lost):
            at = int(part.values["diverged_at"][lost[0]])
            raise InputError(
                f"jax_debug_nans is on, and a run was not finite after step {at}; turn it off to "
                "have such runs flagged in diverged_at instead"
            )
        if self.store is None:
            return part
        self.store.write(chunk, part)
        if self.keep and states:
            save(self.store.path, self.store.mark, chunk, states[-1])
        return None

    def _part(self, chunk: Chunk, tell: Tell, keep: Callable[[Outcome | Resumed], None]) -> Part:
        """The part of a chunk, whose runs go on from the store `before` where that is possible."""
        if self.before is not None:
            before = Before(self.before)
            if before.steps == self.request.points.steps:
                observed = before.observed(self.request, chunk)
                if observed is not None:
                    if (resumed := before.resumed(chunk)) is not None:
                        keep(resumed)
                    return observed
            elif (resumed := before.resumed(chunk)) is not None:
                part = run_chunk(self.request, chunk, tell, resumed, keep)
                if (joined := before.joined(self.request, chunk, part)) is not None:
                    return joined
        return run_chunk(self.request, chunk, tell, None, keep)
