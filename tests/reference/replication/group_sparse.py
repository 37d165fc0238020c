"""Group-sparse classification, from the talk's formulas alone: data, gradient, descent, statistics.

    x_1 .. x_D ~ N(0, I_d),  y = sign <v*, x_{j*}>
    h_j = [x_j; p_j],  P^T P = rho I, rho = (D + 1)/2
    S = softmax over k of h_k^T W h_j,  f = sum_j m_j,  m_j = sum_k S_kj a_k,  a_k = v^T h_k
    L = mean log(1 + exp(-y f))

Gradient. With g = -y / (1 + exp(y f)) and dL/dz_kj = g S_kj (a_k - m_j) =: R_kj,
    dL/dv = mean g sum_kj S_kj h_k,   dL/dW = mean sum_kj R_kj h_k h_j^T

The population. By symmetry (rotations about v*, signs, permutations of the groups other than j*)
v is [c v*; 0], W is block diagonal with W11 = a v* v*^T + b (I - v* v*^T), and A = P^T W22 P
depends on (k, j) only through which of them are j* and whether they are equal. So z_kj =
a u_k u_j + b (x_k^T x_j - u_k u_j) + A_kj with u = <v*, x>, a_k = c u_k, and the chain rule gives
    dL/dc = mean g sum_j r_j,  r_j = sum_k S_kj u_k,  dL/da = mean sum R_kj u_k u_j,
    dL/db = mean sum R_kj (x_k^T x_j - u_k u_j),  dL/dA_kj = mean R_kj
c and a move at the rate eta, b, which stands for d - 1 equal entries of W11, at eta / (d - 1), and
A, since W22 moves by -eta P R P^T, at eta rho^2. The mean over a sample and all its images under
the symmetries is that of the sample, with dL/dA averaged over equal places.
"""

import numpy as np

RATE = np.sqrt(2 / np.pi) * np.pi**2 / 12  # of |v1| = (3 eta RATE t / D)^(1/3)
ETA, STAR, TEST = 0.25, 1, 1000  # j* counted from 0
GROUPS, POPULATION, TIMES = (4, 6, 8, 12), 2000, (500, 1000, 1400, 2000, 2800, 4000)
COUNTS, FIRST = (250, 1000, 4000), 64  # D^3 steps at D = 4
DOWNSTREAM = {"count": 500, "steps": 200, "eta": 0.5, "rate": 0.1, "margin": 0.2}
SHOWN = (20, 40, 60, 100)  # downstream samples


def direction(rng, d):
    """A uniform direction."""
    v = rng.normal(size=d)
    return v / np.linalg.norm(v)


def samples(rng, count, d, groups, truth, margin=0.0):
    """X (D, d, n) and labels, the relevant group moved by the margin."""
    x = rng.normal(size=(groups, d, count))
    y = np.where(truth @ x[STAR] >= 0, 1.0, -1.0)
    x[STAR] += margin * truth[:, None] * y
    return x, y


def tokens(x):
    """H (D, d + D, n) with the sines."""
    groups, d, count = x.shape
    i = np.arange(1, groups + 1)
    P = np.sin(np.outer(i, i) * np.pi / (groups + 1))
    H = np.empty((groups, d + groups, count))
    H[:, :d], H[:, d:] = x, P[:, :, None]
    return H


def softmax(z):
    """Softmax over the first axis."""
    S = np.exp(z - z.max(axis=0))
    return S / S.sum(axis=0)


def attention(W, H):
    """S (D, D, n), the first axis is k."""
    image = np.tensordot(W, H, axes=(1, 1))  # W h_j: (., j, n)
    return softmax(np.stack([(h[:, None, :] * image).sum(axis=0) for h in H]))


def logistic(margin):
    """The mean loss."""
    return np.logaddexp(0, -margin).mean()


def output(v, W, H):
    """f."""
    a = np.einsum("i,kin->kn", v, H)
    return (a * attention(W, H).sum(axis=1)).sum(axis=0)


