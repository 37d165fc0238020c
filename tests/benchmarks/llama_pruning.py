"""SparseGPT and Wanda on one 2048 x 2048 layer with 2048 calibration rows, beside their published
algorithms in PyTorch; and the cost of the gradient method on such a layer.

Needs the oracle (`make oracle`). Run: python tests/benchmarks/llama_pruning.py [--size 2048]
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
import torch

from jaxtheory import llama
from jaxtheory.llama import layers
from jaxtheory.theories.attention_pruning.analyses import linear

RATIO = 0.5


def torch_sparsegpt(W, X, block=128, damping=0.01):
    """Frantar and Alistarh 2023, as published: W (outputs, inputs), X (rows, inputs)."""
    W, H = W.clone(), X.T @ X
    dead = torch.diag(H) == 0
    H[dead, dead] = 1
    W[:, dead] = 0
    H += damping * torch.diag(H).mean() * torch.eye(len(H), dtype=H.dtype)
    U = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(H)), upper=True)
    for start in range(0, W.shape[1], block):
        end = min(start + block, W.shape[1])
        w, u = W[:, start:end].clone(), U[start:end, start:end]
        errors = torch.zeros_like(w)
        scores = w**2 / torch.diag(u)[None] ** 2
        threshold = torch.sort(scores.flatten())[0][int(scores.numel() * RATIO) - 1]
        mask = scores <= threshold
        for j in range(end - start):
            q = w[:, j].clone()
            q[mask[:, j]] = 0
            e = (w[:, j] - q) / u[j, j]
            w[:, j:] -= e[:, None] @ u[j, j:][None]
            w[:, j] = q
            errors[:, j] = e
        W[:, start:end] = w
        W[:, end:] -= errors @ U[start:end, end:]
    return W


def torch_wanda(W, X):
    """Sun et al. 2024, as published."""
    scores = W.abs() * X.norm(dim=0)[None]
    order = torch.sort(scores, dim=-1, stable=True)[1]
    W = W.clone()
    W.scatter_(1, order[:, : int(W.shape[1] * RATIO)], 0)
    return W


def alternate(functions, rounds):
    """Median seconds of each, run in turn."""
    seconds = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - start)
    return {name: float(np.median(values)) for name, values in seconds.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    n = options.size
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(n, n)) / n**0.5
    X = (rng.normal(size=(n, n)) @ mixing).astype(np.float32)
    W = rng.normal(size=(n, n)).astype(np.float32)
    x, w, valid = jnp.asarray(X), jnp.asarray(W.T), jnp.ones((n, n), bool)
    tX, tW = torch.tensor(X), torch.tensor(W)
    rule = linear.Rule(RATIO)
    sparsegpt = jax.jit(lambda w, x: linear.sparsegpt(w, x.T @ x, rule, valid))
    wanda = jax.jit(lambda w, x: linear.wanda(w, jnp.sum(x**2, axis=0), rule, valid))
    start = time.perf_counter()
    ours = {"sparsegpt": np.asarray(sparsegpt(w, x)).T, "wanda": np.asarray(wanda(w, x)).T}
    print(
        f"{n} x {n}, {n} rows, {torch.get_num_threads()} threads; compile and run once "
        f"{time.perf_counter() - start:.1f} s"
    )
    theirs = {"sparsegpt": torch_sparsegpt(tW, tX).numpy(), "wanda": torch_wanda(tW, tX).numpy()}
    for name in ours:
        same = np.mean((ours[name] == 0) == (theirs[name] == 0))
        support = (ours[name] != 0) & (theirs[name] != 0)
        gap = np.abs(ours[name] - theirs[name])[support].max() / np.abs(W).max()
        print(f"{name}: masks equal in {100 * same:.3f} % of the entries, weights to {gap:.1e}")
    times = alternate(
        {
            "sparsegpt, ours": lambda: sparsegpt(w, x).block_until_ready(),
            "sparsegpt, torch": lambda: torch_sparsegpt(tW, tX),
            "wanda, ours": lambda: wanda(w, x).block_until_ready(),
            "wanda, torch": lambda: torch_wanda(tW, tX),
        },
        options.rounds,
    )
    for name, seconds in times.items():
        print(f"{name:18} {seconds:7.3f} s")
    for name in ours:
        print(f"{name}: {times[f'{name}, torch'] / times[f'{name}, ours']:.2f} times as fast")
    gradient_method(n)


def gradient_method(d, steps=5):
    """Seconds per step and value of lambda on a layer of Llama-3.2-1B's shape."""
    config = llama.Config(32, d, 4, 1, d // 64, max(1, d // 256), 64)
    layer = llama.init(jax.random.key(0), config).layers[0]
    stream = jax.random.normal(jax.random.key(1), (8, 128, d))
    settings = llama.Gradient((1e-3,), fit=llama.Fit(steps=steps))
    plan, ratios = layers.LayerPlan(gradient=settings), layers.Ratios(RATIO, 0.0)
    run = lambda plan: jax.block_until_ready(
        layers.prune_layer(jax.random.key(0), layer, stream, ratios, plan, config)
    )
    more = plan._replace(gradient=settings._replace(fit=llama.Fit(steps=3 * steps)))
    for variant in (plan, more):
        run(variant)
    times = alternate({"few": lambda: run(plan), "more": lambda: run(more)}, 3)
    seconds = (times["more"] - times["few"]) / (2 * steps)
    print(
        f"gradient method, d = {d}, 8 x 128 tokens: {seconds:.3f} s a step and lambda; "
        f"300 steps of 4 values {300 * 4 * seconds / 60:.1f} min a layer"
    )


if __name__ == "__main__":
    main()
