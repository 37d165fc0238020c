"""Pruning at 201 rates and truncation to 20 ranks, in one pass and one decomposition against one
evaluation per rate or rank.

    python tests/benchmarks/low_rank.py

Both sides are compiled, run on the same parameters (setting S1, 300 test samples, float32) and must
agree; times are medians, side by side.
"""

import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np

import jaxtheory
from jaxtheory.theories.low_rank import S1, THEORY
from jaxtheory.theories.low_rank.analyses import pruning
from jaxtheory.theories.low_rank.analyses.ranks import truncation
from jaxtheory.theories.low_rank.model import Params, change, forward, initial, loss

REPEATS = 5
LEAST = 30


def trained():
    """Parameters after 120 steps, and their problem."""
    theory = THEORY._replace(analyses=lambda params, problem, config: {})
    run = jaxtheory.simulate(
        theory, S1, jaxtheory.run_key(0, 0), steps=120, record=[120], dtype="float32"
    )
    return jax.tree.map(jnp.asarray, (run.params, run.problem))


def small_curve(params, made):
    """One order: a forward pass, a sort, a cumulative sum."""
    hidden = forward(params, made.test.tokens, made, S1).hidden
    f = pruning.contributions(hidden, made, S1)
    return pruning.losses_of(
        f, pruning.order(pruning.norms(params.output), S1.num_neurons.mask()), made.test, S1
    )


@jax.jit
def one_rate(params, made, count):
    """The loss without the `count` smallest neurons."""
    order = jnp.argsort(jnp.argsort(pruning.norms(params.output)))
    return loss(
        params._replace(output=jnp.where((order < count)[:, None], 0, params.output)),
        made.test,
        made,
        S1,
    )


@jax.jit
def one_rank(params, made, rank):
    """The loss with all changes cut to a rank."""
    start, delta = initial(made, S1), change(params, made, S1)

    def cut(w, d):
        u, s, vt = jnp.linalg.svd(d, full_matrices=False)
        return w + (u * jnp.where(jnp.arange(s.shape[-1]) < rank, s, 0)[..., None, :]) @ vt

    return loss(Params(*map(cut, start, delta)), made.test, made, S1)


def seconds(function):
    begun = time.perf_counter()
    out = jax.block_until_ready(function())
    return time.perf_counter() - begun, out


def main():
    params, made = trained()
    counts, ranks = np.round(np.arange(201) / 200 * 200).astype(int), np.arange(1, 21)
    small, every, cut = (
        jax.jit(small_curve),
        jax.jit(lambda p, m: pruning.curves(p, m, S1)),
        jax.jit(lambda p, m: truncation(p, m, S1)),
    )
    candidates = {
        "one order, one pass": lambda: small(params, made),
        "five orders, two passes": lambda: every(params, made),
        "one evaluation per rate": lambda: jnp.stack([one_rate(params, made, k) for k in counts]),
        "ranks, one decomposition": lambda: cut(params, made)["truncated_loss"],
        "one decomposition per rank": lambda: jnp.stack([one_rank(params, made, r) for r in ranks]),
    }
    for run in candidates.values():
        run()
    rounds = [{name: seconds(run) for name, run in candidates.items()} for _ in range(REPEATS)]
    took = {name: [r[name][0] for r in rounds] for name in candidates}
    for name, values in took.items():
        print(
            f"{name:28s} {1e3 * statistics.median(values):8.1f} ms (from {1e3 * min(values):.1f} "
            f"to {1e3 * max(values):.1f})"
        )
    out = {name: np.asarray(rounds[0][name][1]) for name in candidates}
    gaps = (
        np.abs(out["one order, one pass"] - out["one evaluation per rate"]).max(),
        np.abs(out["five orders, two passes"][:, 0] - out["one evaluation per rate"]).max(),
        np.abs(out["ranks, one decomposition"] - out["one decomposition per rank"]).max(),
    )
    print("largest differences", *(f"{gap:.1e}" for gap in gaps))
    for name in ("one order, one pass", "five orders, two passes"):
        orders = 1 if name.startswith("one") else 5
        ratio = statistics.median(
            orders * r["one evaluation per rate"][0] / r[name][0] for r in rounds
        )
        print(
            f"{name}: {ratio:.0f} times as fast as evaluations, at least {LEAST}: "
            f"{'holds' if ratio >= LEAST else 'FAILS'}"
        )
    ratio = statistics.median(
        r["one decomposition per rank"][0] / r["ranks, one decomposition"][0] for r in rounds
    )
    print(f"ranks, one decomposition (with five more losses): {ratio:.1f} times as fast")
    assert max(gaps) < 1e-5


if __name__ == "__main__":
    main()
