"""Sparse contextual bigrams, from the paper's formulas alone: data, gradient, descent, statistics.

    x_1 .. x_{T+1} independent from mu, k = x_{T+1}, s from q^(k), y from column x_s of P, P mu = mu
    p = X a^(k),  F = V p,  loss = 1/2 |e_y - V p|^2

Gradient of one sample, r = V p - e_y:   dV = r p^T,   da^(k)_t = (V^T r)_{x_t}, other columns 0
Preconditioned:   (I - 11^T/T) da^(k) / mu_k,   (I - 11^T/N) dV diag(1/mu)
Rates:   eta / K_P for A and eta / K_Q for V, K_P = |P - mu 1^T|_mu^2, K_Q = |Q|_mu^2 - 1/T, with
<A, B>_mu = sum_k mu_k <A_k, B_k>.   Start: A = 11^T/T, V = mu 1^T.

Proximal runs. At t = tau the entries of A below 0.3 of their column's largest are set to 0. From
then on each step ends with a -> a - lambda where a >= lambda, else 0. Columns are moved back to the
sum 1 by adding a constant, in plain SGD, too.

The population loss follows from two moments. With D = diag(mu) and columns of A that sum to 1,
    E p p^T = |A|_mu^2 D + (1 - |A|_mu^2) mu mu^T
    E e_y p^T = P (<A, Q>_mu D + (1 - <A, Q>_mu) mu mu^T)
so L = 1/2 (1 - 2 tr V^T E e_y p^T + tr V^T V E p p^T), and the best V for an A is
E e_y p^T (E p p^T)^-1.

Judged are runs of the right sign, alpha_A + alpha_V > 0, on tasks with z >= 2, where
    z = K_P sqrt(2 B / (eta T)) / sqrt(tr C P C P^T),   C = D - mu mu^T
"""

import numpy as np

N, Q, CUT, LEAST, SURE = 3, 2, 0.3, 0.1, 2.0
PROX, SGD = 0, 1
SOON = 200  # steps after tau


def task(rng, length):
    """P with Dirichlet columns and min mu >= 0.1, its mu, and Q with 1/2 on two positions."""
    while True:
        P = rng.dirichlet(np.ones(N), size=N).T
        values, vectors = np.linalg.eig(P)
        mu = np.real(vectors[:, np.argmin(abs(values - 1))])
        mu = mu / mu.sum()
        signal = (mu * (P - mu[:, None]) ** 2).sum()
        if mu.min() >= LEAST and signal >= (mu**2).sum() / 100:
            break
    places = np.array([rng.choice(length, Q, replace=False) for _ in range(N)])
    context = np.zeros((length, N))
    context[places.T, np.arange(N)] = 1 / Q
    return P, mu, context, places


def inner(A, B, mu):
    """<A, B>_mu."""
    return (mu * (A * B).sum(axis=0)).sum()


def signals(P, mu, context):
    """K_P and K_Q."""
    U = P - mu[:, None]
    return inner(U, U, mu), inner(context, context, mu) - 1 / len(context)


def certainty(P, mu, batch, eta, length):
    """z, whose normal distribution function is the probability of the right sign."""
    C = np.diag(mu) - np.outer(mu, mu)
    K_P = (mu * (P - mu[:, None]) ** 2).sum()
    return K_P * np.sqrt(2 * batch / (eta * length)) / np.sqrt(np.trace(C @ P @ C @ P.T))


def samples(rng, count, P, mu, places, length):
    """Tokens (count, T), last tokens in order, and next tokens."""
    edges = np.cumsum(mu)[:-1].astype(np.float32)
    u = rng.random((count, length), dtype=np.float32)
    x = np.zeros((count, length), dtype=np.uint8)
    for edge in edges:
        x += u >= edge
    last = np.sort(rng.choice(len(mu), count, p=mu))  # the order of a batch does not matter
    at = places[last, rng.integers(places.shape[1], size=count)]
    column = np.cumsum(P, axis=0)[:-1, x[np.arange(count), at]]
    return x, last, (rng.random(count) >= column).sum(axis=0)


