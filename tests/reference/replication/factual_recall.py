"""Factual recall by linear attention in plain NumPy, from the setting of docs/factual_recall.md.

    c = counts of the S + R + N tokens of a prompt,  f = Phi W E (u c),
    L = -sum over facts of (w_s / R) E log softmax(f)_{a*(s, r)},  w_s ~ s^-zeta

Answer a of relation r is number r D + a. Onehot: Phi and E are identities, W = alpha and
u = alpha (A + 1)^(1/2). Random: entries N(0, 1/d), W = 0 and u = 1.
"""

import itertools

import numpy as np


def draw(rng, S, R, D, N=1, T=2, n=1, zeta=0.0):
    """Counts [P, V], right answers and weights of n prompts of each fact."""
    facts, rows = rng.integers(D, size=(S, R)), []
    w = np.arange(1, S + 1.0) ** -zeta
    for s, r, _ in itertools.product(range(S), range(R), range(n)):
        c = np.zeros(S + R + N)
        c[[s, S + r]] = 1
        np.add.at(c, S + R + rng.integers(N, size=T - 2), 1)
        rows.append((c, r * D + facts[s, r], w[s] / w.sum() / (R * n)))
    return tuple(map(np.array, zip(*rows, strict=True)))


def start(S, R, D, N, alpha):
    """W and u of onehot embeddings."""
    return np.full((R * D, S + R + N), alpha), np.full(S + R + N, alpha * (R * D + 1) ** 0.5)


def answers(W, u, data, Phi=None, E=None):
    """z = E (u c) and softmax(f) of each prompt."""
    z = data[0] * u if E is None else (data[0] * u) @ E.T
    f = z @ W.T if Phi is None else z @ W.T @ Phi.T
    p = np.exp(f - f.max(axis=1, keepdims=True))
    return z, p / p.sum(axis=1, keepdims=True)


def loss(W, u, data, *maps):
    p = answers(W, u, data, *maps)[1]
    return -(data[2] * np.log(p[np.arange(len(p)), data[1]])).sum()


def slopes(W, u, data, Phi=None, E=None):
    """The probabilities, dL/dW and dL/du."""
    z, p = answers(W, u, data, Phi, E)
    g = p.copy()
    g[np.arange(len(g)), data[1]] -= 1
    g *= data[2][:, None]
    h = g if Phi is None else g @ Phi
    x = h @ W if E is None else h @ W @ E
    return p, h.T @ z, (x * data[0]).sum(axis=0)


def descended(W, u, data, eta, steps):
    """Yield u and the probabilities at each step of descent."""
    for _ in range(steps + 1):
        p, dW, du = slopes(W, u, data)
        yield u, p
        W, u = W - eta * dW, u - eta * du


def adam(W, u, data, eta, steps, *maps, decay=(0.9, 0.999)):
    """Yield the same with Adam."""
    one, two = ([np.zeros_like(W), np.zeros_like(u)] for _ in range(2))
    for t in range(1, steps + 2):
        p, *slope = slopes(W, u, data, *maps)
        yield u, p
        one, two = (
            [b * m + (1 - b) * x**k for m, x in zip(moment, slope, strict=True)]
            for b, moment, k in zip(decay, (one, two), (1, 2), strict=True)
        )
        by = [
            eta * (m / (1 - decay[0] ** t)) / ((v / (1 - decay[1] ** t)) ** 0.5 + 1e-8)
            for m, v in zip(one, two, strict=True)
        ]
        W, u = W - by[0], u - by[1]


def shares(data, R, D):
    """p(a|r)."""
    return np.bincount(data[1], weights=data[2] * R, minlength=R * D).reshape(R, D)


def right(p, data):
    return p[np.arange(len(p)), data[1]]


