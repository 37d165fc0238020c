"""One-nearest neighbor in context, from the talk's formulas alone: data, gradient, descent,
statistics.

    h_i = (x_i, y_i, 0), h_q = (q, 0, 1);  x_i, q uniform on the sphere;  E y_i y_j = 1[i = j]
    s = softmax(H^T W h_q),  f = sum_i s_i y_i,  L = 1/2 E (f - y_{i*})^2,  i* = argmax <x_i, q>

Gradient for drawn labels. With e = f - y_{i*} and dL/dz_k = e s_k (y_k - f), where y_q = 0:
    dL/dW = E sum_k dL/dz_k h_k h_q^T

Labels averaged. E (f - y_{i*})^2 = Q - 2 s* + 1 with Q = sum_{i <= N} s_i^2, so dL/ds_i = s_i -
1[i = i*] for i <= N and 0 for the query, and
    dL/dz_k = s_k (dL/ds_k - (Q - s*))
For labels of a symmetric law the row and the column of y in dL/dW average to 0 where W has none, so
W is trained without them: W = [[W11, W13], [W31, W33]], with g_i = (x_i, 0), g_q = (q, 1).

Two numbers. On W = diag(xi1 I, -xi2) the logits are xi1 <x_i, q> and xi1 - xi2 for the query:
    dL/dxi1 = E sum_i dL/dz_i <x_i, q> + dL/dz_q,   dL/dxi2 = -E dL/dz_q
and tr dL/dW11 = dL/dxi1, so that a step eta of W moves xi1 by eta/d and xi2 by eta.
"""

import itertools

import numpy as np

TEST = 2000
# d, N, sigma, eta
SETTINGS = ((4, 4, 5.0, 1.0), (3, 8, 5.0, 10.0))
LATE = (500, 600, 700, 850, 1000, 1200, 1400, 1700, 2000)


