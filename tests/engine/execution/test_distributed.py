"""One array program over several processes: a theory's loss and gradient on a batch that two
processes share, by jax.distributed with gloo, are those of one process.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[3]
PROCESS = """
import sys
import jax
address, number, file = sys.argv[1], int(sys.argv[2]), sys.argv[3]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(address, num_processes=2, process_id=number, initialization_timeout=60)

import numpy as np
import jaxtheory
from jax.sharding import NamedSharding, PartitionSpec

jax.config.update("jax_enable_x64", True)
theory = jaxtheory.theories.load(file).THEORY
config = theory.Config(dimension=3, batch_size=8)
key = jaxtheory.run_key(0, 0)
problem = theory.problem(key, config)
batch = theory.sample(key, problem, config)
params = theory.init(key, problem, config)
both = lambda params, batch: (
    theory.loss(params, batch, problem, config), theory.gradient(params, batch, problem, config)
)
want = jax.jit(both)(params, batch)

mesh = jax.sharding.Mesh(np.array(jax.devices()), ("sample",))
assert jax.process_count() == 2 and len(mesh.devices) == 2 and len(jax.local_devices()) == 1
split = NamedSharding(mesh, PartitionSpec("sample"))
whole = NamedSharding(mesh, PartitionSpec())
def lay(array, place):
    array = np.asarray(array)
    return jax.make_array_from_callback(array.shape, place, lambda index: array[index])
shared = jax.tree.map(lambda x: lay(x, split), batch)
assert all(x.addressable_shards[0].data.shape[0] == 4 for x in jax.tree.leaves(shared))
program = jax.jit(both, out_shardings=whole)
spread = jax.tree.map(lambda x: lay(x, whole), params)
assert "all-reduce" in program.lower(spread, shared).compile().as_text()
got = program(spread, shared)
for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want)):
    np.testing.assert_allclose(np.asarray(g.addressable_shards[0].data), w, rtol=1e-12)
print(float(got[0].addressable_shards[0].data), *np.asarray(got[1].weights.addressable_data(0)))
"""


def test_two_processes_share_one_program():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    file = ROOT / "docs" / "examples" / "linear_regression.py"
    own = {k: v for k, v in os.environ.items() if not k.startswith("JAX") and k != "NPROC"}
    own |= {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": own}
    processes = [
        subprocess.Popen([sys.executable, "-c", PROCESS, address, str(number), str(file)], **pipes)
        for number in (0, 1)
    ]
    try:
        said = [process.communicate(timeout=240) for process in processes]
    finally:
        for process in processes:
            process.kill()
    errors = "\n".join(error[-2000:] for _, error in said)
    assert [process.returncode for process in processes] == [0, 0], errors
    numbers = [np.array(out.splitlines()[-1].split(), float) for out, _ in said]  # gloo speaks too
    assert numbers[0].size == 4 and np.array_equal(*numbers)
