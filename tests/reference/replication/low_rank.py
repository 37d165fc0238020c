"""A one-layer Transformer on label-relevant patterns, from the paper's formulas alone: data,
gradient, descent, statistics.

    x = mu + 0.1 noise, mu one of 20 orthonormal patterns; a sample of label y = +1 has 9 tokens of
    mu_1, 3 of mu_2 and one of each other pattern, for y = -1 mu_1 and mu_2 are exchanged
    p_l = softmax_j((W_K x_j)^T W_Q x_l),  c_l = sum_j p_lj x_j,  v_l = W_V c_l,  h_l = W_O v_l
    F = 1/L sum_l a_l^T relu(h_l),   loss = max(0, 1 - y F),   a_l in {-1, 1}^m / sqrt(m), fixed

Gradient of F, where G_l = a_l 1[h_l > 0] / L:
    dW_O = sum_l G_l v_l^T,   dv_l = W_O^T G_l,   dW_V = sum_l dv_l c_l^T,   dc_l = W_V^T dv_l
    dz_lj = p_lj (dc_l^T x_j - dc_l^T c_l)   (z_lj the score of key j for query l)
    dW_Q = sum_l (sum_j dz_lj W_K x_j) x_l^T,   dW_K = sum_lj dz_lj W_Q x_l x_j^T
and that of the loss is the mean of -y 1[y F < 1] times these.

S1, S1p: one a for all positions, P1, P1p: one per position. W_Q = W_K = W_V = delta I at the start,
delta = 0.1, and 0.01 in S1p and P1p; entries of W_O ~ N(0, 0.1^2). SGD on 32 distinct samples of
600 a step, eta = 1 for 120 steps (S) or 3 for 160 steps (P).
"""

import numpy as np

D, M, WIDTH, NOISE, RELEVANT, CONFUSING = 20, 20, 200, 0.1, 9, 3
SETTINGS = {  # eta, steps, delta
    "S1": (1.0, 120, 0.1),
    "S1p": (1.0, 120, 0.01),
    "P1": (3.0, 160, 0.1),
    "P1p": (3.0, 160, 0.01),
}
EARLY = (1, 20, 30)  # steps at which singular values are taken
RANKS = (1, 2, 3, 5, 10, D)
SMALL = 0.33


def samples(rng, count, patterns=M, relevant=RELEVANT, confusing=CONFUSING, dim=D):
    """Tokens (count, L, d), labels, and 1 where a token is of the label's pattern."""
    y = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
    own, rival = (y < 0).astype(int)[:, None], (y > 0).astype(int)[:, None]
    background = np.tile(np.arange(2, patterns), (count, 1))
    kinds = np.concatenate([np.tile(own, relevant), np.tile(rival, confusing), background], axis=1)
    kinds = rng.permuted(kinds, axis=1)
    x = np.eye(patterns, dim)[kinds] + NOISE * rng.normal(size=(*kinds.shape, dim))
    return x, y, kinds == own


def forward(weights, a, x):
    """All that the gradient needs."""
    WQ, WK, WV, WO = weights
    q, k = x @ WQ.T, x @ WK.T
    z = q @ k.transpose(0, 2, 1)  # (n, query, key)
    p = np.exp(z - z.max(axis=2, keepdims=True))
    p /= p.sum(axis=2, keepdims=True)
    c = p @ x
    v = c @ WV.T
    h = v @ WO.T
    F = (a * np.maximum(h, 0)).sum(axis=(1, 2)) / x.shape[1]
    return F, q, k, p, c, v, h


def gradient(weights, a, x, y):
    """The gradient of the mean loss in W_Q, W_K, W_V, W_O."""
    _, _, WV, WO = weights
    F, q, k, p, c, v, h = forward(weights, a, x)
    of_F = -y * (y * F < 1) / len(y)
    support = np.flatnonzero(of_F)
    of_F, x, q, k, p, c, v, h = (part[support] for part in (of_F, x, q, k, p, c, v, h))
    G = of_F[:, None, None] * (a * (h > 0)) / x.shape[1]
    flat = lambda part: part.reshape(-1, part.shape[-1])
    dv = G @ WO
    dc = dv @ WV
    dz = p * (dc @ x.transpose(0, 2, 1) - (dc * c).sum(axis=2, keepdims=True))
    return (
        flat(dz @ k).T @ flat(x),
        flat(dz.transpose(0, 2, 1) @ q).T @ flat(x),
        flat(dv).T @ flat(c),
        flat(G).T @ flat(v),
    )


def hinge(F, y):
    """The mean loss."""
    return np.maximum(0, 1 - y * F).mean()


def cut(start, end, rank):
    """All changes cut to a rank."""
    parts = []
    for W0, W in zip(start, end, strict=True):
        U, s, Vt = np.linalg.svd(W - W0, full_matrices=False)
        parts.append(W0 + (U[:, :rank] * s[:rank]) @ Vt[:rank])
    return parts


