"""Two workers against one, and against a process that is bound to one core. Half of the latter is
the floor of two; the one worker has XLA spread its programs over all cores.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from benchmarks.cases import described
from benchmarks.low_rank import THEORY
from benchmarks.study import Study
from benchmarks.table import Group, Line
from benchmarks.timing import Side

RATES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
STUDY = Study(THEORY, THEORY.Config(batch_size=16), "learning_rate", RATES, 8, 100)
GOAL = 1.6
BOUND = """
import os, sys
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
sys.path.insert(0, sys.argv[1])
from benchmarks import workers
for _ in sys.stdin:
    workers.STUDY.ends()
    print(flush=True)
"""


def one() -> None:
    """The sweep by one worker."""
    with mock.patch.dict(os.environ, JAXTHEORY_DEVICES="1"):
        STUDY.ends()


def groups() -> Iterator[Group]:
    setting = described(STUDY, "setting S1, B = 16, two records")
    words = [sys.executable, "-c", BOUND, str(Path(__file__).parents[1])]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def bound() -> None:
            print(file=process.stdin, flush=True)
            if not process.stdout.readline():
                raise RuntimeError("the process that is bound to one core has ended")

        sides = {"two": Side(STUDY.ends), "one": Side(one), "bound": Side(bound)}
        lines = [
            Line("two workers over one", "two", "one", "faster", GOAL),
            Line("two workers over one core", "two", "bound", "faster"),
        ]
        yield Group(THEORY.name, setting, sides, lines, {})
