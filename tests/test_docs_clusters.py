"""The scripts of docs/clusters.md for a Slurm array run with several processes and one store."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.stores import parts

import jaxtheory
from jaxtheory.engine.store.store import Store

PAGE = Path(__file__).parents[1] / "docs" / "clusters.md"
SECTION = (
    PAGE.read_text().partition("## A Slurm array without a scheduler\n")[2].partition("\n## ")[0]
)
SCRIPTS = re.findall(r"```bash\n(.*?)```", SECTION, re.DOTALL)
PROCESSES = 3
SRUN = """#!/bin/bash
shift 2  # -n 8
for task in 1 2 3; do "$@" & tasks="$tasks $!"; done
for task in $tasks; do wait $task || exit 1; done
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with a stand-in for `srun`."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "srun").write_text(SRUN)
    (tmp_path / "bin" / "srun").chmod(0o755)
    return tmp_path


def small(script):
    """The script with two seeds and two steps."""
    text = script.replace("--seeds 100 --steps 50", "--seeds 2 --steps 2")
    assert text != script
    return text


def start(script, folder):
    own = [str(folder / "bin"), str(Path(sys.executable).parent)]
    path = os.pathsep.join([*own, os.environ["PATH"]])
    return subprocess.Popen(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "SLURM_CPUS_PER_TASK": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["array", "srun"])
def test_the_scripts_for_slurm_share_one_store(folder, number):
    script = small(SCRIPTS[number])
    tasks = [start(script, folder) for _ in range(1 if "srun" in script else PROCESSES)]
    for task in tasks:
        out, error = task.communicate(timeout=500)
        assert task.returncode == 0 and "store     walks" in out, error
    store = Store(folder / "walks")
    (rectangle,) = store.rectangles()
    assert len(parts(folder / "walks")) == len(rectangle.chunks) >= PROCESSES
    data = jaxtheory.open_store(folder / "walks")
    assert dict(data.diverged_at.sizes) == {"clockwise_probability": 33, "num_states": 2, "seed": 2}
    assert bool((data.diverged_at == -1).all()) and bool(np.isfinite(data.accuracy).all())


def test_there_are_two_scripts_of_one_command():
    one, parallel = (script.partition("_TASK\n")[2] for script in SCRIPTS)
    assert parallel == f"srun -n 8 {one}"
    assert "#SBATCH --array=1-8\n" in SCRIPTS[0] and "#SBATCH --ntasks=8\n" in SCRIPTS[1]
