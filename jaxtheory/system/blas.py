"""Threads of the BLAS behind jaxlib's LAPACK calls on CPU, which is SciPy's OpenBLAS."""

import contextlib
import ctypes
import functools
import importlib.util
import threading
from collections.abc import Iterator
from pathlib import Path

_lock = threading.Lock()
_before: list[int] = []  # the number of threads before each open block of `one_thread`


@functools.cache
def library() -> ctypes.CDLL | None:
    """Return the OpenBLAS that SciPy's wheels contain, or None if this SciPy has another BLAS."""
    spec = importlib.util.find_spec("scipy")
    home = Path(spec.origin).parent if spec is not None and spec.origin else Path()
    files = [*home.parent.glob("scipy.libs/*openblas*"), *home.glob(".dylibs/*openblas*")]
    with contextlib.suppress(OSError):
        if files and hasattr(blas := ctypes.CDLL(str(files[0])), "scipy_openblas_set_num_threads"):
            return blas
    return None


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let OpenBLAS use one thread within the block, in all threads of the process.

    The matrices of a theory are small: further threads wait for each other longer than they
    compute, and the last bits of a result would depend on their number (docs/decisions/0040).
    """
    if (blas := library()) is None:
        yield
        return
    with _lock:
        _before.append(blas.scipy_openblas_get_num_threads())
        blas.scipy_openblas_set_num_threads(1)
    try:
        yield
    finally:
        with _lock:  # blocks of other threads may close in any order: the last one restores
            blas.scipy_openblas_set_num_threads(_before.pop())
