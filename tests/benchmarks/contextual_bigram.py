"""Cost of one mini-batch step at N = 3, T = 5000, B = 64 against NumPy, and of the whole
proximal-and-SGD experiment.

    python tests/benchmarks/contextual_bigram.py

A step is sampling, gradient and the update of eqs. (4)-(6) in stage 2:

    one-hot         NumPy, float64: Generator.choice, X = eye[tokens] (B, T, N), np.einsum
    integer         NumPy, float64: Generator.choice, np.bincount for p = X a, np.take for X^T V^T r
    tuned one-hot   NumPy, float32: tokens by two comparisons, X (B, N, T) by comparison, np.matmul
    tuned integer   NumPy, float32: tokens by two comparisons, np.bincount (which sums in float64),
                    np.take
    step            theory.sample and the `proximal` step, float32, jitted, in a loop on the device
    engine          the same through `simulate`, from the difference of two run lengths

They are timed in turn, REPEATS rounds after one that warms up, each after a rest of REST seconds,
for the threads of NumPy's BLAS spin for some 20 ms after a product and would take a core from
whatever comes next. Printed are median times and the median ratio within a round, against 1/8 of a
one-hot and 1/2 of an integer NumPy step. The tuned forms stand beside them for comparison: of the
ways to draw tokens in NumPy two comparisons are the fastest (np.searchsorted takes 5 times as long,
Generator.choice 10 times), and at N = 3 a tuned one-hot product is faster than np.bincount.

The experiment (1000 steps each, a record every 50) runs in processes of its own, with an empty and
then a filled compilation cache: cold at most 20 s, warm at most 10 s, both counted from the
process' start.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import jax
import jax.numpy as jnp
import numpy as np

import jaxtheory

N, T, B, Q = 3, 5000, 64, 2
REPEATS, STEPS, SHORT, LONG, REST = 7, 100, 20, 120, 0.1
ETA, LAM = 0.01, 1e-5

EXPERIMENT = f"""
import time
begun = time.perf_counter()
import jaxtheory
theory = jaxtheory.theories.get("contextual_bigram")
sizes = {{"num_states": {N}, "length": {T}, "batch_size": {B}, "sparsity": {Q}}}
config = theory.Config(**sizes, learning_rate=0.01, late_learning_rate=0.005)
options = {{"steps": 1000, "record": 50, "dtype": "float32"}}
options["vary"] = {{"algorithm": ["proximal", "sgd"]}}
data = jaxtheory.sweep(theory, config, **options)
print(time.perf_counter() - begun, flush=True)
"""


class Numpy:
    """The task, the parameters and the steps in NumPy: as usually written in float64, or `tuned`
    for speed in float32.
    """

    def __init__(self, tuned):
        self.rng, self.tuned, self.dtype = (
            np.random.default_rng(0),
            tuned,
            np.float32 if tuned else np.float64,
        )
        self.P = self.rng.dirichlet(np.ones(N), size=N).T
        mu = np.linalg.lstsq(np.vstack([self.P - np.eye(N), np.ones(N)]), np.eye(N + 1)[-1])[0]
        self.support = np.stack([self.rng.choice(T, Q, replace=False) for _ in range(N)])
        self.eta_A, self.eta_V = (
            self.dtype(ETA / ((self.P - mu[:, None]) ** 2 @ mu).sum()),
            self.dtype(ETA / (1 / Q - 1 / T)),
        )
        self.mu, self.cdf, self.eye = (
            mu.astype(self.dtype),
            np.cumsum(mu)[:-1].astype(self.dtype),
            np.eye(N, dtype=self.dtype),
        )
        self.A, self.V = (
            np.full((N, T), 1 / T, self.dtype),
            np.outer(mu, np.ones(N)).astype(self.dtype),
        )  # A by rows a^(k)

    def sample(self):
        """tokens (B, T), query (B,), label (B,); tokens uint8 from comparisons where tuned, else
        from Generator.choice.
        """
        if self.tuned:
            u = self.rng.random((B, T), self.dtype)
            tokens = (u >= self.cdf[0]).view(np.uint8) + (u >= self.cdf[1]).view(np.uint8)
        else:
            tokens = self.rng.choice(N, (B, T), p=self.mu)
        query = np.searchsorted(self.cdf, self.rng.random(B), side="right")
        parent = tokens[np.arange(B), self.support[query, self.rng.integers(Q, size=B)]]
        label = (self.rng.random(B) >= np.cumsum(self.P, axis=0)[:-1, parent]).sum(axis=0)
        return tokens, query, label

    def update(self, gA, gV):
        """Eqs. (4)-(6) for g_A by rows."""
        gA, gV = (
            (gA - gA.mean(axis=1, keepdims=True)) / self.mu[:, None],
            (gV - gV.mean(axis=0)) / self.mu,
        )
        A = np.maximum(self.A - self.eta_A * gA - self.dtype(LAM), 0)
        self.A = A + (1 - A.sum(axis=1, keepdims=True)) / T
        self.V = self.V - self.eta_V * gV

    def one_hot_step(self):
        tokens, query, label = self.sample()
        if self.tuned:
            X = (tokens[:, None, :] == np.arange(N, dtype=np.uint8)[:, None]).astype(
                self.dtype
            )  # (B, N, T)
            p = np.matmul(X, self.A[query][:, :, None])[:, :, 0]
            r = p @ self.V.T - self.eye[label]
            w = np.matmul((r @ self.V)[:, None, :], X)[:, 0]
        else:
            X = self.eye[tokens]  # (B, T, N)
            p = np.einsum("btn,bt->bn", X, self.A[query])
            r = p @ self.V.T - self.eye[label]
            w = np.einsum("btn,bn->bt", X, r @ self.V)
        self.update(self.eye[query].T @ w / B, r.T @ p / B)

    def integer_step(self):
        tokens, query, label = self.sample()
        cell = tokens + (N * np.arange(B))[:, None]
        p = np.bincount(cell.ravel(), self.A[query].ravel(), B * N).reshape(B, N).astype(self.dtype)
        r = p @ self.V.T - self.eye[label]
        w = np.take((r @ self.V).ravel(), cell)
        self.update(self.eye[query].T @ w / B, r.T @ p / B)


def seconds(function, times=1):
    """Time of one call."""
    begun = time.perf_counter()
    for _ in range(times):
        function()
    return (time.perf_counter() - begun) / times


def on_device(theory, config):
    """A function that makes STEPS steps of `proximal` in one jitted loop and waits for them."""
    algorithm, key = theory.algorithms["proximal"], jax.random.key(0)
    config = jax.tree.map(
        lambda leaf: jnp.asarray(leaf, jnp.float32 if isinstance(leaf, float) else jnp.int32),
        config,
    )
    problem = jax.jit(theory.problem)(key, config)
    state = jax.jit(algorithm.init)(key, problem, config)

    @jax.jit
    def run(key, state, problem, config):
        def step(i, state):
            drawn = jax.random.fold_in(key, i)
            batch = theory.sample(drawn, problem, config)
            return algorithm.step(drawn, config.switch_step + 1 + i, state, batch, problem, config)

        return jax.lax.fori_loop(0, STEPS, step, state)

    return lambda: jax.block_until_ready(run(key, state, problem, config))


def through_engine(theory, config):
    """A function that gives the seconds of one step, the difference of a long and a short run
    divided by their steps.
    """
    run = lambda steps: jaxtheory.simulate(
        theory, config, jaxtheory.run_key(0, 0), steps=steps, record=[0, steps], dtype="float32"
    )
    return lambda: (seconds(lambda: run(LONG)) - seconds(lambda: run(SHORT))) / (LONG - SHORT)


def steps():
    """Milliseconds per step by name, REPEATS rounds."""
    theory = jaxtheory.theories.get("contextual_bigram")
    config = theory.Config(
        num_states=N,
        length=T,
        batch_size=B,
        sparsity=Q,
        learning_rate=ETA,
        late_learning_rate=ETA,
        l1=LAM,
    )
    plain, tuned, run, engine = (
        Numpy(False),
        Numpy(True),
        on_device(theory, config),
        through_engine(theory, config),
    )
    timed = {
        "one-hot": lambda: seconds(plain.one_hot_step, STEPS),
        "integer": lambda: seconds(plain.integer_step, STEPS),
        "tuned one-hot": lambda: seconds(tuned.one_hot_step, STEPS),
        "tuned integer": lambda: seconds(tuned.integer_step, STEPS),
        "step": lambda: seconds(run) / STEPS,
        "engine": engine,
    }

    def rested(one):
        time.sleep(REST)
        return 1e3 * one()

    rounds = [{name: rested(one) for name, one in timed.items()} for _ in range(REPEATS + 1)]
    return rounds[1:]


def experiment():
    """Seconds (whole process, import and sweep) of the experiment with an empty and with a filled
    compilation cache.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "JAX_COMPILATION_CACHE_DIR": cache,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        for _ in range(2):
            begun = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", EXPERIMENT],
                env=environment,
                check=True,
                capture_output=True,
                text=True,
            )
            yield time.perf_counter() - begun, float(done.stdout)


def main():
    rounds = steps()
    for name in rounds[0]:
        values = [times[name] for times in rounds]
        print(
            f"{name:13s} {statistics.median(values):6.2f} ms/step (from {min(values):.2f} to "
            f"{max(values):.2f})"
        )
    for ours in ("step", "engine"):
        for other, most in (
            ("one-hot", 1 / 8),
            ("integer", 1 / 2),
            ("tuned one-hot", None),
            ("tuned integer", None),
        ):
            ratio = statistics.median(times[ours] / times[other] for times in rounds)
            print(
                f"{ours} / {other}: {ratio:.3f}"
                + (f", at most {most:.3f}: {'holds' if ratio <= most else 'FAILS'}" if most else "")
            )
    for (whole, inner), name, most in zip(experiment(), ("cold", "warm"), (20, 10), strict=True):
        print(
            f"experiment, {name} cache: {whole:.1f} s ({inner:.1f} s inside), at most {most} s: "
            f"{'holds' if whole <= most else 'FAILS'}"
        )


if __name__ == "__main__":
    main()
