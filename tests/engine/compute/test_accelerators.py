"""What is laid out and compiled for an accelerator, on this machine: one chunk, loops of known
length, problems side by side. The numbers are those of the CPU.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

from jaxtheory import sweep
from jaxtheory.engine.compute import precompile, program
from jaxtheory.engine.planning import lay_out
from jaxtheory.engine.request.request import read
from jaxtheory.theories import get

ASKED = {"vary": {"eta": [0.1, 0.2, 1e60], "noise": [0.0, 0.5]}, "seeds": 4, "dtype": "float64"}


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine takes the backend for one GPU; XLA compiles for what there is."""
    for module in (lay_out, program, precompile):
        monkeypatch.setattr(module, "backend", lambda: "gpu")
    monkeypatch.setattr(program, "_compiled", {})
    monkeypatch.setenv("JAXTHEORY_DEVICES", "1")


@pytest.mark.parametrize("records", [[0, 37], [0, 8, 32, 64], [0, 1, 2, 7]])
def test_the_numbers_are_those_of_the_cpu(records, request):
    asked = {**ASKED, "record": records, "steps": records[-1]}
    plain = sweep(THEORY, Config(), **asked)
    request.getfixturevalue("gpu")
    data = sweep(THEORY, Config(), **asked)
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
    assert program.block_length(np.array([0, 1000])) == 1


def test_blocks_of_any_length_make_the_same_steps():
    """Bit for bit, also where the last block is not whole and where runs stop earlier."""
    asked = read(THEORY, Config(), **{**ASKED, "steps": 23, "record": [0, 23]})
    trained = []
    for length in (1, 4, 16):
        (bucket,) = lay_out.plan_request(asked).buckets
        made = program.Program(
            THEORY, THEORY.algorithms[bucket.algorithm], bucket.template, bucket.layout
        )
        trained.append(states(asked, made, length))
    for other in trained[1:]:
        for one, two in zip(jax.tree.leaves(trained[0]), jax.tree.leaves(other), strict=True):
            np.testing.assert_array_equal(one, two)


def states(asked, made, length):
    """The states of the first chunk after 23 steps, of which the last runs make 9."""
    from jaxtheory.engine.compute.training import _draw
    from jaxtheory.engine.planning.layout import lanes
    from jaxtheory.engine.request.settings import numerics

    with numerics(asked.dtype, asked.partitionable):
        inputs = lanes(asked, lay_out.plan_request(asked).chunks[0])
        row, used = program.PerRow(*_draw(asked, made, inputs)), np.int32(inputs.used)
        limit = inputs.limit.copy()
        limit[..., -1] = 9
        run = program.PerRun(inputs.own, inputs.values, limit)
        start = made.begin()(row, run, used)
        trained = program.Trained(start, np.full(limit.shape, program.NEVER, np.int32))
        train = made.cached(made._train_block, (made.algorithm.step, made.sample), length)
        for begin, end in ((0, 5), (5, 23)):
            trained = train(row, run, trained, used, np.int32(begin), np.int32(end))
        return jax.device_get(trained)


@pytest.mark.parametrize("name", ["random_walk", "nearest_neighbor", "task_diversity"])
def test_a_sweep_is_one_chunk(name, gpu):
    theory = get(name)
    asked = read(theory, theory.Config(), vary={"learning_rate": [0.1, 0.2]}, seeds=16, steps=100)
    made = lay_out.plan_request(asked)
    assert len(made.chunks) == 1 and made.runs == 32


def test_problems_are_drawn_side_by_side_unless_they_factorize(gpu):
    plain = THEORY.problem

    def factorized(key, config):
        zero = 0 * jnp.linalg.det(jax.random.normal(key, (4, 4)))
        return jax.tree.map(lambda x: x + zero.astype(x.dtype), plain(key, config))

    assert turns(THEORY) == 1 and turns(THEORY._replace(problem=factorized)) == 16


def turns(theory):
    """How many calls of the problem a chunk with 16 problems makes, one after the other."""
    asked = read(theory, Config(), seeds=16, steps=2, dtype="float64")
    bucket = lay_out.plan_request(asked).buckets[0]
    made = program.Program(theory, None, bucket.template, bucket.layout)
    keys = jax.random.split(jax.random.key(0), 16)
    closed = jax.make_jaxpr(lambda keys: made._draw(True, keys, {}, np.int32(16)))(keys)
    loops = [eqn for eqn in closed.jaxpr.eqns if eqn.primitive.name in ("while", "scan")]
    return bucket.layout.slots * bucket.layout.rows if loops else 1