def gradients(A, V, x, last, y):
    """dL/dA (runs, T, N) and dL/dV (runs, N, N) of several runs on the same samples."""
    size = V.shape[1]
    hot = [(x == n).astype(A.dtype) for n in range(size)]
    ends = np.searchsorted(last, np.arange(size + 1))
    dA, dV = np.zeros_like(A), np.zeros_like(V)
    for k in range(size):
        rows = slice(ends[k], ends[k + 1])
        p = np.stack([hot[n][rows] @ A[:, :, k].T for n in range(size)])  # (N, samples, runs)
        r = np.einsum("rin,nbr->ibr", V, p)
        r[y[rows], np.arange(len(y[rows]))] -= 1
        dV += np.einsum("ibr,nbr->rin", r, p)
        back = np.einsum("rin,ibr->nbr", V, r)
        dA[:, :, k] = sum(back[n].T @ hot[n][rows] for n in range(size))
    return dA / len(y), dV / len(y)


def loss(A, V, x, last, y):
    """The mean loss of one run on samples."""
    p = np.stack([((x == n) * A[:, last].T).sum(axis=1) for n in range(len(V))])
    return ((V @ p - np.eye(len(V))[y].T) ** 2).sum() / (2 * len(y))


def to_sum_one(A):
    """Columns with sum 1, by adding a constant to each."""
    return A + (1 - A.sum(axis=-2, keepdims=True)) / A.shape[-2]


def large(A):
    """True for entries of at least 0.3 of their column's largest."""
    return CUT * A.max(axis=-2, keepdims=True) <= A


def train(rng, P, mu, context, places, settings):
    """A and V of the proximal run and of SGD, on the same samples: 200 steps after tau, and after
    the last step.
    """
    batch, steps, switch, eta, late, lam = settings
    length = len(context)
    K_P, K_Q = signals(P, mu, context)
    A = np.full((2, length, N), 1 / length, dtype=np.float32)
    V = np.repeat((mu[:, None] * np.ones(N))[None], 2, axis=0).astype(np.float32)
    snapshots = []
    for t in range(steps):
        rate = eta if t < switch else late
        if t == switch:
            A[PROX] = to_sum_one(np.where(large(A[PROX]), A[PROX], 0))
        dA, dV = gradients(A, V, *samples(rng, batch, P, mu, places, length))
        dA, dV = dA / mu, dV / mu
        A = A - np.float32(rate / K_P) * (dA - dA.mean(axis=1, keepdims=True)).astype(A.dtype)
        V = V - np.float32(rate / K_Q) * (dV - dV.mean(axis=1, keepdims=True)).astype(V.dtype)
        if t >= switch:
            A[PROX] = np.where(A[PROX] >= lam, A[PROX] - np.float32(lam), 0)
        A = to_sum_one(A)
        snapshots += (
            [(A.astype(float), V.astype(float))] if t + 1 == min(switch + SOON, steps) else []
        )
    return snapshots[0], (A.astype(float), V.astype(float))


def moments(A, P, mu, context):
    """E p p^T and E e_y p^T."""
    D, M, square, aq = np.diag(mu), np.outer(mu, mu), inner(A, A, mu), inner(A, context, mu)
    return square * D + (1 - square) * M, P @ (aq * D + (1 - aq) * M)


def population_loss(A, V, P, mu, context):
    """The mean loss of infinitely many samples."""
    pp, yp = moments(A, P, mu, context)
    return (1 - 2 * (V * yp).sum() + (V.T @ V * pp).sum()) / 2


def best_value(A, P, mu, context):
    """The V of the least population loss for an A."""
    pp, yp = moments(A, P, mu, context)
    return np.linalg.solve(pp, yp.T).T


