"""The code under which JAX keeps its traces.

JAX keeps the trace of a function under the function object. If a global that the function reads is
rebound, or a function that it calls is redefined, JAX continues to use the old trace; so it does
for the body of a scan and for a helper under `jit`, even within a new program. Here a hash of the
code is part of what JAX keeps a trace under. It changes no program, and does not enter the key of
the persistent compilation cache.
"""

import functools
import threading
import uuid
from contextlib import AbstractContextManager
from typing import Any

import jax

from jaxtheory.code.code_hash import code_hash
from jaxtheory.texts.errors import InputError

_KEPT = 64  # hashes of parts of a theory; each keeps functions alive

_code = jax.make_user_context("")
_hashing = threading.RLock()  # threads that ask for the same hash wait for the first one


def present() -> str:
    """Return the hash under which this thread traces, "" outside of `under`."""
    return str(_code.value)


def under(code: str) -> AbstractContextManager[None]:
    """Trace, compile and call under a hash of the code, in this thread."""
    context: AbstractContextManager[None] = _code(code)
    return context


def code_of(functions: Any) -> str:
    """Return a hash of functions, or a new text at each call where they have none.

    So functions without a hash are traced again at each call.
    """
    try:
        return code_hash(functions)
    except InputError:
        return uuid.uuid4().hex


def digest(parts: tuple[Any, ...]) -> str:
    """Return a hash of functions that are parts of the code under which this thread traces.

    The hash of all the code determines those of its parts, which are therefore computed once.
    """
    if not present():
        return code_of(parts)
    with _hashing:
        return _part(present(), parts)


@functools.lru_cache(_KEPT)
def _part(_total: str, parts: tuple[Any, ...]) -> str:
    return code_of(parts)
