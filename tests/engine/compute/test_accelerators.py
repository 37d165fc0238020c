"""What is laid out and compiled for an accelerator, on this machine: one chunk, loops of known
length, problems side by side. The numbers are those of the CPU.
"""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

from jaxtheory import sweep
from jaxtheory.engine.compute import compiled, precompile, program
from jaxtheory.engine.planning import planner
from jaxtheory.engine.request.jaxprs import keeps
from jaxtheory.engine.request.request import read
from jaxtheory.theories import get

ASKED = {"vary": {"eta": [0.1, 0.2, 1e60], "noise": [0.0, 0.5]}, "seeds": 4, "dtype": "float64"}


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine takes the backend for one GPU; XLA compiles for what there is."""
    for module in (planner, program, precompile):
        monkeypatch.setattr(module, "backend", lambda: "gpu")
    monkeypatch.setattr(compiled, "_compiled", {})
    monkeypatch.setenv("JAXTHEORY_DEVICES", "1")


@pytest.mark.parametrize("records", [[0, 37], [0, 8, 32, 64], [0, 1, 2, 7]])
def test_the_numbers_are_those_of_the_cpu(records, request):
    options = {**ASKED, "record": records, "steps": records[-1]}
    plain = sweep(THEORY, Config(), **options)
    request.getfixturevalue("gpu")
    data = sweep(THEORY, Config(), **options)
    assert (plain.diverged_at > 0).any() and plain.diverged_at.identical(data.diverged_at)
    for name in plain.data_vars:
        np.testing.assert_allclose(data[name], plain[name], rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    ("records", "length"),
    [
        ([0, 1000], 16),
        ([0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000], 16),
        ([0, 4, 8, 12], 4),
        ([0, 1, 2, 3], 1),
        ([0], 1),
    ],
)
def test_the_length_of_blocks_wastes_few_steps(records, length, gpu):
    assert program.block_length(np.array(records)) == length


def test_on_a_cpu_no_step_is_made_in_vain():
    assert program.block_length(np.array([0, 1000])) is None


@pytest.mark.parametrize("lasting", [True, False])
def test_blocks_of_any_length_make_the_same_steps(lasting, monkeypatch):
    """Bit for bit, also where the last block is not whole, where runs stop earlier, and where some
    diverge within a block.
    """
    keeps = program.keeps
    monkeypatch.setattr(program, "keeps", lambda *args: lasting and keeps(*args))
    values = [0.1, 0.2, 1.4, 2.0, 1e3, 1e30]
    more = {"vary": {"eta": values}, "seeds": 2, "dtype": "float32"}
    request = read(THEORY, Config(), **more, steps=150, record=[0, 150])
    trained = [states(request, length) for length in (1, 4, 16, None)]
    ends = trained[0][0].diverged_at
    assert len(set(ends.ravel().tolist())) > 3, ends
    for outcome in trained[1:-1]:
        jax.tree.map(np.testing.assert_array_equal, trained[0], outcome)
    np.testing.assert_array_equal(trained[-1][0].diverged_at, ends)
    never = ends == program.NEVER
    for one, two in zip(
        *(jax.tree.leaves(outcome[0].state) for outcome in trained[::3]), strict=True
    ):
        np.testing.assert_allclose(one[never], two[never], 1e-4, 1e-6)


def states(request, length):
    """The first chunk, of which the last runs make 9 steps, and its metrics."""
    from jaxtheory.engine.compute.training import _draw
    from jaxtheory.engine.planning.buckets import lanes
    from jaxtheory.engine.request.settings import numerics

    (bucket,) = planner.plan_request(request).buckets
    trainer = program.Program(
        THEORY, THEORY.algorithms[bucket.algorithm], bucket.template, bucket.layout
    )
    with numerics(request.dtype, request.partitionable):
        inputs = lanes(request, planner.plan_request(request).chunks[0])
        row, used = program.PerRow(*_draw(request, trainer, inputs)), np.int32(inputs.used)
        limit = inputs.limit.copy()
        limit[..., -1] = 9
        run = program.PerRun(inputs.run_fields, inputs.values, limit)
        start = trainer.begin()(row, run, used)
        trained = program.Trained(start, np.full(limit.shape, program.NEVER, np.int32))
        slots = (
            trainer.algorithm.step,
            trainer.sample,
            trainer.theory.metrics,
            trainer.algorithm.params,
        )
        train = trainer.cached(trainer._train, slots, length, (None,))
        turns = program.Turns(*np.array([[0, 5], [5, 150], [0, 0]], np.int32), np.int32(2))
        return jax.device_get(train(row, run, trained, used, turns))


TWO = """
import sys; sys.path.insert(0, {here!r})
import jax, numpy as np
from unittest import mock
from helpers.worked_example import THEORY, Config
from jaxtheory import sweep
from jaxtheory.engine.compute import precompile, program
from jaxtheory.engine.execution import local
from jaxtheory.engine.planning import planner
options = dict(vary={{"eta": [0.1, 0.2, 1e60]}}, seeds=64, steps=20, dtype="float64")
used = set()
with mock.patch.multiple(planner, backend=lambda: "gpu", _SLOTS_MEMORY=1, _ACCELERATOR_CACHE=1):
    (program.backend, precompile.backend), plain = (lambda: "gpu",) * 2, local.under
    one = sweep(THEORY, Config(), **options)
    local.backend = lambda: "gpu"
    local.under = lambda caller, device: used.add(device) or plain(caller, device)
    two = sweep(THEORY, Config(), **options)