def measured(A, V, P, mu, context):
    """alpha_A, alpha_V, |Delta_A|, excess loss, and both distances after rounding."""
    K_P, K_Q = signals(P, mu, context)
    norm = lambda B: np.sqrt(inner(B, B, mu))
    uniform = np.full_like(A, 1 / len(A))
    alpha_A = inner(A - uniform, context, mu) / K_Q
    alpha_V = inner(V - (V @ mu)[:, None], P - mu[:, None], mu) / K_P
    off = norm(A - uniform - alpha_A * (context - uniform))
    least = population_loss(context, best_value(context, P, mu, context), P, mu, context)
    excess = population_loss(A, V, P, mu, context) - least
    rounded = np.where(large(A), A, 0)
    rounded = rounded / rounded.sum(axis=0)
    of_V = norm(best_value(rounded, P, mu, context) - P)
    return alpha_A, alpha_V, off, excess, norm(rounded - context), of_V


CLAIMS = (
    "CB-3 A",
    "CB-3 V",
    "excess",
    "CB-5",
    "CB-11",
    "CB-11 product",
    "SGD",
    "CB-15",
    "CB-15 A",
    "CB-15 V",
)


def replicate(seeds, length=1000, settings=(256, 1000, 400, 0.02, 0.01, 1e-5)):
    """The statistics of each claim, one value per seed; NaN where the run has the wrong sign or
    the task is not sure.
    """
    rows = []
    for seed in seeds:
        rng = np.random.default_rng((3, seed))
        P, mu, context, places = task(rng, length)
        if certainty(P, mu, settings[0], settings[3], length) < SURE:
            rows.append([np.nan] * len(CLAIMS))
            continue
        (early_A, early_V), (A, V) = train(rng, P, mu, context, places, settings)
        prox, sgd = (measured(A[i], V[i], P, mu, context) for i in (PROX, SGD))
        if min(prox[0] + prox[1], sgd[0] + sgd[1]) <= 0:
            rows.append([np.nan] * len(CLAIMS))
            continue
        far = lambda B, truth, mu=mu: np.sqrt(inner(B - truth, B - truth, mu))
        nearer = np.mean([prox[i] < sgd[i] for i in (4, 5)])
        rows.append(
            (
                far(early_A[PROX], context) / far(early_A[SGD], context),
                far(early_V[PROX], P) / far(early_V[SGD], P),
                prox[3] / sgd[3],
                sgd[2] / prox[2],
                min(1 - prox[0], prox[1] - 1),
                abs(1 - prox[0] * prox[1]) / min(1 - prox[0], prox[1] - 1),
                min(sgd[0] - 1, 1 - sgd[1]),
                nearer,
                prox[4] - sgd[4],
                prox[5] - sgd[5],
            )
        )
    return dict(zip(CLAIMS, np.array(rows).T, strict=True))


TINY = {"length": 30, "settings": (200, 20, 10, 0.02, 0.01, 1e-5)}


def examples(rng):
    """Yield (name, loss of a vector, point, gradient by hand) for a small layer."""
    P, mu, _, places = task(rng, 6)
    x, last, y = samples(rng, 9, P, mu, places, 6)
    split = lambda v: (v[:18].reshape(6, 3), v[18:].reshape(3, 3))
    v = rng.normal(size=27)
    A, V = split(v)
    dA, dV = gradients(A[None], V[None], x, last, y)
    yield "layer", lambda v: loss(*split(v), x, last, y), v, np.append(dA.ravel(), dV.ravel())


def identities(rng):
    """Yield (name, value, equal value): the population loss by its law, and the best V."""
    length = 4
    P, mu, context, _ = task(rng, length)
    A, V = to_sum_one(rng.random((length, N))), rng.random((N, N))
    total = 0.0
    for x in np.ndindex(*[N] * length):
        p = np.stack([A[np.array(x) == n].sum(axis=0) for n in range(N)])
        law = mu * np.prod(mu[list(x)])  # of the context and each last token
        of_y = P[:, list(x)] @ context  # (y, k)
        for k in range(N):
            errors = ((np.eye(N) - (V @ p[:, k])[:, None]) ** 2).sum(axis=0) / 2
            total += law[k] * of_y[:, k] @ errors
    yield "population loss", population_loss(A, V, P, mu, context), total
    best = best_value(A, P, mu, context)
    step = 1e-4 * rng.normal(size=(N, N))
    up, down = (population_loss(A, best + s, P, mu, context) for s in (step, -step))
    yield "slope at the best V", (up - down) / 1e-4, 0.0
