"""Random walks on a circle, from the talk's formulas alone: data, gradient, descent, statistics.

    s_1 uniform on {0..K-1}, then s + 1 with probability p, else s - 1 (mod K);  y = s_N
    xt_j = [e_{s_j}; p_j] for j < N, xt_N = [0; p_N], p_i orthogonal with |p_i|^2 = rho = (M + 1)/2
    S = softmax_j(xt_j^T W xt_N),  h = sum_{j<N} S_j e_{s_j},  f = V h,  L = mean -log(f_y + eps)

Gradient. Write ell' for the derivative of the loss in f_y, a_j = V_{y s_j} and a_N = 0. Then
    dL/dV = mean ell' e_y h^T,   dL/dz_j = ell' S_j (a_j - f_y)
    dL/dW = mean sum_j dL/dz_j xt_j xt_N^T
A step of W moves z_j by -eta sum_i dL/dz_i (xt_j^T xt_i) |xt_N|^2, and xt_j^T xt_i is 1[s_i = s_j]
+ rho 1[i = j] for tokens. From W = 0 the logits are therefore z_j = u_{s_j} + w_j and z_N = w_N,
where u moves at the rate eta rho and w at the rate eta rho^2. This is what is trained here.
"""

import numpy as np

K, N, M, ETA, EPS, TEST = 6, 97, 1000, 1.0, 0.1, 1000
WINDOW = (50, 70, 100, 140, 200, 300)
ODDS = (0.1, 0.3, 0.7, 0.9)
STUCK = ((6, 97), (5, 26), (20, 101))  # circles (K, N) with N = rK + 1
FAR = 25.0  # tokens whose logit is this far below the largest have a weight under 2e-11 each
SLOPES = {  # derivatives of the losses in f_y
    "log": lambda f: -1 / (f + EPS),
    "square": lambda f: f - 1,
    "hinge": lambda f: -1.0 * (f < 1),
}


def walks(rng, count, states, length, p):
    """Walks (count, N - 1) and the labels s_N."""
    steps = np.where(rng.random((count, length - 1)) < p, 1, -1)
    start = rng.integers(states, size=(count, 1))
    s = np.concatenate([start, start + np.cumsum(steps, axis=1)], axis=1) % states
    return s[:, :-1], s[:, -1]


def attention(s, u, w):
    """S of the tokens and of the query, from the logits."""
    z = np.concatenate([u[s] + w[:-1], np.full((len(s), 1), w[-1])], axis=1)
    S = np.exp(z - z.max(axis=1, keepdims=True))
    S /= S.sum(axis=1, keepdims=True)
    return S[:, :-1], S[:, -1]


def averaged(s, S, states):
    """h: the attention that each state receives, summed in the order of positions."""
    index = np.arange(len(s))[:, None] * states + s
    sums = np.bincount(index.ravel(), weights=S.ravel(), minlength=len(s) * states)
    return sums.reshape(len(s), states)


def gradient(V, u, w, s, y, slope="log"):
    """dL/dV, dL/du and dL/dw."""
    S, _ = attention(s, u, w)
    h = averaged(s, S, len(u))
    rows = V[y]
    f_y = (rows * h).sum(axis=1)
    scale = SLOPES[slope](f_y) / len(s)
    dV = ((y == np.arange(len(V))[:, None]) * scale) @ h
    of_state = scale[:, None] * (rows - f_y[:, None])  # dL/dz_j over S_j, by the token's state
    dw = (S * np.take_along_axis(of_state, s, axis=1)).sum(axis=0)
    # the sum over all j of dL/dz_j is 0
    return dV, (of_state * h).sum(axis=0), np.append(dw, -dw.sum())


