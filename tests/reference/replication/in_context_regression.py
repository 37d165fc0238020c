"""Regression in context by linear attention, from the source's formulas alone: loss, gradient,
descent, statistics.

    x_n, x ~ N(0, Lambda),  w ~ N(0, I),  y_n = <w, x_n>,  y = <w, x>
    Z = [[x_1 .. x_N, x], [y_1 .. y_N, 0]],  f = the last entry of sum_h W_V Z Z^T W_KQ Z / N
    L = E (y - f)^2

Only beta = (1/N) sum_n y_n x_n, the last entry v of W_V and the block U of W_KQ that reads features
count: f = beta^T A x with A = sum_h v_h U_h. In the separate form U_h = k_h q_h^T.

The population. Given w, beta = S w with S = (1/N) sum_n x_n x_n^T, so that
    E beta beta^T = E S^2 = Lambda^2 + (Lambda^2 + tr(Lambda) Lambda) / N
    L(A) = tr Lambda - 2 tr(Lambda A Lambda) + tr(A^T E[S^2] A Lambda)
    G = dL/dA = 2 (E[S^2] A Lambda - Lambda^2)
    dL/dv_h = <U_h, G>,  dL/dU_h = v_h G,  dL/dk_h = v_h G q_h,  dL/dq_h = v_h G^T k_h

With the first m features learned, A_dd = 1 / (lambda_d (1 + (1 + tr Lambda / lambda_d) / N)) and
    L_m = tr Lambda - sum_{d <= m} lambda_d / (1 + (1 + tr Lambda / lambda_d) / N)

The logistic law of A = s I / sqrt(D), for Lambda = lambda I and H equal heads v = sigma, U = sigma
I / sqrt(D): v^2 = |U|^2 stays, s = H v^2, and ds/dt = 2 v (dv/dt) H with
    dv/dt = 2 sqrt(D) lambda^2 v (1 - s / s*),  s* = sqrt(D) / (lambda (1 + (1 + D) / N))

A run pauses at level m at the step of its slowest fall, between the steps at which it passes the
middles of L_(m-1), L_m and of L_m, L_(m+1).
"""

import itertools

import numpy as np

LAMBDA = np.array([0.4, 0.3, 0.2, 0.1])
LENGTH, HEADS, SIGMA, ETA = 31, 8, 0.01, 0.5
EVERY = 20  # steps between two looks at the loss


def moments(lam, N):
    """The diagonal of E S^2."""
    return lam**2 + (lam**2 + lam.sum() * lam) / N


def loss_of(A, lam, N):
    """L(A), for A with leading axes."""
    e, diagonal = moments(lam, N), np.diagonal(A, axis1=-2, axis2=-1)
    square = (e[:, None] * lam * A**2).sum(axis=(-2, -1))
    return lam.sum() - 2 * (lam**2 * diagonal).sum(axis=-1) + square


def slope_of(A, lam, N):
    """G = dL/dA."""
    return 2 * (moments(lam, N)[:, None] * lam * A - np.diag(lam**2))


def levels(lam, N):
    """L_0 .. L_D."""
    gains = lam / (1 + (1 + lam.sum() / lam) / N)
    return lam.sum() - np.append(0, gains.cumsum())


def matrix(heads):
    """A of the heads (v, k, q) or (v, U), with an axis of seeds first."""
    if len(heads) == 3:
        v, k, q = heads
        return (v[..., None] * k).swapaxes(-1, -2) @ q
    v, U = heads
    return (v[..., None, None] * U).sum(axis=-3)


def by_heads(heads, G):
    """The gradient in the weights of the heads."""
    if len(heads) == 2:
        v, U = heads
        G = G[..., None, :, :]
        return (U * G).sum(axis=(-2, -1)), v[..., None, None] * G
    v, k, q = heads
    Gq = q @ G.swapaxes(-1, -2)
    return (k * Gq).sum(axis=-1), v[..., None] * Gq, v[..., None] * (k @ G)


def start(rng, form, H, D, sigma):
    """Gaussian weights: sigma for v, sigma / sqrt(D) for the entries of the others."""
    shapes = {"separate": ((H,), (H, D), (H, D)), "merged": ((H,), (H, D, D))}[form]
    scales = (sigma, *[sigma / D**0.5] * 2)
    return tuple(
        scale * rng.normal(size=shape) for scale, shape in zip(scales, shapes, strict=False)
    )


