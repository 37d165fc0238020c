"""Pruning an attention matrix: a sweep over lambda and seeds against NumPy, plain JAX, and a
hand-written loop that only trains; nine pruning ratios against one.
"""

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.cases import against, described, overhead
from benchmarks.floor import Work
from benchmarks.study import ByHand, Study
from benchmarks.table import Group, Line
from benchmarks.timing import Side

import jaxtheory

THEORY = jaxtheory.theories.get("attention_pruning")
LAMBDAS = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 50.0)
STUDY = Study(THEORY, THEORY.Config(), "regularization", LAMBDAS, 4, 1000)
RATIOS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


def by_numpy(problem, config, steps):
    """The mask after Algorithm 1: G = W o (X^T p X) + lambda M, heavy ball, float64."""
    X, W, allowed = (np.asarray(problem[i], float) for i in (0, 4, 5))
    lam = config.regularization

    def attend(weights):
        z = np.where(allowed > 0, X @ weights @ X.transpose(0, 2, 1), -np.inf)
        e = np.exp(z - z.max(axis=2, keepdims=True))
        return e / e.sum(axis=2, keepdims=True)

    target, M = attend(W), np.ones_like(W)
    velocity = np.zeros_like(W)
    for _ in range(steps):
        f = attend(M * W)
        p = f * (f - target)
        p = p - f * p.sum(axis=2, keepdims=True)
        B = (X.transpose(0, 2, 1) @ p @ X).mean(axis=0)
        velocity = config.momentum * velocity + W * B + lam * M
        M = M - config.step_scale / lam * velocity
    return M


def attend(weights, X, allowed):
    return jax.nn.softmax(jnp.where(allowed, X @ weights @ X.mT, -jnp.inf), axis=-1)


def loss(M, X, W, allowed, target, lam):
    gap = attend(M * W, X, allowed) - target
    return jnp.sum(gap**2) / (2 * len(X)) + lam / 2 * jnp.sum(M**2)


@jax.jit
def loop(X, W, allowed, lam, rate, momentum, steps):
    target = attend(W, X, allowed)

    def step(_, carry):
        M, velocity = carry
        velocity = momentum * velocity + jax.grad(loss)(M, X, W, allowed, target, lam)
        return M - rate * velocity, velocity

    return jax.lax.fori_loop(0, steps, step, (jnp.ones_like(W), jnp.zeros_like(W)))[0]


def by_jax(problem, config, steps):
    """The mask by autodiff, all steps in one jitted loop."""
    lam, rate = config.regularization, config.step_scale / config.regularization
    X, W, allowed = problem.inputs, problem.weights, problem.attention_mask
    return loop(X, W, allowed, lam, rate, config.momentum, steps)


def work(study):
    """Per run, step and sequence: X W, half of X W X^T, half of p X, X^T p X; an exponential for
    each allowed entry and 8 operations.
    """
    config = study.config
    d, L = config.dimension.n, config.length.n
    times = study.runs * study.steps * config.num_sequences.n
    pairs = L * (L + 1) / 2
    flops = 4 * L * d * d + 4 * pairs * d + 8 * pairs
    moved = 4 * (L * d + 3 * d * d + pairs)
    return Work(times * flops, times * moved, 4 * (L * d + 3 * d * d + L * L), exps=times * pairs)


def groups():
    setting = "d = 64, L = 128, S = 1"
    rivals = {"NumPy": (by_numpy, None)}
    peers = {"vmapped JAX": (by_jax, 1.6)}
    yield against(STUDY, setting, rivals, work(STUDY), peers)
    hand = ByHand(STUDY)
    yield Group(
        THEORY.name,
        described(STUDY, "all of the sweep with default records; by hand training alone"),
        {"sweep": Side(STUDY.sweep), "by hand": Side(hand.training())},
        [Line("lambda x seeds over training alone", "sweep", "by hand", "cost", 1.5)],
        {"sweep": work(STUDY)},
    )
    yield overhead(STUDY._replace(steps=300))
    yield short()
    yield ratios()


def short():
    """A sweep of a second, in which problems, metrics and baselines count."""
    study = STUDY._replace(values=tuple(float(v) for v in np.geomspace(0.5, 50, 13)), steps=100)
    return Group(
        THEORY.name,
        described(study, "two records; by hand training alone"),
        {"sweep": Side(study.ends), "by hand": Side(ByHand(study).training())},
        [Line("short sweep over training alone", "sweep", "by hand", "cost")],
        {"sweep": work(study)},
    )


def ratios():
    """Nine pruning ratios train once."""

    def sweep(values):
        vary = {"pruning_ratio": values}
        options = {"seeds": 2, "steps": 1500, "record": [0, 1500]}
        return lambda: jaxtheory.sweep(THEORY, STUDY.config, vary=vary, **options)

    sides = {"nine": Side(sweep(RATIOS)), "one": Side(sweep(RATIOS[5:6]))}
    line = Line("nine pruning ratios over one", "nine", "one", "cost", 1.3)
    return Group(THEORY.name, "2 seeds x 1500 steps", sides, [line], {}, more=True)
