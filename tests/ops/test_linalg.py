"""Linear algebra agrees with NumPy and runs in several threads."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory import (
    linalg,
)


def test_linear_algebra():
    a = jax.random.normal(jax.random.key(0), (5, 4))
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    for r in (0, 1, 4):
        np.testing.assert_allclose(
            linalg.truncate(a, jnp.int32(r)), (u[:, :r] * s[:r]) @ vt[:r], atol=1e-13
        )
    assert linalg.direction_error(a, 3 * a) < 1e-15 and linalg.direction_error(
        a, -a
    ) == pytest.approx(2)
    assert (
        linalg.direction_error(jnp.zeros((5, 4)), a) == pytest.approx(1)
        and not linalg.unit(jnp.zeros(3)).any()
    )


def run(code, timeout=400, **environment):
    """The output of a Python process, without what this one has set for JAX."""
    own = {
        k: v for k, v in os.environ.items() if not k.startswith("JAX") and k != "NPROC"
    } | environment
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=own,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


FACTORS = """
import threading, jax, jax.numpy as jnp
from jaxtheory.ops import linalg

def several(key):
    def body(i, total):
        matrices = jax.random.normal(jax.random.fold_in(key, i), (4, 8, 8))
        square = matrices @ matrices.mT + jnp.eye(8)[None]
        factors = (linalg.svd, linalg.singular_values, linalg.eigvalsh, linalg.cholesky, linalg.inv)
        found = [jnp.sum(leaf) for f in factors for leaf in jax.tree.leaves(jax.vmap(f)(square))]
        return total + sum(found) + jnp.sum(jax.vmap(linalg.solve)(square, matrices))
    return jax.lax.fori_loop(0, 30, body, 0.0)

program = jax.jit(jax.vmap(several))
keys = jax.random.split(jax.random.key(0), 4)
program(keys).block_until_ready()
work = lambda: [program(keys).block_until_ready() for _ in range(20)]
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("done")
"""


def test_every_factorization_of_core_can_run_in_many_threads():
    assert run(FACTORS, timeout=240, NPROC="2") == ["done"]
