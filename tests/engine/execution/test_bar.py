"""The bar of a sweep: shown in a notebook, and elsewhere only if it is asked for."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
import tqdm.auto
from helpers.worked_example import EXAMPLE, THEORY, Config

from jaxtheory import InputError, sweep
from jaxtheory.engine.execution import bar
from jaxtheory.engine.execution.progress import Progress


def shell(monkeypatch: pytest.MonkeyPatch, **has) -> None:
    """Let this process look like one that runs in a shell of IPython."""
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(**has))
    monkeypatch.setitem(sys.modules, "IPython", ipython)


def test_a_notebook_has_a_bar_and_a_terminal_has_none(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not bar.in_notebook() and bar.listener(None, "walk") is None
    shell(monkeypatch, kernel=None)  # IPython in a terminal
    assert not bar.in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not bar.in_notebook() and capsys.readouterr().err == ""
    shell(monkeypatch, kernel=object())
    assert bar.in_notebook() and bar.listener(False, "walk") is None
    assert bar.listener(print, "walk") is print
    assert callable(bar.listener(None, "walk"))
    assert "walk: compile:   0%" in capsys.readouterr().err


def test_a_bar_follows_the_events_and_ends(capsys):
    show = bar.listener(True, "walk")
    show(Progress("run", 1, 4, 10, 20, None, 0.375))
    show(Progress("assemble", 4, 4, 20, 20, 0.0, 1.0))
    frames = capsys.readouterr().err.split("\r")
    assert frames[-1].startswith("walk: 100%|") and frames[-1].endswith("\n")
    assert "4/4 points, step 20/20" in frames[-1]


def test_a_sweep_in_a_notebook_shows_one_unless_told_otherwise(monkeypatch, capsys, tmp_path):
    shell(monkeypatch, kernel=object())
    sweep(THEORY, Config(), steps=2, progress=False)
    assert capsys.readouterr().err == ""
    sweep(THEORY, Config(), steps=2, store=tmp_path / "run")
    assert f"{THEORY.name}: 100%" in capsys.readouterr().err
    sweep(THEORY, Config(), steps=2, store=tmp_path / "run")  # finished
    assert capsys.readouterr().err == ""


def test_what_was_done_before_does_not_count_as_speed(monkeypatch):
    bars = []

    class Kept(tqdm.auto.tqdm):
        def __init__(self, **options):
            super().__init__(**options)
            bars.append(self)

    monkeypatch.setattr(tqdm.auto, "tqdm", Kept)
    show = bar.listener(True, "walk")
    show(Progress("resume", 2, 4, 0, 0, None, 0.5))
    show(Progress("run", 3, 4, 5, 10, None, 0.75))
    assert (bars[0].initial, bars[0].n) == (0.5, 0.75)
    assert "walk: run:  75%" in str(bars[0]) and "3/4 points, step 5/10" in str(bars[0])
    bars[0].close()


def test_what_is_no_listener_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match="progress = 3: must be a function, True for a bar"):
        sweep(THEORY, Config(), steps=2, progress=3, store=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_script_and_a_pipe_have_no_bar():
    code = (
        f"import jaxtheory, sys\nfrom jaxtheory.core.resolve import theory_of\n"
        f"theory = theory_of({str(EXAMPLE)!r})\n"
        "jaxtheory.sweep(theory, theory.Config(), steps=2)\nprint('tqdm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"False\n", b"")