def literal_gradient(V, W, s, y):
    """dL/dV and dL/dW of the layer as written, with the sines of dimension M in place."""
    states, tokens = len(V), s.shape[1]
    dim = len(W) - states
    i, k = np.arange(1, tokens + 2)[:, None], np.arange(1, dim + 1)[None, :]
    P = np.sin(i * k * np.pi / (dim + 1))
    xt = np.zeros((len(s), tokens + 1, states + dim))
    xt[:, :, states:] = P
    xt[np.arange(len(s))[:, None], np.arange(tokens)[None, :], s] = 1
    z = xt @ (W @ xt[0, -1])
    S = np.exp(z - z.max(axis=1, keepdims=True))
    S /= S.sum(axis=1, keepdims=True)
    h = (xt[:, :, :states] * S[:, :, None]).sum(axis=1)
    a = np.append(np.take_along_axis(V[y], s, axis=1), np.zeros((len(s), 1)), axis=1)
    f_y = (a * S).sum(axis=1)
    dz = SLOPES["log"](f_y)[:, None] * S * (a - f_y[:, None]) / len(s)
    dV = np.zeros_like(V)
    np.add.at(dV, y, SLOPES["log"](f_y)[:, None] * h / len(s))
    loss = -np.log(f_y + EPS).mean()
    return loss, dV, np.outer(np.einsum("bj,bjc->c", dz, xt), xt[0, -1])


def train(s, y, states, eta, times, slope="log", far=FAR):
    """Gradient descent from zero; V, u and w at the given times. Tokens whose logit is `far` below
    the largest are left out of a step, which changes nothing visible (`identities`).
    """
    length, rho = s.shape[1] + 1, (M + 1) / 2
    V, u, w = np.zeros((states, states)), np.zeros(states), np.zeros(length)
    snapshots = {0: (V, u, w)}
    for t in range(1, max(times) + 1):
        live = np.flatnonzero(w[:-1] + np.ptp(u) > w[:-1].max() - far)
        shown = s if len(live) == length - 1 else s[:, live]
        dV, du, dw = gradient(V, u, w[np.append(live, length - 1)], shown, y, slope)
        V, u, w = V - eta * dV, u - eta * rho * du, w.copy()
        w[np.append(live, length - 1)] -= eta * rho**2 * dw
        if t in times:
            snapshots[t] = V, u, w
    return snapshots


def direction_error(V, target):
    """| V/|V| - target/|target| |."""
    return np.linalg.norm(V / np.linalg.norm(V) - target / np.linalg.norm(target))


def transition(states, p):
    """Pi^T: column s is the law of the state after s."""
    return p * np.roll(np.eye(states), 1, axis=0) + (1 - p) * np.roll(np.eye(states), -1, axis=0)


def learned(s, u, w):
    """True if the parent, the last token, has the most attention."""
    return attention(s, u, w)[0].mean(axis=0).argmax() == s.shape[1] - 1


def odds_exponent(rng, p, count, steps, length):
    """a in v(1)/v(-1) = (p/(1-p))^a; NaN if the parent is not selected."""
    s, y = walks(rng, count, K, length, p)
    V, u, w = train(s, y, K, ETA, (steps,))[steps]
    if not learned(s, u, w):
        return np.nan
    k = np.arange(K)
    return np.log(V[(k + 1) % K, k].sum() / V[(k - 1) % K, k].sum()) / np.log(p / (1 - p))


def rates(rng, p, count, window, length):
    """Exponents of t over the window: of V against Pi^T and against its root, and of the output's
    gap | f/|f| - Pi^T x_{N-1} |; NaN if the parent is not selected.
    """
    s, y = walks(rng, count, K, length, p)
    test, _ = walks(rng, TEST, K, length, p)
    runs = train(s, y, K, ETA, window)
    target, rows = transition(K, p), []
    for t in window:
        V, u, w = runs[t]
        f = averaged(test, attention(test, u, w)[0], K) @ V.T
        gap = f / np.linalg.norm(f, axis=1, keepdims=True) - target.T[test[:, -1]]
        rows.append(
            (
                direction_error(V, target),
                direction_error(V, np.sqrt(target)),
                np.linalg.norm(gap, axis=1).mean(),
            )
        )
    slopes = np.polyfit(np.log(window), np.log(rows), 1)[0]
    return slopes if learned(s, u, w) else np.full(3, np.nan)


