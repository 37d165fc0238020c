"""Causal graphs: a sweep over eta and seeds against NumPy and plain JAX on the same prompts."""

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.cases import against, overhead
from benchmarks.floor import Work
from benchmarks.study import Study

import jaxtheory

THEORY = jaxtheory.theories.get("causal_graph")
CONFIG = THEORY.Config(num_prompts=500)
STUDY = Study(THEORY, CONFIG, "learning_rate", (30.0, 100.0, 300.0, 1000.0), 8, 200)


def start(config, one):
    """A1 = 0 and A2 = beta0 I."""
    T, S = config.length.n, config.num_states.n
    return one.zeros((T, T)), config.initial_strength * one.eye(S)


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def back(a, slope):
    """The slope in the scores of a softmax."""
    return a * (slope - (a * slope).sum(axis=-1, keepdims=True))


def by_numpy(problem, config, steps):
    """(A1, A2) after the two stages with the written-out gradient, float64."""
    s, law = np.asarray(problem.train.s), np.asarray(problem.train.target, float)
    A1, A2 = start(config, np)
    S, below = len(A2), np.tril(np.ones(A1.shape, bool))
    hot = [(s == k).astype(float) for k in range(S)]
    last = [s[:, -1] == k for k in range(S)]
    for t in range(steps):
        W, b = softmax(np.where(below, A1, -np.inf)), A2[s, s[:, -1:]]
        a = softmax(b @ W.T)
        f = np.stack([(a * x).sum(axis=1) for x in hot], axis=1)
        r = -law / (f + config.epsilon) / len(s)
        dz = back(a, np.take_along_axis(r, s, axis=1))
        if t < config.switch_step:
            A1 = A1 - config.learning_rate * back(W, dz.T @ b)
        else:
            db = dz @ W
            gradients = np.stack([(db * x).sum(axis=1) for x in hot])
            dA2 = np.stack([gradients[:, at].sum(axis=1) for at in last], axis=1)
            A2 = A2 - config.second_rate * dA2
    return A1, A2


def loss(params, s, law, eps):
    A1, A2 = params
    T, S = len(A1), len(A2)
    W = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((T, T), bool)), A1, -jnp.inf), axis=1)
    X = jax.nn.one_hot(s, S, dtype=A1.dtype)
    scores = jnp.einsum("ij,pjs,sk,pk->pi", W, X, A2, X[:, -1])
    f = jnp.einsum("pi,pis->ps", jax.nn.softmax(scores), X)
    return -jnp.mean(jnp.sum(law * jnp.log(f + eps), axis=1))


@jax.jit
def loop(first, s, law, eps, rates, switch, steps):
    def step(t, params):
        d1, d2 = jax.grad(loss)(params, s, law, eps)
        one = jnp.where(t < switch, rates[0], 0)
        two = jnp.where(t < switch, 0, rates[1])
        return params[0] - one * d1, params[1] - two * d2

    return jax.lax.fori_loop(0, steps, step, first)


def by_jax(problem, config, steps):
    """(A1, A2) by autodiff on one-hot tokens, all steps in one jitted loop."""
    data = problem.train.s, problem.train.target
    rates = config.learning_rate, config.second_rate
    return loop(start(config, jnp), *data, config.epsilon, rates, config.switch_step, steps)


def work(study):
    """Per run and step two products with W for each prompt, and one that makes its slope."""
    config = study.config
    T, P = config.length.n, config.num_prompts.n
    times = study.runs * study.steps
    return Work(times * 6 * P * T * T, times * 16 * P * T, 4 * P * T)


def groups():
    rivals = {"NumPy": (by_numpy, None)}
    peers = {"vmapped JAX": (by_jax, 3)}
    yield against(STUDY, "S = 3, T = 16, P = 500", rivals, work(STUDY), peers)
    yield overhead(STUDY)