def sphere(rng, *shape):
    """Uniform points on the sphere."""
    x = rng.normal(size=shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def softmax(z):
    """Softmax over the first axis."""
    s = np.exp(z - z.max(axis=0))
    return s / s.sum(axis=0)


def averaged_slopes(s, nearest):
    """dL/dz (N + 1, B) and the loss of each prompt, labels averaged; nearest is 1 at i*."""
    Q, star = (s[:-1] ** 2).sum(axis=0), (s[:-1] * nearest).sum(axis=0)
    inner = Q - star
    dz = np.empty_like(s)
    dz[:-1] = s[:-1] * (s[:-1] - nearest - inner)
    dz[-1] = -s[-1] * inner
    return dz, (Q - 2 * star + 1) / 2


def nearest_of(t):
    """1 at the nearest example of each prompt, for inner products t (N, B)."""
    return (np.arange(len(t))[:, None] == t.argmax(axis=0)).astype(float)


def averaged_gradient(W, g, nearest):
    """Loss and dL/dW for tokens g (N + 1, B, d + 1), the query last."""
    s = softmax((g * (g[-1] @ W.T)).sum(axis=2))
    dz, losses = averaged_slopes(s, nearest)
    slope = np.einsum("kb,kbi->bi", dz, g).T @ g[-1]
    return losses.mean(), slope / len(losses)


def drawn_gradient(W, h, y, star):
    """Loss and dL/dW for tokens h (N + 1, B, d + 2) with drawn labels y (N, B)."""
    s = softmax((h * (h[-1] @ W.T)).sum(axis=2))
    y = np.append(y, np.zeros((1, y.shape[1])), axis=0)
    f = (s * y).sum(axis=0)
    e = f - y[star, np.arange(len(f))]
    dz = e * s * (y - f)
    return (e**2).mean() / 2, np.einsum("kb,kbi,bj->ij", dz, h, h[-1]) / len(f)


def reduced_gradient(xi1, xi2, t, nearest):
    """Loss, dL/dxi1 and dL/dxi2 for inner products t (N, B)."""
    s = attention(xi1, xi2, t)
    dz, losses = averaged_slopes(s, nearest)
    of_query = dz[-1].mean()
    return losses.mean(), (dz[:-1] * t).sum() / t.shape[1] + of_query, -of_query


def attention(xi1, xi2, t):
    """s (N + 1, B) of the two-number form."""
    return softmax(np.append(xi1 * t, np.full((1, t.shape[1]), xi1 - xi2), axis=0))


def tokens(x, q):
    """g (N + 1, B, d + 1) of examples x (N, B, d) and queries q (B, d)."""
    g = np.zeros((len(x) + 1, *q.shape[:-1], q.shape[-1] + 1))
    g[:-1, :, :-1], g[-1, :, :-1], g[-1, :, -1] = x, q, 1
    return g


def query_logit(rng, count, steps):
    """|h_q^T W h_q + xi2| and |h_q^T W h_q - xi1 + xi2| after training all of W."""
    d, examples, sigma, eta = SETTINGS[0]
    x, q = sphere(rng, examples, count, d), sphere(rng, count, d)
    g, nearest = tokens(x, q), nearest_of((x * q).sum(axis=2))
    W = np.diag([*[0.0] * d, -sigma])
    for _ in range(steps):
        W = W - eta * averaged_gradient(W, g, nearest)[1]
    shown = np.append(sphere(rng, TEST, d), np.ones((TEST, 1)), axis=1)
    logit = ((shown @ W) * shown).sum(axis=1).mean()
    xi1, xi2 = np.trace(W[:d, :d]) / d, -W[d, d]
    return abs(logit + xi2), abs(logit - xi1 + xi2)


def exponents(rng, setting, count, late):
    """Exponents of t of xi1, of 1 - mean s* on fresh prompts, and of xi1 / xi2."""
    d, examples, sigma, eta = setting
    draw = lambda n: (sphere(rng, examples, n, d) * sphere(rng, n, d)).sum(axis=2)
    t, shown = draw(count), draw(TEST)
    nearest, shown_nearest = nearest_of(t), nearest_of(shown)
    xi1, xi2, rows = 0.0, sigma, []
    for step in range(1, max(late) + 1):
        _, of_xi1, of_xi2 = reduced_gradient(xi1, xi2, t, nearest)
        xi1, xi2 = xi1 - eta / d * of_xi1, xi2 - eta * of_xi2
        if step in late:
            star = (attention(xi1, xi2, shown)[:-1] * shown_nearest).sum(axis=0).mean()
            rows.append((xi1, 1 - star, xi1 / xi2))
    return np.polyfit(np.log(late), np.log(rows), 1)[0]


def replicate(seeds, count=4000, logit_count=2000, steps=300, late=LATE):
    """The statistics of each claim, one value per seed; exponents are means over two settings."""
    rows = []
    for seed in seeds:
        rng = np.random.default_rng((2, seed))
        late_slopes = np.mean([exponents(rng, row, count, late) for row in SETTINGS], axis=0)
        rows.append((*query_logit(rng, logit_count, steps), *late_slopes))
    return dict(zip(("NN-34", "NN-35", "NN-3", "NN-8", "NN-9"), np.array(rows).T, strict=True))


TINY = {"count": 40, "logit_count": 40, "steps": 5, "late": (5, 7, 10)}


def examples(rng):
    """Yield (name, loss of a vector, point, gradient by hand) for small layers."""
    x, q, y = sphere(rng, 3, 6, 2), sphere(rng, 6, 2), rng.normal(size=(3, 6))
    t = (x * q).sum(axis=2)
    g, nearest, star = tokens(x, q), nearest_of(t), t.argmax(axis=0)
    W = rng.normal(size=(3, 3))
    averaged = lambda v: averaged_gradient(v.reshape(3, 3), g, nearest)
    yield "labels averaged", lambda v: averaged(v)[0], W.ravel(), averaged(W)[1].ravel()

    h = np.insert(g, 2, 0.0, axis=2)
    h[:-1, :, 2] = y
    W = rng.normal(size=(4, 4))
    drawn = lambda v: drawn_gradient(v.reshape(4, 4), h, y, star)
    yield "labels drawn", lambda v: drawn(v)[0], W.ravel(), drawn(W)[1].ravel()

    two = lambda v: reduced_gradient(*v, t, nearest)
    v = np.array([1.3, 0.7])
    yield "two numbers", lambda v: two(v)[0], v, np.array(two(v)[1:])


def identities(rng):
    """Yield (name, value, equal value): averaging over labels, and the two numbers in W."""
    x, q = sphere(rng, 3, 5, 2), sphere(rng, 5, 2)
    t = (x * q).sum(axis=2)
    g, nearest, star = tokens(x, q), nearest_of(t), t.argmax(axis=0)
    h, gradients = np.insert(g, 2, 0.0, axis=2), []
    W = np.zeros((4, 4))
    W[np.ix_([0, 1, 3], [0, 1, 3])] = rng.normal(size=(3, 3))
    for signs in itertools.product((-1.0, 1.0), repeat=3):
        y = np.repeat(np.array(signs)[:, None], 5, axis=1)
        h[:-1, :, 2] = y
        gradients.append(drawn_gradient(W, h, y, star)[1])
    full_gradient = np.zeros((4, 4))
    part = W[np.ix_([0, 1, 3], [0, 1, 3])]
    full_gradient[np.ix_([0, 1, 3], [0, 1, 3])] = averaged_gradient(part, g, nearest)[1]
    yield "the mean over all labels +-1", np.mean(gradients, axis=0), full_gradient

    slope = averaged_gradient(np.diag([1.3, 1.3, -0.7]), g, nearest)[1]
    _, of_xi1, of_xi2 = reduced_gradient(1.3, 0.7, t, nearest)
    yield "trace of W11", np.trace(slope[:2, :2]), of_xi1
    yield "W33", -slope[2, 2], of_xi2
