"""The nearest neighbor in a prompt: a sweep over eta and seeds, on two parameters, against the
full W: the algorithm `literal`, NumPy and plain JAX.
"""

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.cases import against, overhead
from benchmarks.floor import Work
from benchmarks.study import Study
from benchmarks.timing import Side

import jaxtheory

THEORY = jaxtheory.theories.get("nearest_neighbor")
STUDY = Study(THEORY, THEORY.Config(), "learning_rate", (0.3, 0.5, 1.0, 2.0), 8, 1000)
WIDE = STUDY._replace(config=THEORY.Config(dimension=64, context=16, num_prompts=1000))


def prompts(problem, one):
    """H (B, d+2, N+1) with labels 0, which are averaged, and the indicator of i* (B, N+1); `one` is
    the module that holds the functions of arrays.
    """
    train = problem.train
    x, q, nearest = (one.asarray(array) for array in (train.x, train.q, train.nearest))
    B, N, _ = x.shape
    points = one.concatenate([x, q[:, None]], axis=1).swapaxes(1, 2)
    last = one.zeros((B, 2, N + 1))
    last = last + one.eye(2)[None, :, 1:] * one.eye(N + 1)[None, None, -1]
    return one.concatenate([points, last], axis=1), one.eye(N + 1)[nearest]


def by_numpy(problem, config, steps):
    """W after gradient descent on 1/2 mean (Q - 2 s* + 1), float64."""
    H, star = prompts(problem, np)
    d, B = config.dimension.n, len(H)
    W = np.zeros((d + 2, d + 2))
    W[-1, -1] = -config.mask
    query, own = H[:, :, -1], np.eye(H.shape[2])[-1]
    for _ in range(steps):
        z = np.einsum("bdn,bd->bn", H, query @ W.T)
        s = np.exp(z - z.max(axis=1, keepdims=True))
        s /= s.sum(axis=1, keepdims=True)
        e = s * (1 - own) - star
        g = s * (e - (s * e).sum(axis=1, keepdims=True))
        W = W - config.learning_rate * np.einsum("bdn,bn->bd", H, g).T @ query / B
    return W


def loss(W, H, star):
    s = jax.nn.softmax(jnp.einsum("bdn,de,be->bn", H, W, H[:, :, -1]))
    Q = jnp.sum(s[:, :-1] ** 2, axis=1)
    return jnp.mean(Q - 2 * jnp.sum(s * star, axis=1) + 1) / 2


@jax.jit
def loop(W, H, star, eta, steps):
    step = lambda _, W: W - eta * jax.grad(loss)(W, H, star)
    return jax.lax.fori_loop(0, steps, step, W)


def by_jax(problem, config, steps):
    """W by autodiff, all steps in one jitted loop."""
    H, star = prompts(problem, jnp)
    d = config.dimension.n
    W = jnp.zeros((d + 2, d + 2)).at[-1, -1].set(-config.mask)
    return loop(W, H, star, config.learning_rate, steps)


def by_parameters(problem, config, steps):
    """(xi1, xi2) by autodiff on the reduced loss, with prompts on the last axis."""
    t, d = problem.train.t.T, config.dimension.n
    n, B = t.shape
    star = jnp.arange(n + 1)[:, None] == problem.train.nearest[None]
    rates = jnp.array([1 / d, 1])

    def loss(xi):
        own = jnp.broadcast_to(xi[0] - xi[1], (1, B))
        s = jax.nn.softmax(jnp.concatenate([xi[0] * t, own]), axis=0)
        return jnp.mean(jnp.sum(s[:-1] ** 2, axis=0) - 2 * jnp.sum(s * star, axis=0) + 1) / 2

    step = lambda _, xi: xi - config.learning_rate * rates * jax.grad(loss)(xi)
    return jax.lax.fori_loop(0, steps, step, jnp.array([0, config.mask]))


def work(study):
    """Per run and step, for every example of a prompt: an inner product read, a product, an
    exponential, and 8 operations.
    """
    config = study.config
    times = study.runs * study.steps * config.num_prompts.n
    N, size = config.context.n, 4 * config.num_prompts.n * config.context.n
    return Work(times * 9 * N, times * 4 * N, size, exps=times * (N + 1))


def compare(study, setting, more):
    literal = Side(lambda: study.sweep(record=[0, study.steps], algorithm="literal"))
    rivals = {
        "full W (algorithm literal)": (literal, 20),
        "full W NumPy": (by_numpy, None),
    }
    peers = {"vmapped JAX": (by_jax, 3), "vmapped JAX with the algebra": (by_parameters, 1)}
    return against(study, setting, rivals, work(study), peers, more)


def groups():
    yield compare(STUDY, "d = 4, N = 4, B = 4000", False)
    yield compare(WIDE, "d = 64, N = 16, B = 1000", False)
    yield overhead(STUDY)
