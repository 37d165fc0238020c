"""The walk on a circle: a sweep over eta and seeds against the reduced layer in NumPy and the
literal one in plain JAX.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.cases import against, overhead
from benchmarks.floor import Work
from benchmarks.study import Study
from benchmarks.timing import Side

import jaxtheory

THEORY = jaxtheory.theories.get("random_walk")
STUDY = Study(THEORY, THEORY.Config(), "learning_rate", (0.3, 0.5, 1.0, 2.0), 8, 50)


def by_numpy(problem, config, steps):
    """(V, u, w) after gradient descent on the reduced layer: z = X^T u + w, one-hot X, float64."""
    s, y = np.asarray(problem.train.s), np.asarray(problem.train.y)
    (B, N), K = s.shape, config.num_states.n
    rho, eta = (config.encoding_dim.n + 1) / 2, config.learning_rate
    X = np.eye(K)[s]
    X[:, -1] = 0
    Y = np.eye(K)[y]
    V, u, w = np.zeros((K, K)), np.zeros(K), np.zeros(N)
    for _ in range(steps):
        z = X @ u + w
        S = np.exp(z - z.max(axis=1, keepdims=True))
        S /= S.sum(axis=1, keepdims=True)
        H = np.einsum("bn,bnk->bk", S, X)
        q = Y @ V
        f = (q * H).sum(axis=1)
        r = 1 / (f + config.epsilon) / B
        c = r[:, None] * S * (np.einsum("bnk,bk->bn", X, q) - f[:, None])
        dV = -Y.T @ (r[:, None] * H)
        u = u + eta * rho * np.einsum("bn,bnk->k", c, X)
        w = w + eta * rho**2 * c.sum(axis=0)
        V = V - eta * dV
    return V, u, w


def loss(params, Xt, y, epsilon):
    """-mean log(f_y + eps) of the literal layer, f = V X softmax(Xt^T W xt_N)."""
    V, W = params
    K = len(V)
    S = jax.nn.softmax(jnp.einsum("bnd,de,be->bn", Xt, W, Xt[:, -1]))
    f = jnp.einsum("yk,bnk,bn->by", V, Xt[:, :, :K], S)
    return -jnp.mean(jnp.log(jnp.sum(f * jax.nn.one_hot(y, K), axis=1) + epsilon))


@jax.jit
def step(params, Xt, y, epsilon, eta):
    slope = jax.grad(loss)(params, Xt, y, epsilon)
    return jax.tree.map(lambda p, g: p - eta * g, params, slope)


@functools.partial(jax.jit, static_argnums=(1, 2))
def tokens(s, K, M):
    """(B, N, K+M) one-hot states, zero at the query, beside sines of the positions."""
    N = s.shape[1]
    X = jax.nn.one_hot(s, K) * (jnp.arange(N) < N - 1)[:, None]
    i, k = jnp.arange(1.0, N + 1)[:, None], jnp.arange(1.0, M + 1)[None, :]
    P = jnp.sin(i * k * jnp.pi / (M + 1))
    return jnp.concatenate([X, jnp.broadcast_to(P, (len(s), N, M))], axis=2)


def by_jax(problem, config, steps):
    """(V, W) after gradient descent by autodiff on the literal layer."""
    K, M = config.num_states.n, config.encoding_dim.n
    Xt = tokens(problem.train.s, K, M)
    params = jnp.zeros((K, K)), jnp.zeros((K + M, K + M))
    for _ in range(steps):
        params = step(params, Xt, problem.train.y, config.epsilon, config.learning_rate)
    return params


def hot(problem, config):
    """X (B, N, K): one-hot states, zero at the query."""
    s = problem.train.s
    before = jnp.arange(s.shape[1]) < s.shape[1] - 1
    return jax.nn.one_hot(s, config.num_states.n) * before[:, None]


def reduced(carried):
    """train(problem, config, steps) of the reduced layer: (V, u, w) by autodiff, all steps in one
    loop. carried(X, u, w): the attention that each state carries to the query (B, K).
    """

    def by_autodiff(problem, config, steps):
        X, y, K = hot(problem, config), problem.train.y, config.num_states.n
        rho = (config.encoding_dim.n + 1) / 2
        rates = 1, rho, rho**2

        def loss(params):
            V, u, w = params
            f = jnp.sum(V[y] * carried(X, u, w), axis=1)
            return -jnp.mean(jnp.log(f + config.epsilon))

        def step(_, params):
            down = lambda p, g, rate: p - config.learning_rate * rate * g
            return jax.tree.map(down, params, jax.grad(loss)(params), rates)

        first = jnp.zeros((K, K)), jnp.zeros(K), jnp.zeros(X.shape[1])
        return jax.lax.fori_loop(0, steps, step, first)

    return by_autodiff


def by_softmax(X, u, w):
    return jnp.einsum("bn,bnk->bk", jax.nn.softmax(X @ u + w), X)


def by_factors(X, u, w):
    """The exponentials factor into those of states and of positions: one matrix product."""
    top = jax.lax.stop_gradient(jnp.maximum(jnp.max(w[:-1]) + jnp.max(u), w[-1]))
    of_state = jax.lax.stop_gradient(jnp.max(u))
    B, N, K = X.shape
    summed = X.swapaxes(1, 2).reshape(B * K, N) @ jnp.exp(w - (top - of_state))
    C = summed.reshape(B, K) * jnp.exp(u - of_state)
    return C / (jnp.sum(C, axis=1, keepdims=True) + jnp.exp(w[-1] - top))


def work(study):
    """Per run, step and token: a byte of state; add, subtract the maximum, divide, sum, add to H,
    and for c a difference and a product, and two sums.
    """
    config = study.config
    times = study.runs * study.steps * config.num_sequences.n * config.length.n
    size = 4 * config.num_sequences.n * config.length.n
    return Work(flops=9 * times, moved=times, resident=size)


def groups():
    """The baselines, of which the last is timed on a part; the overhead."""
    literal = Side(STUDY.over(by_jax), STUDY.one(by_jax, 3), STUDY.runs * STUDY.steps / 3)
    yield against(
        STUDY,
        "K = 6, N = 97, M = 1000, B = 1000",
        {"reduced NumPy": (by_numpy, 15), "literal plain JAX": (literal, 500)},
        work(STUDY),
        {
            "vmapped JAX": (reduced(by_softmax), 3),
            "vmapped JAX with the algebra": (reduced(by_factors), 1),
        },
    )
    yield overhead(STUDY)