def gradient(v, W, H, y, of_W=True):
    """dL/dv and dL/dW, None for the second if it is not asked for."""
    S, a = attention(W, H), np.einsum("i,kin->kn", v, H)
    weight = S.sum(axis=1)  # of token k over all queries
    g = -y / (1 + np.exp(y * (a * weight).sum(axis=0))) / len(y)
    dv = np.einsum("n,kn,kin->i", g, weight, H, optimize=True)
    if not of_W:
        return dv, None
    m = (S * a[:, None]).sum(axis=0)
    R = g * S * (a[:, None] - m)
    pulled = np.stack([(R[k][:, None] * H).sum(axis=0) for k in range(len(H))])  # sum_j R_kj h_j
    flat = H.transpose(1, 0, 2).reshape(H.shape[1], -1)
    return dv, flat @ pulled.transpose(1, 0, 2).reshape(H.shape[1], -1).T


def descend(H, y, eta, steps):
    """v and W from zero."""
    v, W = np.zeros(H.shape[1]), np.zeros((H.shape[1], H.shape[1]))
    for _ in range(steps):
        dv, dW = gradient(v, W, H, y)
        v, W = v - eta * dv, W - eta * dW
    return v, W


def classes(groups):
    """The number of the class of each (k, j): which of them are j*, and whether they are equal."""
    k, j = np.arange(groups)[:, None], np.arange(groups)[None, :]
    return (k == STAR) * 1 + (j == STAR) * 2 + (k == j) * 4


def over_classes(A):
    """A averaged over each class."""
    labels = classes(len(A))
    sums, sizes = np.bincount(labels.ravel(), A.ravel()), np.bincount(labels.ravel())
    return (sums / np.maximum(sizes, 1))[labels]


def reduced_gradient(c, a, b, A, u, gram, y):
    """Loss, dL/dc, dL/da, dL/db and dL/dA for u (D, n), gram (D, D, n) = x_k^T x_j - u_k u_j."""
    S, r, f = reduced_output(c, a, b, A, u, gram)
    g = -y / (1 + np.exp(y * f)) / len(y)
    R = (c * g) * S * (u[:, None] - r)
    of_b = np.vdot(R, gram)
    of_a = (np.einsum("kjn,kn->jn", R, u) * u).sum()
    return logistic(y * f), (g * r.sum(axis=0)).sum(), of_a, of_b, R.sum(axis=2)


def reduced_output(c, a, b, A, u, gram):
    """S, r and f."""
    S = softmax((a * u[:, None]) * u + b * gram + A[:, :, None])
    r = np.einsum("kjn,kn->jn", S, u)
    return S, r, c * r.sum(axis=0)


def decompose(x, truth):
    """u and gram."""
    u = np.einsum("i,kin->kn", truth, x)
    return u, np.einsum("kin,jin->kjn", x, x) - u[:, None] * u


def population(seed, groups, count, times, d=4):
    """The test loss and |v1| at the given times. For all numbers of groups the same v*, and the
    same draws of the relevant group.
    """
    truth = direction(np.random.default_rng((6, seed, 0)), d)
    (x, y), (test, label) = (
        samples(np.random.default_rng((6, seed, n)), n, d, groups, truth) for n in (count, TEST)
    )
    u, gram = decompose(x, truth)
    test_u, test_gram = decompose(test, truth)
    c, a, b, A, curve = 0.0, 0.0, 0.0, np.zeros((groups, groups)), []
    for t in range(1, max(times) + 1):
        _, dc, da, db, dA = reduced_gradient(c, a, b, A, u, gram, y)
        c, a, b = c - ETA * dc, a - ETA * da, b - ETA / (d - 1) * db
        A = A - ETA * ((groups + 1) / 2) ** 2 * over_classes(dA)
        if t in times:
            f = reduced_output(c, a, b, A, test_u, test_gram)[2]
            curve.append((logistic(label * f), abs(c)))
    return np.array(curve).T


def angles(rng, counts, steps, d=4, groups=4):
    """| v1/|v1| - v* | after descent on each number of samples."""
    errors = []
    for count in counts:
        truth = direction(rng, d)
        x, y = samples(rng, count, d, groups, truth)
        v, _ = descend(tokens(x), y, ETA, steps)
        errors.append(np.linalg.norm(v[:d] / np.linalg.norm(v[:d]) - truth))
    return errors


