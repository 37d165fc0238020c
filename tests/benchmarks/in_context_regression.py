"""Regression in context: a sweep over eta and seeds against NumPy and plain JAX on prompts."""

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.cases import against, overhead
from benchmarks.floor import Work
from benchmarks.study import Study

import jaxtheory

THEORY = jaxtheory.theories.get("in_context_regression")
CONFIG = THEORY.Config(start="aligned")  # weights that the baselines need not draw
STUDY = Study(THEORY, CONFIG, "learning_rate", (0.1, 0.2, 0.3, 0.5), 8, 1000)


def start(config, one):
    """v, K and Q of the aligned start, for heads of rank 1: head h has feature h modulo D."""
    H, D, sigma = config.heads.n, config.dimension.n, config.initial_scale
    K = sigma * one.eye(D)[one.arange(H) % D]
    return sigma * one.ones(H), K, K


def features(problem):
    """beta, x and y of each training prompt."""
    return problem.train.S[:, 0, 1:], problem.train.x, problem.train.y


def by_numpy(problem, config, steps):
    """(v, K, Q) after gradient descent with the written-out gradient, float64."""
    beta, x, y = (np.asarray(array, float) for array in features(problem))
    v, K, Q = start(config, np)
    for _ in range(steps):
        keys, queries = beta @ K.T, x @ Q.T
        r = 2 * ((keys * queries) @ v - y) / len(y)
        dv = r @ (keys * queries)
        dK = v[:, None] * ((r[:, None] * queries).T @ beta)
        dQ = v[:, None] * ((r[:, None] * keys).T @ x)
        v, K, Q = (
            w - config.learning_rate * g for w, g in zip((v, K, Q), (dv, dK, dQ), strict=True)
        )
    return v, K, Q


def loss(params, beta, x, y):
    v, K, Q = params
    return jnp.mean((((beta @ K.T) * (x @ Q.T)) @ v - y) ** 2)


@jax.jit
def loop(first, data, eta, steps):
    def step(_, params):
        return jax.tree.map(lambda p, g: p - eta * g, params, jax.grad(loss)(params, *data))

    return jax.lax.fori_loop(0, steps, step, first)


def by_jax(problem, config, steps):
    """(v, K, Q) by autodiff on the prompts, all steps in one jitted loop."""
    return loop(start(config, jnp), features(problem), config.learning_rate, steps)


def by_moments(problem, config, steps):
    """(v, K, Q) by autodiff on the moments of the D^2 features of a prompt."""
    beta, x, y = features(problem)
    phi = (beta[:, :, None] * x[:, None, :]).reshape(len(y), -1)
    S, b = phi.T @ phi / len(y), phi.T @ y / len(y)

    def loss(params):
        v, K, Q = params
        A = jnp.einsum("h,hi,hj->ij", v, K, Q).reshape(-1)
        return A @ S @ A - 2 * A @ b

    def step(_, params):
        down = lambda p, g: p - config.learning_rate * g
        return jax.tree.map(down, params, jax.grad(loss)(params))

    return jax.lax.fori_loop(0, steps, step, start(config, jnp))


def work(study):
    """The moments of each problem, D^4 products per prompt, once; per run and step their product
    with A, and six products of D x D matrices with the weights of a head.
    """
    config = study.config
    D, H, P = config.dimension.n, config.heads.n, config.num_prompts.n
    times = study.runs * study.steps
    once = study.seeds * 2 * P * D**4
    return Work(once + times * (2 * D**4 + 12 * H * D * D), times * 4 * D**4, 4 * D**4)


def groups():
    rivals = {"NumPy": (by_numpy, None)}
    peers = {"vmapped JAX": (by_jax, 3), "vmapped JAX with the algebra": (by_moments, 1)}
    yield against(STUDY, "D = 4, N = 31, H = 8, P = 2000", rivals, work(STUDY), peers)
    yield overhead(STUDY)
