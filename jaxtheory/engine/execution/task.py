"""The task of a sweep: the function that an executor calls for each chunk, here or elsewhere."""

import dataclasses

from jaxtheory.core.errors import InputError
from jaxtheory.engine.compute.part import diverged_entries
from jaxtheory.engine.execution.local import Computed, Tell, run_chunk, silent
from jaxtheory.engine.planning.layout import Chunk
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.results.store import Store


@dataclasses.dataclass(frozen=True)
class Task:
    """Computes a chunk.

    With a store the part is written where it was computed, and None is returned, so that no array
    has to be sent. If `finite` is true, as jax_debug_nans requests, a run that is not finite is an
    error; otherwise the dataset flags it.
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
                f"jax_debug_nans is on, and a run was not finite after step {at}; turn it off to "
                "have such runs flagged in diverged_at instead"
            )
        if self.store is None:
            return part
        self.store.write(chunk, part)
        return None