def gap(W, W0):
    """s_2 / s_3 of a change."""
    s = np.linalg.svd(W - W0, compute_uv=False)
    return s[1] / s[2]


def jump(norms):
    """The largest ratio of consecutive sorted norms, ranks 10 % to 90 %."""
    s, place = np.sort(norms), np.arange(1, len(norms))
    inside = (10 * place >= len(norms)) & (10 * place <= 9 * len(norms))
    return (s[1:] / s[:-1])[inside].max()


def small(changes):
    """The share of neurons whose change is below 0.33 of the 95 % quantile."""
    return (changes < SMALL * np.quantile(changes, 0.95)).mean()


def run(rng, name, sizes):
    """The statistics of one run."""
    eta, steps, delta = SETTINGS[name]
    train_size, test_size, batch, width, steps = *sizes, steps
    x, y, _ = samples(rng, train_size)
    test, label, own = samples(rng, test_size)
    positions = x.shape[1] if name.startswith("P") else 1
    a = rng.choice([-1.0, 1.0], size=(positions, width)) / np.sqrt(width)
    start = [delta * np.eye(D)] * 3 + [0.1 * rng.normal(size=(width, D))]
    weights, gaps = list(start), {}
    for t in range(1, steps + 1):
        rows = rng.choice(train_size, batch, replace=False)
        slopes = gradient(weights, a, x[rows], y[rows])
        weights = [W - eta * slope for W, slope in zip(weights, slopes, strict=True)]
        if t in EARLY:
            gaps[t] = gap(weights[1], start[1])
    losses, errors = {}, {}
    for rank in RANKS:
        F = forward(cut(start, weights, rank), a, test)[0]
        losses[rank], errors[rank] = hinge(F, label), (label * F <= 0).mean()
    attention = forward(weights, a, test)[3]
    norm = lambda W: np.linalg.norm(W, axis=1)
    return {
        "cost 1": losses[1] - losses[D],
        "cost 2": max(abs(losses[rank] - losses[D]) for rank in RANKS[1:-1]),
        "wrong": errors[1] - errors[D],
        "attention": (attention * own[:, None, :]).sum(axis=2).mean(),
        "first gap": gaps[1],
        "log gap": np.log10(min(gaps[20], gaps[30])),
        "jump": jump(norm(weights[3])),
        "small": small(norm(weights[3] - start[3])),
    }


def replicate(seeds, sizes=(600, 300, 32, WIDTH)):
    """The statistics of each claim, one value per seed; over several settings their mean."""
    statistics = {}
    for seed in seeds:
        runs = {name: run(np.random.default_rng((4, seed)), name, sizes) for name in SETTINGS}
        over = lambda what, *names, runs=runs: np.mean([runs[n][what] for n in names or SETTINGS])
        for claim, value in {
            "LR-2": over("cost 1"),
            "LR-1": over("cost 2"),
            "LR-3": over("wrong"),
            "LR-11": over("log gap"),
            "LR-13": over("first gap", "P1", "P1p"),
            "LR-14": over("first gap", "S1", "S1p"),
            "LR-7": over("attention", "P1", "P1p") - over("attention", "S1", "S1p"),
            "LR-17": over("jump", "S1", "S1p"),
            "LR-18": over("small", "S1", "S1p"),
            "P small": over("small", "P1", "P1p"),
        }.items():
            statistics.setdefault(claim, []).append(value)
    return {claim: np.array(values) for claim, values in statistics.items()}


TINY = {"sizes": (20, 10, 4, 12)}


def examples(rng):
    """Yield (name, loss of a vector, point, gradient by hand): one a, and one per position."""
    x, y, _ = samples(rng, 4, patterns=4, relevant=2, confusing=1, dim=4)
    shapes = ((3, 4), (3, 4), (5, 4), (6, 5))
    ends = np.cumsum([rows * columns for rows, columns in shapes])
    split = lambda v: [
        part.reshape(shape) for part, shape in zip(np.split(v, ends[:-1]), shapes, strict=True)
    ]
    for name, positions in (("one a", 1), ("one a per position", x.shape[1])):
        a = rng.choice([-1.0, 1.0], size=(positions, 6)) / np.sqrt(6)
        v = rng.normal(size=ends[-1])
        by_hand = np.concatenate([part.ravel() for part in gradient(split(v), a, x, y)])
        yield name, lambda v, a=a: hinge(forward(split(v), a, x)[0], y), v, by_hand


def identities(rng):
    """Yield (name, value, equal value): a change of full rank is kept whole."""
    start, end = [[rng.normal(size=(3, 4))] for _ in range(2)]
    yield "rank 3 of 3", cut(start, end, 3)[0], end[0]
