"""A run's numbers do not depend on how many chunks are computed side by side."""

import os
import subprocess
import sys

import pytest
from helpers.some import some

SHARDED = """
import numpy as np, jaxtheory
from jaxtheory.verification.conformance import close, keep_one_metric
from jaxtheory.theories import get, names
walk = get("random_walk")
assert jaxtheory.plan(walk, walk.examples[0], steps=1).devices == {devices}
for name in names():
    for i, config in enumerate(get(name).examples[:{examples}]):
        theory = keep_one_metric(get(name)) if i or {devices} > 2 else get(name)
        data = jaxtheory.sweep(theory, config, seeds={devices}, steps=4, record=4, dtype="float64")
        error = next(n for n in ("loss", "icl_error", "diagonal", "energy") if n in data)
        assert (data.diverged_at == -1).all() and np.isfinite(data[error]).all()
        if i == 0:
            key = jaxtheory.run_key(0, 1)
            run = jaxtheory.simulate(theory, config, key, steps=4, record=4, dtype="float64")
            for n, value in run.metrics.items():
                assert close(data[n].sel(seed=1).values, value), (name, i)
print("same")
"""


@pytest.mark.parametrize(("devices", "examples"), some([(2, 1), (4, 2)], (2, 1)))
def test_side_by_side_in_a_subprocess(devices, examples):
    """All theories, chunks side by side, in a process that a deadlock would not take down. With two
    the first example with all metrics.
    """
    code = SHARDED.format(devices=devices, examples=examples)
    environment = {
        **os.environ,
        "JAXTHEORY_DEVICES": str(devices),
    }
    if devices > 2:  # losses only
        del environment["XLA_FLAGS"]  # compiled as a user's programs are
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0 and done.stdout.strip() == "same", done.stderr[-3000:]
