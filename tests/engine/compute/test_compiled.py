"""Compiled functions are made once, and no more are kept than memory allows."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.worked_example import THEORY, Config, compilations, training_loops

from jaxtheory import sweep


def test_a_second_sweep_of_any_theory_compiles_nothing():
    options = {"vary": {"eta": [0.1, 0.2]}, "seeds": 2, "steps": 4, "dtype": "float64"}
    sweep(THEORY, Config(dimension=11), **options)
    with compilations() as programs:
        sweep(THEORY, Config(dimension=11), **{**options, "key": 3})
    assert training_loops(programs) == 0


MANY = """
import sys; sys.path.insert(0, {here!r})
import jaxtheory
from helpers.worked_example import THEORY, Config
for k in range(120):
    config = Config(dimension=2 + k % 12, batch_size=3 + k // 12)
    jaxtheory.sweep(THEORY, config, vary={{"eta": [0.1, 0.2]}}, seeds=2, steps=5)
print(int(open("/proc/self/statm").read().split()[1]) * {page} // 2**20)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="reads the resident memory from /proc"
)
def test_many_different_sweeps_stay_below_800_megabytes():
    code = MANY.format(here=str(Path(__file__).parents[2]), page=resource.getpagesize())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 800  # 2240 where every program is kept
