"""Factual recall: a sweep over eta and seeds against NumPy and plain JAX on the same prompts."""

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.cases import against, overhead
from benchmarks.floor import Work
from benchmarks.study import Study

import jaxtheory

THEORY = jaxtheory.theories.get("factual_recall")
CONFIG = THEORY.Config()
STUDY = Study(THEORY, CONFIG, "learning_rate", (0.1, 0.2, 0.5, 1.0), 8, 500)


def start(config, one):
    """W, a column for each token, and u."""
    A = config.num_relations.n * config.num_answers.n
    V = config.num_subjects.n + config.num_relations.n + config.num_noise.n
    alpha = config.init_scale
    return alpha * one.ones((A, V)), alpha * (A + 1) ** 0.5 * one.ones(V)


def prompts(batch, config, one):
    """The counts of all tokens of each prompt [P, V], its right answer and its weight."""
    S, R, n, N = batch.counts.shape
    s, r, _ = (x.ravel() for x in np.indices((S, R, n)))
    counts = one.concatenate([one.eye(S)[s], one.eye(R)[r], batch.counts.reshape(-1, N)], axis=1)
    return counts, r * config.num_answers.n + batch.answer[s, r], batch.weight.reshape(-1)


def by_numpy(problem, config, steps):
    """(W, u) after gradient descent with the written-out gradient, float64."""
    counts, right, weight = prompts(jax.tree.map(np.asarray, problem.train), config, np)
    W, u = start(config, np)
    for _ in range(steps):
        f = (counts * u) @ W.T
        p = np.exp(f - f.max(axis=1, keepdims=True))
        g = p / p.sum(axis=1, keepdims=True)
        g[np.arange(len(g)), right] -= 1
        pulled = (weight[:, None] * g).T @ counts
        W, u = (
            W - config.learning_rate * pulled * u,
            u - config.learning_rate * (W * pulled).sum(axis=0),
        )
    return W, u


def loss(params, counts, right, weight):
    W, u = params
    log_p = jax.nn.log_softmax((counts * u) @ W.T)
    return -jnp.sum(weight * jnp.take_along_axis(log_p, right[:, None], axis=1)[:, 0])


@jax.jit
def loop(first, data, eta, steps):
    def step(_, params):
        slope = jax.grad(loss)(params, *data)
        return jax.tree.map(lambda p, g: p - eta * g, params, slope)

    return jax.lax.fori_loop(0, steps, step, first)


def by_jax(problem, config, steps):
    """(W, u) by autodiff on the prompts, all steps in one jitted loop."""
    data = prompts(problem.train, config, jnp)
    return loop(start(config, jnp), data, config.learning_rate, steps)


def work(study):
    """Per run and step the outputs of each prompt by its noise tokens, and their slope."""
    config = study.config
    A = config.num_relations.n * config.num_answers.n
    P = config.num_subjects.n * config.num_relations.n * config.num_draws.n
    times = study.runs * study.steps
    flops = times * 4 * P * A * config.num_noise.n
    return Work(flops, times * 8 * P * A, 8 * P * A, exps=times * P * A)


def groups():
    rivals = {"NumPy": (by_numpy, None)}
    setting = "S = 16, R = 4, D = 8, N = 16, T = 6, n = 4"
    yield against(STUDY, setting, rivals, work(STUDY), {"vmapped JAX": (by_jax, 3)})
    yield overhead(STUDY)
