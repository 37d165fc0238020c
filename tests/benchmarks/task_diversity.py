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
    beta, q, x, y = (np.asarray(each, float) for each in problem.train[:4])
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


def work(study):
    """Per run and step two products of a d x d matrix with each prompt."""
    config = study.config
    d, n = config.dimension.n, config.num_prompts.n
    times = study.runs * study.steps
    return Work(times * 4 * n * d * d, times * 8 * n * d, 8 * n * d)


def groups():
    others = {"NumPy": (by_numpy, None), "plain JAX": (by_jax, 5)}
    yield against(STUDY, "d = 16, l = 16, n = 384, k = 8", others, work(STUDY))
    yield overhead(STUDY)