def masses(p, data, R, D):
    """The probability of the answers of the relation, and of those of the subject to all."""
    P, k = len(p), len(p) // R  # prompts of a fact are neighbors, as are the facts of a subject
    relation = p.reshape(P, R, D).sum(axis=2)[np.arange(P), data[1] // D]
    of_subject = [sorted({*data[1][i - i % R : i - i % R + R]}) for i in range(P)]
    assert k * R == P
    return relation, np.array([row[own].sum() for row, own in zip(p, of_subject, strict=True)])


def first(values, level):
    """Where values first reach a level, by straight lines."""
    x = np.asarray(values) - level
    places = np.flatnonzero(x[:-1] * x[1:] <= 0)
    return places[0] + x[places[0]] / (x[places[0]] - x[places[0] + 1]) if len(places) else np.nan


def exponent(y):
    """Of y in its number, counted from 1."""
    return np.polyfit(np.log(np.arange(1, len(y) + 1)), np.log(y), 1)[0]


def half_way(rng, S, R, D, alphas, eta, steps):
    """The change with log(1/alpha) of eta times the step half-way to the plateau, over its law."""
    data = draw(rng, S, R, D)
    q, times = shares(data, R, D), []
    level = -(q * np.log(np.where(q > 0, q, 1))).sum() / R
    for alpha in alphas:
        run = descended(*start(S, R, D, 1, alpha), data, eta, steps)
        losses = [-(data[2] * np.log(right(p, data))).sum() for _, p in run]
        times.append(eta * first(losses, (np.log(R * D) + level) / 2))
    law = (R / np.sqrt((q**2).sum(axis=1) - 1 / (R * D))).mean()
    return (times[1] - times[0]) / np.log(alphas[0] / alphas[1]) / law


def noise_first(rng, S, R, D, N, T, alpha, eta, steps):
    """log10 of the score of noise over that of subjects at half of the plateau, one prompt each."""
    data = draw(rng, S, R, D, N, T)
    run = list(descended(*start(S, R, D, N, alpha), data, eta, steps))
    losses = [-(data[2] * np.log(right(p, data))).sum() for _, p in run]
    q = shares(data, R, D)
    level = -(q * np.log(np.where(q > 0, q, 1))).sum() / R
    at = first(losses, level / 2)
    u = run[0 if np.isnan(at) else round(at)][0]
    return np.log10(u[S + R :].mean() / u[:S].mean())


def reversed_lead(rng, S, R, D, alpha, eta, steps):
    """The largest lead of the subject's answers over the relation's, by size."""
    data, leads = draw(rng, S, R, D), []
    for _, p in descended(*start(S, R, D, 1, alpha), data, eta, steps):
        relation, subject = masses(p, data, R, D)
        leads.append((data[2] * (subject - relation)).sum())
    return leads[np.argmax(np.abs(leads))]


def rare(rng, S, R, D, rates, steps):
    """The exponent in s of the step at which subject s is recalled, by descent and by Adam."""
    data, begin = draw(rng, S, R, D, zeta=1.0), start(S, R, D, 1, 0.01)
    exponents = []
    for rule, eta in zip((descended, adam), rates, strict=True):
        hits = [
            right(p, data).reshape(S, R).mean(axis=1) for _, p in rule(*begin, data, eta, steps)
        ]
        exponents.append(exponent([first(column, 0.5) for column in np.array(hits).T]))
    return exponents


def stored(rng, d, S, R, D, eta, steps):
    """The share of facts recalled after Adam with random embeddings."""
    data = draw(rng, S, R, D)
    Phi, E = (rng.normal(size=shape) / d**0.5 for shape in ((R * D, d), (d, S + R + 1)))
    *_, (_, p) = adam(np.zeros((d, d)), np.ones(S + R + 1), data, eta, steps, Phi, E)
    return (p.argmax(axis=1) == data[1]).mean()


def replicate(seeds, sizes=(16, 4, 8), width=16, steps=(600, 1200, 700, 2500, 600)):
    """The statistics, one value per seed."""
    shares = []
    for seed in seeds:
        rng = np.random.default_rng((10, seed))
        shares.append(
            (
                half_way(rng, *sizes, (1e-3, 1e-6), 0.5, steps[0]),
                noise_first(rng, *sizes, 16, 6, 1e-4, 0.5, steps[1]),
                reversed_lead(rng, 4, 16, 8, 1e-6, 0.5, steps[2]),
                *rare(rng, *sizes, (0.5, 0.01), steps[3]),
                stored(rng, width, 2 * width, width // 2, 4, 0.03, steps[4]),
            )
        )
    words = ("half-way", "noise", "reversed", "descent", "Adam", "stored")
    return dict(zip(words, np.array(shares).T, strict=True))


TINY = {"sizes": (3, 2, 3), "width": 4, "steps": (9, 8, 7, 6, 5)}


def examples(rng):
    """Yield (name, loss of a vector, point, gradient by hand)."""
    S, R, D, N, d = 3, 2, 3, 2, 4
    A, V = R * D, S + R + N
    data = draw(rng, S, R, D, N, T=4, n=2, zeta=0.7)
    for name, maps, shape in (
        ("onehot", (), (A, V)),
        ("random", (rng.normal(size=(A, d)), rng.normal(size=(d, V))), (d, d)),
    ):
        W, u = rng.normal(size=shape), rng.normal(size=V)
        at = lambda x, maps=maps, shape=shape: loss(x[:-V].reshape(shape), x[-V:], data, *maps)
        _, dW, du = slopes(W, u, data, *maps)
        yield name, at, np.concatenate([W.ravel(), u]), np.concatenate([dW.ravel(), du])


def identities(rng):
    """Yield (name, value, equal value): drives at the start by the slope, what is conserved, both
    masses and an exponent.
    """
    S, R, D = 4, 3, 3
    data = draw(rng, S, R, D, zeta=0.6)
    flat, q = start(S, R, D, 1, 1.0), shares(data, R, D)
    dW = slopes(*flat, data)[1] / flat[1]
    drives = np.sqrt((dW**2).sum(axis=0))
    yield "|G_r|", drives[S : S + R], np.sqrt((q**2).sum(axis=1) - 1 / (R * D)) / R
    w = np.arange(1, S + 1.0) ** -0.6
    yield "|G_s|", drives[:S], w / w.sum() * np.sqrt(1 / R - 1 / (R * D))
    W, u = rng.normal(size=flat[0].shape), rng.normal(size=flat[1].shape)
    p, dW, du = slopes(W, u, data)
    yield "u^2 - |W_v|^2", u * du, (W * dW).sum(axis=0)
    yield "sums of W", dW.sum(axis=0), np.zeros_like(u)
    relation, subject = masses(p, data, R, D)
    for i, (s, r) in enumerate(itertools.product(range(S), range(R))):
        yield "mass of the relation", relation[i], p[i, r * D : r * D + D].sum()
        yield "mass of the subject", subject[i], p[i][data[1].reshape(S, R)[s]].sum()
    yield "an exponent", exponent(3 * np.arange(1, 9) ** 0.7), 0.7
    yield "a crossing", first([4.0, 2.0, 1.0], 1.5), 1.5
