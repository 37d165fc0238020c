"""Tied attention to positions or to meaning in plain NumPy, from docs/positional_semantic.md.

    x_1, x_2 ~ N(0, sigma^2 I),  chi_l = x_l.Q* / sqrt(d),  h_l = (x_l + s_l p).Q / sqrt(d)
    S_1(h) = 1/(1 + exp(-h_1 (h_1 - h_2))),  S_2(h) likewise with the tokens exchanged
    t = (1 - omega) S(chi) + omega (1/2 + a)
    L = sum over n samples of |x_1 - x_2|^2 |t - S(h)|^2 / (2 d) + lambda |Q|^2 / 2

Descent with momentum starts along p or along Q*.
"""

import numpy as np

SIGMA, OMEGA, A, RHO, RIDGE = 0.5, 0.3, 0.1, 2.0, 0.01


def attention(h):
    """S of scores [2, n]."""
    gap = h[0] - h[1]
    return 1 / (1 + np.exp(-np.stack([h[0] * gap, -h[1] * gap])))


def target(x, star):
    """t of samples."""
    return (1 - OMEGA) * attention(x @ star / len(star) ** 0.5) + OMEGA * (0.5 + A)


def scores(x, p, Q):
    """h of samples."""
    return (x @ Q + np.array([[1.0], [-1.0]]) * (p @ Q)) / len(Q) ** 0.5


def gradient(x, p, t, Q):
    """dL/dQ: through h_1 (h_1 - h_2), of which S_1 is the sigmoid, and h_2 (h_2 - h_1)."""
    d = len(Q)
    h = scores(x, p, Q)
    S = attention(h)
    pull = ((x[0] - x[1]) ** 2).sum(axis=1) / d * (S - t) * S * (1 - S)
    by_h = np.stack(
        [
            pull[0] * (2 * h[0] - h[1]) - pull[1] * h[1],
            pull[1] * (2 * h[1] - h[0]) - pull[0] * h[0],
        ]
    )
    inputs = x + np.stack([p, -p])[:, None]
    return np.einsum("ln,lnd->d", by_h, inputs) / d**0.5 + RIDGE * Q


def energy(x, p, t, Q):
    """L / d."""
    square = ((x[0] - x[1]) ** 2).sum(axis=1) / len(Q)
    gap = ((t - attention(scores(x, p, Q))) ** 2).sum(axis=0)
    return (square @ gap + RIDGE * Q @ Q) / (2 * len(Q))


def descend(x, p, t, Q, rate, steps):
    """Q after descent with momentum 0.9."""
    speed = np.zeros_like(Q)
    for _ in range(steps):
        speed = 0.9 * speed + gradient(x, p, t, Q)
        Q = Q - rate * speed
    return Q


def sphere(rng, d, norm):
    """A direction."""
    v = rng.normal(size=d)
    return norm * v / np.linalg.norm(v)


def replicate(seeds, d=64, n=128, rate=0.3, steps=400, fresh=4000):
    """The statistics, one value per seed."""
    columns = {word: [] for word in ("semantic", "positional", "error", "energy")}
    for seed in seeds:
        rng = np.random.default_rng((11, seed))
        star, p = sphere(rng, d, d**0.5), sphere(rng, d, RHO)
        x = SIGMA * rng.normal(size=(2, n, d))
        t = target(x, star)
        along_p = descend(x, p, t, d**0.5 / RHO * p, rate, steps)
        along_star = descend(x, p, t, star, rate, steps)
        new = SIGMA * rng.normal(size=(2, fresh, d))
        square = ((new[0] - new[1]) ** 2).sum(axis=1) / d
        gap = ((target(new, star) - attention(scores(new, p, along_star))) ** 2).sum(axis=0)
        columns["semantic"].append(abs(star @ along_star) / d**0.5 / np.linalg.norm(along_star))
        columns["positional"].append(abs(p @ along_p) / RHO / np.linalg.norm(along_p))
        columns["error"].append(np.log10((square * gap).mean()))
        columns["energy"].append(np.log(energy(x, p, t, along_p) / energy(x, p, t, along_star)))
    return {word: np.array(column) for word, column in columns.items()}


TINY = {"d": 5, "n": 7, "steps": 4, "fresh": 9}


def examples(rng):
    """Yield (name, loss of a vector, point, gradient by hand)."""
    d, n = 4, 6
    star, p, x = sphere(rng, d, d**0.5), sphere(rng, d, RHO), SIGMA * rng.normal(size=(2, n, d))
    t = target(x, star)
    for name, Q in (("any Q", rng.normal(size=d)), ("along p", p), ("zero", np.zeros(d))):
        yield name, lambda at: d * energy(x, p, t, at), Q, gradient(x, p, t, Q)


def identities(rng):
    """Yield (name, value, equal value): the loss by whole matrices, and what they weigh."""
    d, n = 5, 8
    star, p, x = sphere(rng, d, d**0.5), sphere(rng, d, RHO), SIGMA * rng.normal(size=(2, n, d))
    Q, t = rng.normal(size=d), target(x, star)

    def matrices(h):
        weights = np.exp(np.einsum("ln,kn->nlk", h, h))
        return weights / weights.sum(axis=2, keepdims=True)

    positions = np.array([[0.5 + A, 0.5 - A], [0.5 - A, 0.5 + A]])
    T = (1 - OMEGA) * matrices(x @ star / d**0.5) + OMEGA * positions
    h = scores(x, p, Q)
    gaps = np.einsum("nlk,knd->nld", T - matrices(h), x)
    yield "loss", energy(x, p, t, Q), ((gaps**2).sum() / d + RIDGE * Q @ Q) / (2 * d)
    yield "diagonal of T", t.T, np.einsum("nll->nl", T)
    signs = np.array([1.0, -1.0])
    one = [(x[l, 3] + signs[l] * p) @ Q / d**0.5 for l in range(2)]
    yield "scores", h[:, 3], np.array(one)
