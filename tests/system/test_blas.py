"""The number of threads of OpenBLAS."""

import ast
import threading

import pytest

from jaxtheory.code import source
from jaxtheory.code.code_hash import DECIDING
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.results import computing
from jaxtheory.system import blas


def test_one_thread_within_and_as_many_as_before_afterwards():
    """Also where blocks of several threads overlap."""
    if (library := blas.library()) is None:
        pytest.skip("this SciPy has another BLAS")
    count = library.scipy_openblas_get_num_threads
    before, entered, leave = count(), threading.Event(), threading.Event()
    digest = computing.digest()

    def hold():
        with blas.one_thread():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    with numerics("float64"):
        assert count() == 1
        assert computing.digest() == digest  # what is open does not count as changed code
        thread.start()
        entered.wait()
    assert count() == 1
    leave.set()
    thread.join()
    assert count() == before


def test_another_blas_is_left_alone(monkeypatch):
    monkeypatch.setattr(blas.importlib.util, "find_spec", lambda name: None)
    assert blas.library.__wrapped__() is None
    monkeypatch.setattr(blas, "library", lambda: None)
    with blas.one_thread():
        pass


@pytest.mark.parametrize("module", DECIDING)
def test_no_module_of_the_identity_rebinds_a_name(module):
    """A rebound name counts as code that was replaced, and would change the identity of results."""
    assert not [n for n in ast.walk(ast.parse(source.text_of(module))) if isinstance(n, ast.Global)]
