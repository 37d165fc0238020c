"""Group-sparse classification: a sweep over eta and seeds against NumPy and plain JAX on H."""

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.cases import against, overhead
from benchmarks.floor import Work
from benchmarks.study import Study

import jaxtheory

THEORY = jaxtheory.theories.get("group_sparse")
STUDY = Study(THEORY, THEORY.Config(), "learning_rate", (0.1, 0.2, 0.3, 0.5), 8, 200)


def tokens(x, one):
    """(n, d+D, D) H = [X; P] of features (d, D, n)."""
    _, D, n = x.shape
    i = one.arange(1.0, D + 1)
    P = one.sin(i[:, None] * i[None, :] * one.pi / (D + 1))
    return one.concatenate([one.moveaxis(x, 2, 0), one.broadcast_to(P, (n, D, D))], axis=1)


def by_numpy(problem, config, steps):
    """(v, W) after gradient descent: dv = E c H S 1, dW = E H R H^T, float64."""
    H, y = tokens(np.asarray(problem.train.x, float), np), np.asarray(problem.train.y, float)
    n, h, _ = H.shape
    v, W = np.zeros(h), np.zeros((h, h))
    Ht = H.transpose(0, 2, 1)
    for _ in range(steps):
        z = Ht @ W @ H
        S = np.exp(z - z.max(axis=1, keepdims=True))
        S /= S.sum(axis=1, keepdims=True)
        a = v @ H
        m = np.einsum("nk,nkj->nj", a, S)
        c = -y / (1 + np.exp(y * m.sum(axis=1))) / n
        R = c[:, None, None] * S * (a[:, :, None] - m[:, None, :])
        dv = np.einsum("n,nhk,nkj->h", c, H, S, optimize=True)
        dW = (H @ R @ Ht).sum(axis=0)
        v, W = v - config.learning_rate * dv, W - config.learning_rate * dW
    return v, W


def loss(params, H, y):
    v, W = params
    S = jax.nn.softmax(H.mT @ W @ H, axis=1)
    f = jnp.einsum("h,nhk,nkj->n", v, H, S)
    return jnp.mean(jnp.log1p(jnp.exp(-y * f)))


@jax.jit
def loop(H, y, eta, steps):
    def step(_, params):
        return jax.tree.map(lambda p, g: p - eta * g, params, jax.grad(loss)(params, H, y))

    h = H.shape[1]
    return jax.lax.fori_loop(0, steps, step, (jnp.zeros(h), jnp.zeros((h, h))))


def by_jax(problem, config, steps):
    """(v, W) by autodiff on H, all steps in one jitted loop."""
    return loop(tokens(problem.train.x, jnp), problem.train.y, config.learning_rate, steps)


def work(study):
    """Per run, step and sample: the products of scores and gradient in blocks of d and D, an
    exponential per pair of groups and 8 operations; the features read once.
    """
    config = study.config
    d, D, n = config.group_dim.n, config.num_groups.n, config.num_samples.n
    times = study.runs * study.steps * n
    flops = 4 * d * d * D + 8 * d * D * D + 8 * D * D
    return Work(times * flops, times * 4 * d * D, 4 * n * d * D, exps=times * D * D)


def groups():
    rivals = {"NumPy": (by_numpy, None)}
    peers = {"vmapped JAX": (by_jax, 3)}
    yield against(STUDY, "d = 4, D = 6, n = 500", rivals, work(STUDY), peers)
    yield overhead(STUDY._replace(steps=1000))  # of more than a second