def downstream_gain(rng, shown, d=4, groups=6):
    """Accuracy with the pre-trained W frozen less that from scratch, a mean over sample counts."""
    numbers = DOWNSTREAM
    x, y = samples(rng, numbers["count"], d, groups, direction(rng, d))
    _, W = descend(tokens(x), y, numbers["eta"], numbers["steps"])
    truth = direction(rng, d)
    new, label = samples(rng, max(shown), d, groups, truth, numbers["margin"])
    test, test_label = samples(rng, TEST, d, groups, truth, numbers["margin"])
    H, test = tokens(new), tokens(test)
    right = {}
    for frozen in (True, False):
        v, w = np.zeros(d + groups), W if frozen else np.zeros_like(W)
        for i in range(max(shown)):
            dv, dW = gradient(v, w, H[:, :, i : i + 1], label[i : i + 1], of_W=not frozen)
            v = v - numbers["rate"] * dv
            w = w if frozen else w - numbers["rate"] * dW
            if i + 1 in shown:
                right[frozen, i + 1] = ((output(v, w, test) >= 0) == (test_label > 0)).mean()
    return np.mean([right[True, i] - right[False, i] for i in shown])


def replicate(
    seeds, groups=GROUPS, count=POPULATION, times=TIMES, counts=COUNTS, shown=SHOWN, repeats=4
):
    """The statistics of each claim, one value per seed, or `repeats` where they are cheap."""
    statistics = {"GS-19/20": [], "GS-21": [], "GS-22": [], "GS-44": [], "GS-27": []}
    for seed in seeds:
        rng = np.random.default_rng((6, seed))
        late, first = np.array(times[1:]), times[:1]
        long, size = population(seed, groups[0], count, times)
        losses = [long[0], *(population(seed, D, count, first)[0][0] for D in groups[1:])]
        statistics["GS-19/20"].append(np.polyfit(np.log(groups), np.log(losses), 1)[0])
        statistics["GS-21"].append(np.polyfit(np.log(late), np.log(long[1:]), 1)[0])
        law = (3 * ETA * RATE * late / groups[0]) ** (1 / 3)
        statistics["GS-22"].append((size[1:] / law).mean())
        for _ in range(repeats):
            errors = angles(rng, counts, FIRST)
            statistics["GS-44"].append(np.polyfit(np.log(counts), np.log(errors), 1)[0])
            statistics["GS-27"].append(downstream_gain(rng, shown))
    return {claim: np.array(values) for claim, values in statistics.items()}


TINY = {
    "groups": (2, 3),
    "count": 20,
    "times": (3, 4, 6),
    "counts": (10, 20),
    "shown": (2, 3),
    "repeats": 1,
}


def examples(rng):
    """Yield (name, loss of a vector, point, gradient by hand) for small layers."""
    truth = direction(rng, 2)
    x, y = samples(rng, 5, 2, 3, truth)
    H, split = tokens(x), lambda v: (v[:5], v[5:].reshape(5, 5))
    v = rng.normal(size=30)
    dv, dW = gradient(*split(v), H, y)
    yield "layer", lambda v: logistic(y * output(*split(v), H)), v, np.append(dv, dW.ravel())

    u, gram = decompose(x, truth)
    six = lambda v: reduced_gradient(*v[:3], v[3:].reshape(3, 3), u, gram, y)
    v = rng.normal(size=12)
    _, *slopes, dA = six(v)
    yield "population's form", lambda v: six(v)[0], v, np.append(slopes, dA.ravel())


def identities(rng):
    """Yield (name, value, equal value): one step of the reduced form is one of the layer."""
    d, D = 3, 4
    truth, (c, a, b) = direction(rng, d), rng.normal(size=3)
    x, y = samples(rng, 6, d, D, truth)
    H, A = tokens(x), over_classes(rng.normal(size=(D, D)))
    P, rho = H[:, d:, 0].T, (D + 1) / 2
    v, W = np.append(c * truth, np.zeros(D)), np.zeros((d + D, d + D))
    projector = np.outer(truth, truth)
    W[:d, :d] = a * projector + b * (np.eye(d) - projector)
    W[d:, d:] = P @ A @ P.T / rho**2
    _, dc, da, db, dA = reduced_gradient(c, a, b, A, *decompose(x, truth), y)
    dv, dW = gradient(v, W, H, y)
    yield "c", truth @ dv[:d], dc
    yield "a", truth @ dW[:d, :d] @ truth, da
    yield "b", np.trace((np.eye(d) - projector) @ dW[:d, :d]), db
    yield "A", P.T @ dW[d:, d:] @ P, rho**2 * dA
