"""Contextual bigrams at N = 3, T = 5000, B = 64: a sweep over eta2 and seeds in the second stage
against one-hot NumPy, as usually written and tuned, and plain JAX.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.cases import against, overhead
from benchmarks.floor import Work
from benchmarks.study import Study

import jaxtheory

THEORY = jaxtheory.theories.get("contextual_bigram")
CONFIG = THEORY.Config(num_states=3, length=5000, batch_size=64, sparsity=2, switch_step=0)
STUDY = Study(THEORY, CONFIG, "late_learning_rate", (0.005, 0.01, 0.02, 0.03), 8, 50)


class Numpy:
    """The task and the steps of eqs. (4)-(6) in NumPy, in the second stage: one-hot in float64 with
    Generator.choice; `tuned` in float32 with tokens by two comparisons (N = 3) and np.matmul.
    """

    def __init__(self, problem, config, tuned=False):
        self.rng, self.tuned = np.random.default_rng(0), tuned
        self.dtype = np.float32 if tuned else np.float64
        self.P, self.mu, self.Q = (np.asarray(x, float) for x in problem[:3])
        self.mu, self.Q = self.mu / self.mu.sum(), self.Q / self.Q.sum(axis=0)
        self.B, self.lam = config.batch_size.n, self.dtype(config.l1)
        self.T, self.N = self.Q.shape
        K_P = ((self.P - self.mu[:, None]) ** 2 @ self.mu).sum()
        K_Q = ((self.Q - 1 / self.T) ** 2 @ self.mu).sum()
        self.eta_A, self.eta_V = map(self.dtype, config.late_learning_rate / np.array([K_P, K_Q]))
        self.cdf, self.eye = np.cumsum(self.mu)[:-1].astype(self.dtype), np.eye(self.N)
        self.eye = self.eye.astype(self.dtype)
        self.weights = self.mu.astype(self.dtype)
        self.A = np.full((self.T, self.N), 1 / self.T, self.dtype)
        self.V = np.outer(self.mu, np.ones(self.N)).astype(self.dtype)

    def sample(self):
        """tokens (B, T), query (B,), label (B,)."""
        B, T, N = self.B, self.T, self.N
        if self.tuned:
            u = self.rng.random((B, T), self.dtype)
            tokens = sum((u >= c).view(np.uint8) for c in self.cdf)
        else:
            tokens = self.rng.choice(N, (B, T), p=self.mu)
        query = self.rng.choice(N, B, p=self.mu)
        supports = [np.flatnonzero(self.Q[:, k]) for k in range(N)]
        place = [self.rng.choice(supports[k], p=self.Q[supports[k], k]) for k in query]
        parent = tokens[np.arange(B), place]
        label = (self.rng.random(B) >= np.cumsum(self.P, axis=0)[:-1, parent]).sum(axis=0)
        return tokens, query, label

    def gradient(self, tokens, query, label):
        a, y = self.A.T[query], self.eye[label]
        if self.tuned:
            values = np.arange(self.N, dtype=np.uint8)[:, None]
            X = (tokens[:, None, :] == values).astype(self.dtype)  # (B, N, T)
            p = np.matmul(X, a[:, :, None])[:, :, 0]
            r = p @ self.V.T - y
            w = np.matmul((r @ self.V)[:, None, :], X)[:, 0]
        else:
            X = self.eye[tokens]  # (B, T, N)
            p = np.einsum("btn,bt->bn", X, a)
            r = p @ self.V.T - y
            w = np.einsum("btn,bn->bt", X, r @ self.V)
        return w.T @ self.eye[query] / self.B, r.T @ p / self.B

    def update(self, batch):
        """One step on a batch."""
        gA, gV = self.gradient(*batch)
        gA = (gA - gA.mean(axis=0)) / self.weights
        gV = (gV - gV.mean(axis=0)) / self.weights
        A = np.maximum(self.A - self.eta_A * gA - self.lam, 0)
        self.A = A + (1 - A.sum(axis=0)) / self.T
        self.V = self.V - self.eta_V * gV


def by_numpy(problem, config, steps, tuned=False):
    """(A, V) after so many steps on batches of NumPy."""
    trainer = Numpy(problem, config, tuned)
    for _ in range(steps):
        trainer.update(trainer.sample())
    return trainer.A, trainer.V


def draw(key, problem, B):
    """One-hot tokens (B, T, N), queries and labels (B, N)."""
    P, mu, Q = problem[:3]
    (T, N), for_tokens, for_query, for_place, for_label = Q.shape, *jax.random.split(key, 4)
    X = jax.nn.one_hot(jax.random.choice(for_tokens, N, (B, T), p=mu), N)
    k = jax.random.choice(for_query, N, (B,), p=mu)
    place = jax.random.categorical(for_place, jnp.log(Q.T[k]))
    law = X[jnp.arange(B), place] @ P.T
    return (
        X,
        jax.nn.one_hot(k, N),
        jax.nn.one_hot(jax.random.categorical(for_label, jnp.log(law)), N),
    )


def loss(params, X, k, y):
    A, V = params
    p = jnp.einsum("btn,tk,bk->bn", X, A, k)
    return jnp.mean(jnp.sum((p @ V.T - y) ** 2, axis=1)) / 2


def update(params, batch, problem, eta, lam):
    """One step of eqs. (4)-(6) by autodiff."""
    P, mu, Q = problem[:3]
    gA, gV = jax.grad(loss)(params, *batch)
    K_P, K_Q = jnp.sum((P - mu[:, None]) ** 2 * mu), jnp.sum((Q - 1 / len(Q)) ** 2 * mu)
    A = params[0] - eta / K_P * (gA - jnp.mean(gA, axis=0)) / mu
    A = jnp.maximum(A - lam, 0)
    V = params[1] - eta / K_Q * (gV - jnp.mean(gV, axis=0)) / mu
    return A + (1 - jnp.sum(A, axis=0)) / len(Q), V


@functools.partial(jax.jit, static_argnums=1)
def loop(problem, B, eta, lam, steps):
    mu, Q = problem[1:3]
    start = jnp.full(Q.shape, 1 / len(Q)), jnp.outer(mu, jnp.ones_like(mu))

    def step(t, params):
        batch = draw(jax.random.fold_in(jax.random.key(0), t), problem, B)
        return update(params, batch, problem, eta, lam)

    return jax.lax.fori_loop(0, steps, step, start)


def by_jax(problem, config, steps):
    """(A, V) by autodiff on one-hot tokens, all steps in one jitted loop."""
    return loop(problem, config.batch_size.n, config.late_learning_rate, config.l1, steps)


def work(study):
    """Half a word per token and batch, which the runs of a seed share. Per run and token: a byte
    read, an addition to p and one to the gradient; A read and written, with 8 operations an entry.
    """
    config = study.config
    T, N, B = (getattr(config, name).n for name in ("length", "num_states", "batch_size"))
    times, batches = study.runs * study.steps, study.seeds * study.steps
    flops, moved = times * (2 * B * T + 8 * T * N), times * (B * T + 8 * T * N)
    return Work(flops, moved, B * T + 8 * T * N, words=batches * B * T / 2)


def groups():
    setting = "N = 3, T = 5000, B = 64, Q = 2, second stage; a seed's runs share batches"
    tuned = functools.partial(by_numpy, tuned=True)
    rivals = {"one-hot NumPy": (by_numpy, 10)}
    peers = {"vmapped JAX": (by_jax, 3)}
    yield against(STUDY, setting, rivals, work(STUDY), peers)
    yield overhead(STUDY)
    yield against(STUDY, setting, {"tuned one-hot NumPy": (tuned, None)}, work(STUDY), more=True)
