"""Task diversity: a sweep over eta and seeds against NumPy and plain JAX on the same prompts."""

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.cases import against, overhead
from benchmarks.floor import Work
from benchmarks.study import Study

import jaxtheory

THEORY = jaxtheory.theories.get("task_diversity")
CONFIG = THEORY.Config()
STUDY = Study(THEORY, CONFIG, "learning_rate", (0.1, 0.2, 0.5, 1.0), 8, 500)


def start(config, one):
    """Zero Gamma and gamma."""
    d = config.dimension.n
    return one.zeros((d, d)), one.zeros(d)


def by_numpy(problem, config, steps):
    """(Gamma, gamma) after gradient descent with the written-out gradient, float64."""
    beta, q, x, y = (np.asarray(array, float) for array in problem.train[:4])
    G, g = start(config, np)
    shrink = 2 * config.ridge / config.dimension.n
    for _ in range(steps):
        r = 2 * ((x * (beta @ G.T + q[:, None] * g)).sum(axis=1) - y) / len(y)
        pulled = r[:, None] * x
        dG, dg = pulled.T @ beta + shrink * G, pulled.T @ q + shrink * g
        G, g = G - config.learning_rate * dG, g - config.learning_rate * dg
    return G, g


def loss(params, beta, q, x, y, penalty):
    G, g = params
    f = jnp.einsum("pi,ij,pj->p", x, G, beta) + (x @ g) * q
    return jnp.mean((y - f) ** 2) + penalty * (jnp.sum(G**2) + jnp.sum(g**2))


@jax.jit
def loop(first, data, penalty, eta, steps):
    def step(_, params):
        slope = jax.grad(loss)(params, *data, penalty)
        return jax.tree.map(lambda p, g: p - eta * g, params, slope)

    return jax.lax.fori_loop(0, steps, step, first)


def by_jax(problem, config, steps):
    """(Gamma, gamma) by autodiff on the prompts, all steps in one jitted loop."""
    penalty = config.ridge / config.dimension.n
    return loop(start(config, jnp), problem.train[:4], penalty, config.learning_rate, steps)


def by_gram(problem, config, steps):
    """(Gamma, gamma) on the Gram matrix of the d^2 + d features of a prompt: the loss is quadratic
    in the weights.
    """
    beta, q, x, y = problem.train[:4]
    (n, d), penalty = x.shape, config.ridge / config.dimension.n
    features = (x[:, :, None] * beta[:, None, :]).reshape(n, -1), x * q[:, None]
    features = jnp.concatenate(features, axis=1)
    C = features.T @ features / n + penalty * jnp.eye(d * d + d)
    b = features.T @ y / n
    step = lambda _, theta: theta - 2 * config.learning_rate * (C @ theta - b)
    theta = jax.lax.fori_loop(0, steps, step, jnp.zeros(d * d + d))
    return theta[: d * d].reshape(d, d), theta[d * d :]


def work(study):
    """Per run and step two products of a d x d matrix with each prompt."""
    config = study.config
    d, n = config.dimension.n, config.num_prompts.n
    times = study.runs * study.steps
    return Work(times * 4 * n * d * d, times * 8 * n * d, 8 * n * d)


def groups():
    rivals = {"NumPy": (by_numpy, None)}
    peers = {"vmapped JAX": (by_jax, 3), "vmapped JAX with the algebra": (by_gram, 1)}
    yield against(STUDY, "d = 16, l = 16, n = 384, k = 8", rivals, work(STUDY), peers)
    yield overhead(STUDY)