def descend(heads, lam, N, eta, steps, every):
    """The losses at steps 0, every, 2 every, ... of descent on the population."""
    losses = []
    for step in range(steps + 1):
        A = matrix(heads)
        if step % every == 0:
            losses.append(loss_of(A, lam, N))
        slopes = by_heads(heads, slope_of(A, lam, N))
        heads = tuple(x - eta * g for x, g in zip(heads, slopes, strict=True))
    return np.array(losses)


def first_below(losses, level):
    """The first place at which the losses are below a level; the last one where none is."""
    below = losses < level
    return int(below.argmax()) if below.any() else len(losses) - 1


def pauses(losses, lam, N, every):
    """log10 of the largest distance of a pause from its level L_1 .. L_(D-1), over tr Lambda; and
    the mean of log10 of the steps at which the middles before L_1 .. L_(D-1) are passed.
    """
    L = levels(lam, N)
    passed = [first_below(losses, middle) for middle in (L[1:] + L[:-1]) / 2]
    gaps = []
    for m in range(1, len(lam)):
        window = losses[passed[m - 1] : passed[m] + 1]
        slowest = (window[:-1] - window[1:]).argmin() if len(window) > 1 else 0
        gaps.append(abs(window[slowest] - L[m]) / lam.sum())
    return np.log10(max(gaps)), np.log10(every * np.maximum(passed[:-1], 1)).mean()


def speeds(losses, lam, N):
    """log10 of the slowest over the fastest fall between two looks, where 10 to 90 % of tr Lambda
    - L_D are done.
    """
    L = levels(lam, N)
    done = (L[0] - losses) / (L[0] - L[-1])
    fall = (losses[:-1] - losses[1:])[(done[:-1] > 0.1) & (done[1:] < 0.9)]
    return np.log10(fall.min() / fall.max()) if len(fall) and fall.min() > 0 else np.nan


def from_aligned(D, N, H, sigma, eta, steps):
    """The largest distance of descent from the logistic law over tr Lambda = 1."""
    lam = np.full(D, 1 / D)
    heads = np.full((1, H), sigma), sigma / D**0.5 * np.broadcast_to(np.eye(D), (1, H, D, D))
    losses = descend(heads, lam, N, eta, steps, 1)[:, 0]
    end = D**0.5 * D / (1 + (1 + D) / N)
    odds = H * sigma**2 / (end - H * sigma**2)
    odds = odds * np.exp(4 * D**0.5 / D**2 * eta * np.arange(steps + 1))
    s = end * odds / (1 + odds)
    return abs(losses - (1 - s / D / D**0.5 * (2 - s / end))).max()


def draw(rng, count, lam, N):
    """beta, x and y of prompts."""
    D = len(lam)
    x = rng.normal(size=(count, N, D)) * lam**0.5
    query, w = rng.normal(size=(count, D)) * lam**0.5, rng.normal(size=(count, D))
    beta = np.einsum("pn,pnd->pd", np.einsum("pnd,pd->pn", x, w), x) / N
    return beta, query, (query * w).sum(axis=1)


def error_of(A, prompts):
    """The mean of (y - f)^2 and its gradient in A."""
    beta, x, y = prompts
    residual = ((beta @ A) * x).sum(axis=1) - y
    return (residual**2).mean(), 2 * (residual[:, None] * beta).T @ x / len(y)


def on_prompts(rng, count, test, steps):
    """The loss on test prompts after descent on drawn prompts, merged form."""
    train, shown = draw(rng, count, LAMBDA, LENGTH), draw(rng, test, LAMBDA, LENGTH)
    heads = start(rng, "merged", HEADS, len(LAMBDA), 0.1)
    for _ in range(steps):
        slopes = by_heads(heads, error_of(matrix(heads), train)[1])
        heads = tuple(x - ETA * g for x, g in zip(heads, slopes, strict=True))
    return error_of(matrix(heads), shown)[0]


