"""Locks: one process at a time."""

import os
from pathlib import Path

import pytest

from jaxtheory.system import locks


@pytest.mark.timeout(60)
def test_a_lock_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock")
    with locks.locked(tmp_path / "lock"):
        pass
