"""A random checkpoint of the shape of Llama-3.2-1B, pruned within 16 GB: Wanda and SparseGPT on all
layers, attention and MLP; the gradient method on one layer. Prints seconds and the peak of memory.

Run: python tests/benchmarks/llama_memory.py FOLDER [--layers 16]; FOLDER takes 2.5 GB and is left.
"""

import argparse
import resource
import time
from pathlib import Path

import jax
import numpy as np

from jaxtheory import llama
from jaxtheory.llama import layers, model

ROPE = llama.Rope(500000.0, "llama3", 32.0, 1.0, 4.0, 8192)


def load_checkpoint(folder, count):
    """The checkpoint, written once."""
    config = llama.Config(128256, 2048, 8192, count, 32, 8, 64, rope=ROPE, tie_word_embeddings=True)
    if not folder.exists():
        random = np.random.default_rng(0)

        def draw(weight):
            if len(weight.shape) == 1:
                return np.ones(weight.shape, weight.dtype)
            values = random.standard_normal(weight.shape, np.float32)
            return (0.02 * values).astype(weight.dtype)

        llama.save(folder, jax.tree.map(draw, model.shapes(config, "bfloat16")), config)
    return llama.load(folder)


def peak():
    """Largest resident memory of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=16)
    options = parser.parse_args()
    start = time.perf_counter()
    weights, config = load_checkpoint(options.folder, options.layers)
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(weights)) / 2**30
    print(
        f"loaded: {size:.2f} GiB of weights, {time.perf_counter() - start:.0f} s, "
        f"peak {peak():.1f} GiB",
        flush=True,
    )
    text = np.random.default_rng(1).integers(0, config.vocab_size, (8, 128))
    for method in ("wanda", "sparsegpt"):
        start = time.perf_counter()
        _, report = llama.prune(
            weights, text, config, attention=method, mlp=method, value_output=method, ratio=0.5
        )
        print(
            f"{method}: {options.layers} layers, {time.perf_counter() - start:.0f} s, sparsity of "
            f"the layers {float(report.sparsity_of_layers):.4f}, peak {peak():.1f} GiB",
            flush=True,
        )
    settings = llama.Gradient((1e-3,), fit=llama.Fit(steps=20))
    plan, stream = layers.LayerPlan(gradient=settings), model.embed(weights, text)
    start = time.perf_counter()
    jax.block_until_ready(
        layers.prune_layer(
            jax.random.key(0), weights.layers[0], stream, layers.Ratios(0.5, 0.0), plan, config
        )
    )
    print(
        f"gradient: one layer, 20 steps, {time.perf_counter() - start:.0f} s, peak {peak():.1f} GiB"
    )


if __name__ == "__main__":
    main()