def replicate(
    seeds,
    steps=40000,
    merged=2000,
    aligned=3000,
    count=2000,
    test=2000,
    prompt_steps=300,
    sigma=SIGMA,
):
    """The statistics of each claim, one value per seed; the aligned start is the same for all."""
    D, curves = len(LAMBDA), {}
    rngs = [np.random.default_rng((7, seed)) for seed in seeds]
    for form, total in (("separate", steps), ("merged", merged)):
        starts = [start(rng, form, HEADS, D, sigma) for rng in rngs]
        heads = tuple(map(np.stack, zip(*starts, strict=True)))
        stride = EVERY if form == "separate" else 1
        curves[form] = descend(heads, LAMBDA, LENGTH, ETA, total, stride).T
    paused = np.array([pauses(losses, LAMBDA, LENGTH, EVERY) for losses in curves["separate"]])
    return {
        "IR-1": paused[:, 0],
        "IR-1 steps": paused[:, 1],
        "IR-1 speed": np.array([speeds(x, LAMBDA, LENGTH) for x in curves["separate"]]),
        "IR-2": np.array([speeds(x, LAMBDA, LENGTH) for x in curves["merged"]]),
        "IR-3": np.array([from_aligned(D, LENGTH, HEADS, 0.03, 0.05, aligned)]),
        "prompts": np.array([on_prompts(rng, count, test, prompt_steps) for rng in rngs]),
    }


TINY = {
    "steps": 40,
    "merged": 30,
    "aligned": 20,
    "count": 12,
    "test": 10,
    "prompt_steps": 5,
    "sigma": 0.6,
}


def unpacked(x, shapes):
    """Arrays of these shapes from a vector."""
    ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes])
    parts = np.split(x, ends[:-1])
    return tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))


def examples(rng):
    """Yield (name, loss of a vector, point, gradient by hand) for both forms, on the population and
    on prompts.
    """
    lam, N, H, D = np.array([0.7, 0.4, 0.2]), 3, 2, 3
    prompts = draw(rng, 6, lam, N)
    population = lambda A: (loss_of(A, lam, N), slope_of(A, lam, N))
    for form in ("separate", "merged"):
        heads = start(rng, form, H, D, 1.0)
        shapes = [x.shape for x in heads]
        point = np.concatenate([x.ravel() for x in heads])
        for name, law in (("population", population), ("prompts", lambda A: error_of(A, prompts))):
            loss = lambda x, law=law, shapes=shapes: law(matrix(unpacked(x, shapes)))[0]
            slopes = by_heads(heads, law(matrix(heads))[1])
            yield f"{form}, {name}", loss, point, np.concatenate([g.ravel() for g in slopes])


def literal(v, U, x, y, query):
    """f by the whole matrices, whose other entries are random."""
    N, D = x.shape
    Z = np.block([[x.T, query[:, None]], [y[None, :], np.zeros((1, 1))]])
    out = 0.0
    for one, block in zip(v, U, strict=True):
        W_V = np.sin(np.arange((D + 1) ** 2.0)).reshape(D + 1, D + 1)
        W_KQ = np.cos(np.arange((D + 1) ** 2.0)).reshape(D + 1, D + 1)
        W_V[-1], W_KQ[:, :-1] = np.append(np.zeros(D), one), np.pad(block, ((0, 1), (0, 0)))
        out += (W_V @ Z @ Z.T @ W_KQ @ Z / N)[-1, -1]
    return out


def identities(rng):
    """Yield (name, value, equal value): the layer by its whole matrices, the moments by quadrature,
    the levels as minima.
    """
    x, w, query = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=3)
    v, U = start(rng, "merged", 2, 3, 1.0)
    y = x @ w
    yield "the output", literal(v, U, x, y, query), (y @ x / 4) @ matrix((v, U)) @ query

    lam, N = np.array([0.7, 0.3]), 2
    nodes = np.array(list(itertools.product((-(3**0.5), 0.0, 3**0.5), repeat=4)))
    weight = np.prod(np.where(nodes == 0, 2 / 3, 1 / 6), axis=1)
    x = nodes.reshape(-1, N, 2) * lam**0.5
    S = np.einsum("pni,pnj->pij", x, x) / N
    yield "E S^2", np.einsum("p,pij,pjk->ik", weight, S, S), np.diag(moments(lam, N))
    A = rng.normal(size=(2, 2))
    residual = np.einsum("pij,jk->pik", S, A) - np.eye(2)  # y - f = w^T (I - S A) x
    value = np.einsum("p,pij,pij,j->", weight, residual, residual, lam)
    yield "L", value, loss_of(A, lam, N)

    lam, N = np.array([0.5, 0.3, 0.2]), 5
    for m in range(4):
        best = np.where(np.arange(3) < m, lam / moments(lam, N), 0)
        yield f"level {m}", loss_of(np.diag(best), lam, N), levels(lam, N)[m]