assert used == set(jax.devices()) and len(used) == 2, used
assert one.identical(two) and (two.diverged_at > 0).any()
"""


@pytest.mark.slow
def test_two_devices_share_the_chunks_of_a_sweep_and_its_numbers_are_the_same():
    """Two devices of the host in place of accelerators."""
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAXTHEORY_DEVICES": "2"}
    code = TWO.format(here=str(Path(__file__).parents[2]))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **flags},
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("name", ["random_walk", "nearest_neighbor", "task_diversity"])
def test_a_sweep_is_one_chunk(name, gpu):
    theory = get(name)
    request = read(theory, theory.Config(), vary={"learning_rate": [0.1, 0.2]}, seeds=16, steps=100)
    sweep_plan = planner.plan_request(request)
    assert len(sweep_plan.chunks) == 1 and sweep_plan.runs == 32


def test_problems_are_drawn_side_by_side_unless_they_factorize(gpu):
    plain = THEORY.problem

    def factorized(key, config):
        zero = 0 * jnp.linalg.det(jax.random.normal(key, (4, 4)))
        return jax.tree.map(lambda x: x + zero.astype(x.dtype), plain(key, config))

    assert turns(THEORY) == 1 and turns(THEORY._replace(problem=factorized)) == 16


@pytest.mark.parametrize(
    ("step", "answer"),
    [
        (lambda x: x - 0.1 * jnp.sin(x), True),
        (lambda x: jnp.where(x[0] > 0, 2 * x, -x / 3), True),
        (lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y, x) * 0 + x, True),
        (lambda x: x.astype(jnp.float16).astype(x.dtype) + jax.nn.silu(x), True),
        (
            lambda x: x * jax.lax.while_loop(lambda i: i < 9, lambda i: i + 1, 0).astype(x.dtype),
            True,
        ),
        (lambda x: jnp.clip(x, -1, 1), False),
        (lambda x: 1 / x, False),
        (lambda x: jnp.where(x > 0, x, 0), False),
        (lambda x: jnp.zeros_like(x) + x[0], False),
        (lambda x: x - jax.lax.while_loop(lambda y: y > 1, lambda y: y / 2, x[0]), False),
        (lambda x: x + jax.lax.while_loop(lambda i: i < 9, lambda i: 2 * i + 1, 1.0 * x[0]), False),
        (lambda x: jnp.tanh(x) + 0.1, False),
    ],
)
def test_which_steps_keep_what_is_not_finite(step, answer):
    assert keeps(step, jnp.ones(3)) is answer
    if answer:
        for bad in (jnp.nan, jnp.inf, -jnp.inf):
            x = jnp.ones(3).at[1].set(bad)
            assert (~jnp.isfinite(step(x))).tolist()[1]


def test_a_state_of_several_arrays_keeps_each():
    one, integers = jnp.ones(2), jnp.ones(2, int)
    assert keeps(lambda s: (s[0] - s[1], 0.9 * s[1], 0 * s[2]), (one, one, integers))
    assert not keeps(lambda s: (s[1], s[0], s[2]), (one, one, integers))
    assert not keeps(lambda s: (s[0] + 1, s[0] - 1), (one, one))
    assert not keeps(lambda s: [s[0], s[1]], (one, one))


def turns(theory):
    """How many calls of the problem a chunk with 16 problems makes, one after the other."""
    request = read(theory, Config(), seeds=16, steps=2, dtype="float64")
    bucket = planner.plan_request(request).buckets[0]
    trainer = program.Program(theory, None, bucket.template, bucket.layout)
    keys = jax.random.split(jax.random.key(0), 16)
    closed = jax.make_jaxpr(lambda keys: trainer._draw(True, keys, {}, np.int32(16)))(keys)
    loops = [eqn for eqn in closed.jaxpr.eqns if eqn.primitive.name in ("while", "scan")]
    return bucket.layout.slots * bucket.layout.rows if loops else 1