def stuck(states, length, p, eta, slope, steps):
    """On the exact law of p = 0 or 1: how far attention, V and accuracy are from uniform."""
    s = (np.arange(states)[:, None] + (1 if p else -1) * np.arange(length)) % states
    s, y = s[:, :-1], s[:, -1]
    gaps = []
    for V, u, w in train(s, y, states, eta, range(1, steps + 1), slope).values():
        S, _ = attention(s, u, w)
        f = averaged(s, S, states) @ V.T
        largest = f >= f.max(axis=1, keepdims=True) - 1e-9 * abs(f).max(axis=1, keepdims=True)
        right = (largest.argmax(axis=1) == y).mean()
        scale = max(abs(V).max(), 1e-300)
        gaps += [np.ptp(S, axis=1).max(), np.ptp(V) / scale, abs(right - 1 / states)]
    return max(gaps)


def replicate(
    seeds, count=10000, odds_count=1000, steps=500, window=WINDOW, length=N, stuck_steps=50
):
    """The statistics of each claim, one value per seed."""
    statistics = {"RW-12": [], "RW-15": [], "RW-16": [], "RW-17": [], "RW-6": []}
    for seed in seeds:
        rng = np.random.default_rng((1, seed))
        odds = [odds_exponent(rng, p, odds_count, steps, length) for p in ODDS]
        statistics["RW-12"].append(np.mean([a for a in odds if not np.isnan(a)] or [np.nan]))
        half, skewed = (rates(rng, p, count, window, length) for p in (0.5, 0.7))
        statistics["RW-15"].append(half[0])
        statistics["RW-16"].append(skewed[1])
        statistics["RW-17"].append(skewed[0])
        statistics["RW-6"].append(half[2])
    cells = [
        (*circle, p, eta, slope, stuck_steps)
        for circle in STUCK
        for p in (0, 1)
        for eta in (0.1, 1.0)
        for slope in SLOPES
    ]
    statistics["RW-9"] = [max(stuck(*cell) for cell in cells)]
    return {claim: np.array(values) for claim, values in statistics.items()}


TINY = {
    "count": 50,
    "odds_count": 50,
    "steps": 5,
    "window": (2, 3, 5),
    "length": 7,
    "stuck_steps": 2,
}


def examples(rng):
    """Yield (name, loss of a vector, point, gradient by hand) for small layers."""
    s, y = walks(rng, 7, 4, 5, 0.3)
    sizes = (16, 4, 5)
    split = lambda x: np.split(x, np.cumsum(sizes)[:-1])

    def loss(x):
        V, u, w = split(x)
        h = averaged(s, attention(s, u, w)[0], 4)
        return -np.log((V.reshape(4, 4)[y] * h).sum(axis=1) + EPS).mean()

    x = np.concatenate([rng.random(16), rng.normal(size=9)])
    V, u, w = split(x)
    parts = gradient(V.reshape(4, 4), u, w, s, y)
    yield "reduced layer", loss, x, np.concatenate([part.ravel() for part in parts])

    shape = (4 + 6, 4 + 6)
    layer = lambda x: literal_gradient(x[:16].reshape(4, 4), x[16:].reshape(shape), s, y)
    x = np.concatenate([rng.random(16), 0.3 * rng.normal(size=100)])
    _, dV, dW = layer(x)
    yield "layer as written", lambda x: layer(x)[0], x, np.append(dV.ravel(), dW.ravel())


def identities(rng):
    """Yield (name, value, equal value): the reduced run is that of the layer as written, and tokens
    that are far below the others may be left out.
    """
    s, y = walks(rng, 30, 4, 5, 0.3)
    V, W = np.zeros((4, 4)), np.zeros((4 + M, 4 + M))
    for _ in range(3):
        _, dV, dW = literal_gradient(V, W, s, y)
        V, W = V - 0.01 * dV, W - 0.01 * dW
    yield "V of both forms", train(s, y, 4, 0.01, (3,))[3][0], V

    s, y = walks(rng, 300, K, N, 0.7)
    sparse, dense = (train(s, y, K, ETA, (40,), far=far)[40] for far in (FAR, np.inf))
    yield "V without tokens of no weight", sparse[0], dense[0]
