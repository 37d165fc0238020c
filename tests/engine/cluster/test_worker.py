"""A worker of a cluster: the package it needs, and what it leaves behind."""

import subprocess
import sys

from jaxtheory import cluster

BARE = """
import pickle, sys
sys.modules["jaxtheory"] = None
task = pickle.loads(sys.stdin.buffer.read())
try:
    task(b"", 0, 0, 1)
except ModuleNotFoundError as error:
    print(error.name)
"""


def test_a_worker_without_jaxtheory_says_so():
    from distributed.protocol import pickle

    task = pickle.dumps(cluster._run_on_worker)
    done = subprocess.run([sys.executable, "-c", BARE], input=task, capture_output=True, check=True)
    assert done.stdout.decode().startswith("jaxtheory")
