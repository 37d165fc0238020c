"""Signals end a command, also where the exception that they raise is lost."""

import re
import signal
import time
from pathlib import Path

import pytest
from helpers.processes import HEEDING, jaxtheory_process

from jaxtheory.cli.interruption import _repeat

REGRESSION = str(Path(__file__).parents[2] / "docs" / "examples" / "linear_regression.py")
COLLECTING = """
import gc, signal, sys
def stop(phase, info):
    if "jaxtheory.engine.compute" in sys.modules:
        gc.callbacks.remove(stop)
        try:
            signal.raise_signal({number})
        except {caught}:
            pass
gc.callbacks.append(stop)
"""


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_an_ended_sweep_leaves_a_store_that_resumes(
    number: int, code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    axes = "--vary d=2,4 --vary eta=log:1e-4:1e-1:8 --steps 5000 --seeds 4"
    words = ("sweep", REGRESSION, *axes.split(), "--store", "kept")
    process = jaxtheory_process(*words)
    while not (tmp_path / "kept" / "manifest.json").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == code
    assert re.search(f"{message}; resume with: \\S*jaxtheory sweep", errors)
    assert "Traceback" not in errors
    assert not (tmp_path / "kept" / "data.zarr").exists()
    again = jaxtheory_process(*words)
    output, errors = again.communicate(timeout=240)
    assert again.returncode == 0, errors
    assert "store     kept" in output
    assert (tmp_path / "kept" / "data.zarr").is_dir()


@pytest.mark.parametrize("caught", ["()", "KeyboardInterrupt"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_whose_exception_is_lost_ends_a_sweep(number: int, code: int, caught: str) -> None:
    """Python ignores what the garbage collector's callbacks raise, and JAX has one of them; C code
    catches some exceptions without a word.
    """
    words = ("sweep", REGRESSION, "--vary", "d=2,4", "--steps", "5000")
    process = jaxtheory_process(
        *words, script=COLLECTING.format(number=number, caught=caught) + HEEDING
    )
    _, errors = process.communicate(timeout=120)
    assert process.returncode == code, errors
    assert "ignored" not in errors


def test_it_is_not_raised_again_while_what_is_open_is_closed() -> None:
    with pytest.raises(KeyboardInterrupt):
        _repeat(KeyboardInterrupt, signal.SIGALRM, None)
    closed = False
    with pytest.raises(KeyboardInterrupt, match="first"):
        try:
            raise KeyboardInterrupt("first")
        finally:
            try:
                raise OSError
            except OSError:
                _repeat(KeyboardInterrupt, signal.SIGALRM, None)
            closed = True
    assert closed
