"""A sweep of 32 Transformers against a plain Flax and optax training loop, as users write it.

python tests/benchmarks/networks.py [--steps 100] [--rounds 3]: prints the seconds of both, with and
without compilation, their ratio, and the largest difference of the curves for equal keys.
"""

import argparse
import os
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])
RATES, SEEDS = (0.0003, 0.001, 0.002, 0.003), 8
SIZES = {
    "length": 5,
    "num_sequences": 8,
    "clockwise_probability": 0.8,
    "encoding_dim": 16,
    "depth": 1,
    "heads": 2,
    "width": 8,
    "mlp_ratio": 2,
    "warmup": 10,
    "horizon": 1000,
}


def by_hand(config, steps):
    """The losses (rate, seed, step) of a Python loop over rates and seeds around a jitted step."""
    import jax
    import optax
    from helpers.walk_task import TASK

    import jaxtheory

    network = jaxtheory.networks.Transformer(
        outputs=6, vocabulary=6, depth=1, heads=2, width=8, mlp_ratio=2
    )

    def loss(params, batch):
        logits = network.apply(params, batch.s)[:, -1]
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch.y).mean()

    def kernels(params):  # weights decay, and biases, scales, embeddings and positions do not
        leaves = jax.tree.leaves_with_path(params)
        return jax.tree.unflatten(
            jax.tree.structure(params), [path[-1].key == "kernel" for path, _ in leaves]
        )

    def schedule(rate):
        warm = optax.linear_schedule(rate / 10, rate, 9)
        return lambda t: warm(t) * optax.cosine_decay_schedule(1.0, 1000)(t)

    curves = []
    for rate in RATES:
        rule = optax.adamw(schedule(rate), weight_decay=0.0001, mask=kernels)
        optimizer = optax.chain(optax.clip_by_global_norm(1.0), rule)

        @jax.jit
        def step(params, memory, batch, optimizer=optimizer):
            slope = jax.grad(loss)(params, batch)
            update, memory = optimizer.update(slope, memory, params)
            return optax.apply_updates(params, update), memory

        evaluate = jax.jit(loss)
        for seed in range(SEEDS):
            key = jaxtheory.run_key(0, seed)
            problem = TASK.problem(jax.random.fold_in(key, 0), config)
            drawn = jax.random.split(jax.random.fold_in(key, 1))[0]
            rngs = {"params": drawn, "dropout": drawn}
            params = network.init(rngs, problem.train.s)
            memory, losses = optimizer.init(params), []
            for t in range(steps + 1):
                if t in (0, steps):
                    losses.append(float(evaluate(params, problem.test)))
                if t < steps:
                    params, memory = step(params, memory, problem.train)
            curves.append(losses)
    return curves


def main():
    """Time both sides in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    import numpy as np
    from helpers.walk_task import TASK

    import jaxtheory

    nothing = {"metrics": lambda outputs, maps, problem, config: {}, "dims": {}}
    task = TASK._replace(optimal=lambda problem, config: {}, **nothing)
    config = jaxtheory.networks.transformer_config(task)(**SIZES)
    theory = jaxtheory.networks.transformer(task, examples=(config,))
    record = (0, options.steps)

    def swept():
        return jaxtheory.sweep(
            theory, config, vary={"rate": RATES}, seeds=SEEDS, steps=options.steps, record=record
        )

    sides, durations = {"sweep": swept, "loop": lambda: by_hand(config, options.steps)}, {}
    curves = {}
    for _ in range(options.rounds):
        for name, side in sides.items():
            begun = time.perf_counter()
            curves[name] = side()
            durations.setdefault(name, []).append(time.perf_counter() - begun)
    sweep_curves = curves["sweep"].loss.values.reshape(len(RATES) * SEEDS, -1)
    loop_curves = np.array(curves["loop"])
    print(f"load {os.getloadavg()[0]:.1f}, {len(loop_curves)} runs of {options.steps} steps")
    for title, pick in (("first call", lambda x: x[0]), ("fastest", min)):
        sweep, loop = pick(durations["sweep"]), pick(durations["loop"])
        print(f"{title}: sweep {sweep:.2f} s, loop {loop:.2f} s, ratio {loop / sweep:.1f}")
    gaps = np.abs(sweep_curves - loop_curves).max(axis=0)
    print("differences by record:", " ".join(f"{x:.0e}" for x in gaps))
    print(
        f"largest difference of the curves: {np.abs(sweep_curves - loop_curves).max():.1e} "
        f"of {sweep_curves.max():.2f}"
    )


if __name__ == "__main__":
    main()
