"""The work of a sweep: what an executor calls for each chunk, here or on another machine."""

import dataclasses

from jaxtheory.core.errors import InputError
from jaxtheory.engine.compute.part import diverged_entries
from jaxtheory.engine.execution.local import Computed, Tell, run_chunk, silent
from jaxtheory.engine.planning.layout import Chunk
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.results.store import Store


@dataclasses.dataclass(frozen=True)
class Task:
    """Computes a chunk. With a store the part is written by whoever computed it, and None returned:
    no array has to travel. `finite`: a run that is not finite is an error, as jax_debug_nans asks;
    otherwise it is flagged in the dataset.
    """

    request: Request
    store: Store | None = None
    finite: bool = False

    def __call__(self, chunk: Chunk, tell: Tell = silent) -> Computed:
        part = run_chunk(self.request, chunk, tell)
        lost = diverged_entries(part)
        if self.finite and len(lost):
            at = int(part.values["diverged_at"][lost[0]])
            raise InputError(
                f"jax_debug_nans is on, and a run was not finite after step {at}; without it "
                "`diverged_at` flags such runs"
            )
        if self.store is None:
            return part
        self.store.write(chunk, part)
        return None
