"""MLIR contexts that programs share.

JAX makes one for every program that it lowers, which takes an eighth of the time of all tests.
"""

import threading
from typing import Any

from jax._src.interpreters import mlir

PROGRAMS = 500  # in one context, which keeps their types, constants and locations
_of_thread = threading.local()
_make = getattr(mlir, "make_ir_context", None)


def share() -> None:
    """Let the programs that a thread lowers share a context, where JAX makes it by this name."""
    if _make is not None:
        mlir.make_ir_context = _context


def renew() -> None:
    """Forget the context of this thread with all that it keeps."""
    vars(_of_thread).clear()


def _context() -> Any:
    state = vars(_of_thread)
    if state.get("programs", PROGRAMS) == PROGRAMS:
        state.update(programs=0, context=_make())
    state["programs"] += 1
    return state["context"]
