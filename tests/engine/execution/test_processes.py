"""Work side by side in processes: results in the order of the jobs, errors where they belong."""

import operator
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jaxtheory.engine.execution.processes import count_processes, in_processes


def test_results_come_in_the_order_of_the_jobs():
    jobs = [(1, 2), (8, 2), (9, 3)]
    assert list(in_processes(operator.truediv, jobs, first=[2, 0, 1])) == [0.5, 4, 3]


def test_an_error_in_a_process_is_raised_here():
    quotients = in_processes(operator.truediv, [(1, 2), (1, 0)], first=[1, 0])
    assert next(quotients) == 0.5
    with pytest.raises(ZeroDivisionError):
        next(quotients)


def test_no_more_processes_than_jobs_or_cores(monkeypatch):
    monkeypatch.setenv("JAXTHEORY_DEVICES", "3")
    assert [count_processes(n) for n in (1, 2, 6)] == [1, 2, 3]


ROOT = Path(__file__).parents[3]
KILLED = """
import os, signal
from jaxtheory.engine.execution.processes import in_processes

if __name__ == "__main__":
    found = in_processes(os.getpid, [(), ()], first=[0, 1])
    print(next(found), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_ends_when_the_one_that_asked_is_killed(tmp_path):
    file = tmp_path / "killed.py"
    file.write_text(KILLED)
    # returns once no process holds its output any more
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=120)
    assert done.returncode == -signal.SIGKILL


UNGUARDED = """
import operator
from jaxtheory.engine.execution.processes import in_processes
print(list(in_processes(operator.truediv, [(1, 2), (9, 3)], first=[1, 0])))
"""


def test_a_script_needs_no_guard(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(UNGUARDED)
    environment = {**os.environ, "JAXTHEORY_DEVICES": "2", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, env=environment, timeout=500
    )
    assert (done.returncode, done.stdout) == (0, "[0.5, 3.0]\n"), done.stderr[-3000:]


INTERRUPTED = """
import operator
import os
import signal
from multiprocessing import util
from jaxtheory.cli import interruption
from jaxtheory.engine.execution.processes import in_processes

def spawn(*arguments, begin=util.spawnv_passfds):
    process = begin(*arguments)
    if "--multiprocessing-fork" in map(str, arguments[1]):  # not Python's own tracker
        os.kill(os.getpid(), signal.SIGTERM)
    return process

interruption.listen()
try:
    util.spawnv_passfds = spawn
    print(list(in_processes(operator.truediv, [(1, 2), (9, 3)], first=[1, 0])))
except interruption.Terminated:
    interruption.stop()
    print("terminated")
"""


def test_a_process_is_not_lost_while_it_is_spawned(tmp_path):
    """A signal between the start of a process and what it reads would leave it with a traceback."""
    file = tmp_path / "interrupted.py"
    file.write_text(INTERRUPTED)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("terminated\n", "")
