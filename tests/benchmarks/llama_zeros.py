"""The worth of zeros on a CPU: bytes of a pruned checkpoint, and the time of sparse products.

Bytes: of the small Llama that `jaxtheory run llama` trains, with all matrices of all layers pruned
by SparseGPT, and its perplexity. CHECKPOINT is its folder, llama-1500-*.
Time: y = x W on one core, W (inputs, outputs) in float32, for one row x and for 64.

Run: python tests/benchmarks/llama_zeros.py [--folder CHECKPOINT] [--inputs 2048] [--outputs 8192]
"""

import argparse
import os
import sys
from pathlib import Path

if __name__ == "__main__":  # one core, before XLA and BLAS count them
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    sys.path[:0] = map(str, Path(__file__).parents[1:3])

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from benchmarks import timing
from benchmarks.timing import Side
from jax.experimental import sparse

from jaxtheory import llama

BATCHES = (1, 64)


def pruned_matrix(inputs, outputs, zeros, seed=0):
    """Gaussian W of which the smallest entries are zero: a share, or 2 of every 4 inputs."""
    W = np.random.default_rng(seed).standard_normal((inputs, outputs), np.float32)
    if zeros == "2:4":
        groups = np.abs(W).reshape(-1, 4, outputs)
        order = np.argsort(np.argsort(groups, axis=1), axis=1)
        return np.where((order >= 2).reshape(W.shape), W, 0)
    return np.where(np.abs(W) > np.quantile(np.abs(W), zeros), W, 0)


def two_of_four(W):
    """Kept values (inputs / 2, outputs) and the inputs that they read."""
    support = W != 0
    order = np.argsort(~support.reshape(-1, 4, W.shape[1]), axis=1, kind="stable")[:, :2]
    rows = (order + 4 * np.arange(len(order))[:, None, None]).reshape(-1, W.shape[1])
    return np.take_along_axis(W, rows, 0), rows.astype(np.int32)


def products(W, zeros):
    """Functions x -> x W, by name; those of JAX are compiled and take their arrays as arguments."""
    csr = scipy.sparse.csr_array(W.T)
    functions = {
        "dense, NumPy": lambda x: x @ W,
        "CSR, SciPy": lambda x: (csr @ x.T).T,
    }

    def compiled(function, *arrays):
        run, arrays = jax.jit(function), jax.tree.map(jnp.asarray, arrays)
        return lambda x: jax.block_until_ready(run(x, *arrays))

    functions["dense, JAX"] = compiled(lambda x, W: x @ W, W)
    functions["BCSR, JAX"] = compiled(
        lambda x, S: (S @ x.T).T, sparse.BCSR.from_scipy_sparse(scipy.sparse.csr_matrix(csr))
    )
    if zeros == "2:4":
        one = lambda x, V, rows: jnp.sum(x[rows] * V, axis=0)
        functions["2:4 by indices, JAX"] = compiled(
            lambda x, V, rows: jax.lax.map(lambda row: one(row, V, rows), x), *two_of_four(W)
        )
    return functions


def times(inputs, outputs, rounds):
    """CPU seconds of each product as multiples of NumPy's dense one."""
    for zeros in (0.5, "2:4", 0.8, 0.9, 0.95, 0.99):
        W = pruned_matrix(inputs, outputs, zeros)
        for batch in BATCHES:
            x = np.random.default_rng(1).standard_normal((batch, inputs), np.float32)
            run = products(W, zeros)
            half = W[:, : outputs // 2].copy()
            run["half the outputs removed, NumPy"] = lambda x, half=half: x @ half
            repeats = 20 if batch == 1 else 3
            sides = {
                name: Side(lambda f=f, x=x, n=repeats: [f(x) for _ in range(n)])
                for name, f in run.items()
            }
            timed = timing.alternating(sides, rounds)
            dense = np.asarray(timed["dense, NumPy"].cpu)
            for name, one in timed.items():
                ratio = np.median(np.asarray(one.cpu) / dense)
                seconds = np.median(one.cpu) / repeats
                print(
                    f"zeros {zeros!s:>4}  batch {batch:>2}  {name:<32} {1e3 * seconds:9.3f} ms  "
                    f"{ratio:7.2f} of dense",
                    flush=True,
                )


def sizes(folder):
    """Perplexity, and bytes of the whole checkpoint as shares of its full bytes."""
    from sweeps.llama import calibration, evaluation

    text, heldout = calibration(0, 0), evaluation()
    for dtype in ("float32", "bfloat16"):
        weights, config = llama.load(folder, dtype)
        for zeros in (0, 0.5, "2:4", 0.8, 0.9):
            share = {"pattern": (2, 4)} if zeros == "2:4" else {"ratio": zeros}
            methods = dict.fromkeys(("attention", "mlp", "value_output"), "sparsegpt")
            sparse_weights, _ = llama.prune(weights, text, config, **methods, **share)
            stored = llama.stored_bytes(sparse_weights, config)
            shares = {name: round(size / stored["full"], 3) for name, size in stored.items()}
            perplexity = llama.perplexity(sparse_weights, heldout, config)
            print(
                f"{dtype:<8}  zeros {zeros!s:>4}  perplexity {perplexity:7.3f}  {shares}",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--inputs", type=int, default=2048)
    parser.add_argument("--outputs", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.folder is not None:
        sizes(options.folder)
    times(options.inputs, options.outputs, options.rounds)


if __name__ == "__main__":
    main()
