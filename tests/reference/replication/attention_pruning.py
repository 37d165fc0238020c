"""Pruning an attention matrix with a mask, from the paper's definitions alone: data, gradient,
descent, baselines, statistics.

    X ~ N(0, 1) (L, d);  W_Q, W_K the best rank-4 approximations of N(0, 1) matrices,  W = W_Q W_K^T
    f(M) = causal softmax over rows of X (M o W) X^T,   f* = f(1)
    L(M) = 1/2 |f(M) - f*|_F^2 + lambda/2 |M|_F^2

Gradient. With c = f - f*, the softmax of a row gives dL/dz = f o c - diag((f o c) 1) f =: p, and
z = X (M o W) X^T gives dL/dM = W o (X^T p X) + lambda M.

Algorithm 1: V <- 0.9 V + dL/dM, M <- M - (c / lambda) V from M = 1, here projected onto [0, 1]. At
the end the half of the entries with the smallest M is pruned. The error is |f - f*|_F / |f*|_F.

Wanda prunes in each column of W_Q and of W_K the half with the smallest |W_ij| |X_i|. SparseGPT
takes the half with the smallest W_ij^2 / u_i of all entries and, input by input, adds to the later
rows what makes up for an entry that is set to 0: with H = X^T X + 0.01 mean(diag) I and G the
inverse of H restricted to the inputs from i on, u_i = G_ii and row k changes by -W_ij G_ki / G_ii.
"""

import numpy as np

D, RANK, PRUNED = 64, 4, 0.5
LENGTHS = (128, 256)
# P2 of the sweeps: step c / lambda, 400 steps, projected; the range of lambda around its best
SCALE, STEPS, LAMBDAS, MOMENTUM = 0.02, 400, (10**0.5, 10.0, 10**1.5, 100.0), 0.9


def weights(rng, d, rank):
    """W_Q and W_K."""
    matrices = []
    for _ in range(2):
        U, s, Vt = np.linalg.svd(rng.normal(size=(d, d)))
        matrices.append((U[:, :rank] * s[:rank]) @ Vt[:rank])
    return matrices


def attention(W, X):
    """f for a matrix or a stack of them."""
    z = X @ W @ X.T
    z = np.where(np.tri(len(X), dtype=bool), z, -np.inf)
    f = np.exp(z - z.max(axis=-1, keepdims=True))
    return f / f.sum(axis=-1, keepdims=True)


def gradient(mask, W, X, target, lam):
    """dL/dM for a mask or a stack of them."""
    f = attention(mask * W, X)
    fc = f * (f - target)
    p = fc - fc.sum(axis=-1, keepdims=True) * f
    return W * (X.T @ p @ X) + lam * mask


def loss(mask, W, X, target, lam):
    """L(M)."""
    return ((attention(mask * W, X) - target) ** 2).sum() / 2 + lam / 2 * (mask**2).sum()


def error(W, X, target):
    """The relative error of an attention."""
    return np.linalg.norm(attention(W, X) - target) / np.linalg.norm(target)


def without_smallest(W, score):
    """W without the half of its entries with the smallest score, the first ones among ties."""
    mask = np.ones(W.size)
    mask[np.argsort(score, axis=None, kind="stable")[: int(PRUNED * W.size)]] = 0
    return W * mask.reshape(W.shape)


def wanda(W, X):
    """One factor pruned by Wanda, column by column."""
    score = abs(W) * np.linalg.norm(X, axis=0)[:, None]
    return np.stack([without_smallest(*pair) for pair in zip(W.T, score.T, strict=True)], axis=1)


def sparsegpt(W, X):
    """One factor pruned by SparseGPT, all inputs in one block."""
    H = X.T @ X
    H = H + 0.01 * np.diag(H).mean() * np.eye(len(H))
    inverses = [np.linalg.inv(H[i:, i:]) for i in range(len(H))]
    score = W**2 / np.array([G[0, 0] for G in inverses])[:, None]
    mask = without_smallest(np.ones_like(W), score)
    W = W.copy()
    for i, G in enumerate(inverses):
        removed = W[i] * (1 - mask[i])
        W[i:] -= np.outer(G[:, 0] / G[0, 0], removed)
    return W * mask


def instance(rng, length, d=D, rank=RANK):
    """X, both factors, W and f*."""
    X = rng.normal(size=(length, d))
    WQ, WK = weights(rng, d, rank)
    return X, WQ, WK, WQ @ WK.T, attention(WQ @ WK.T, X)


def of_baselines(X, WQ, WK, target):
    """The errors of Wanda and of SparseGPT."""
    return [error(prune(WQ, X) @ prune(WK, X).T, X, target) for prune in (wanda, sparsegpt)]


def fitted(X, W, target, steps):
    """The error of the fitted mask at the best lambda."""
    lam = np.array(LAMBDAS)[:, None, None]
    mask = np.ones((len(lam), *W.shape))
    velocity = np.zeros_like(mask)
    for _ in range(steps):
        velocity = MOMENTUM * velocity + gradient(mask, W, X, target, lam)
        mask = np.clip(mask - SCALE / lam * velocity, 0, 1)
    return min(error(without_smallest(W, one), X, target) for one in mask)


def replicate(seeds, lengths=LENGTHS, steps=STEPS, d=D):
    """The statistics of each claim, one value per seed."""
    rows = []
    for seed in seeds:
        rng = np.random.default_rng((5, seed))
        differences = []
        for length in lengths:
            X, WQ, WK, W, target = instance(rng, length, d)
            errors = of_baselines(X, WQ, WK, target)
            differences.append(errors[0] - errors[1])
        X, WQ, WK, W, target = instance(rng, lengths[0], d)
        best = fitted(X, W, target, steps)
        rows.append((*differences, best, best / min(of_baselines(X, WQ, WK, target))))
    return dict(zip(("AP-13", "AP-13 L", "AP-6 mask", "AP-6"), np.array(rows).T, strict=True))


TINY = {"lengths": (8, 12), "steps": 3, "d": 8}


def examples(rng):
    """Yield (name, loss of a vector, point, gradient by hand) for a small instance."""
    X, _, _, W, target = instance(rng, 6, 5, 2)
    mask = rng.random((5, 5))
    one = lambda v: loss(v.reshape(5, 5), 0.3 * W, X, target, 0.7)
    by_hand = gradient(mask, 0.3 * W, X, target, 0.7)
    yield "mask", one, mask.ravel(), by_hand.ravel()


def identities(rng):
    """Yield (name, value, equal value): what SparseGPT keeps is least squares, given what it set
    before.
    """
    X, W = rng.normal(size=(9, 5)), np.append(rng.normal(size=(4, 1)), [[10.0]], axis=0)
    H = X.T @ X
    H = H + 0.01 * np.diag(H).mean() * np.eye(5)
    pruned = sparsegpt(W, X)
    # the last row that is set to 0 changes the later ones to the minimum, given all rows up to it
    last = np.flatnonzero(pruned[:, 0] == 0)[-1]
    free, fixed = slice(last + 1, None), slice(0, last + 1)
    moved = np.linalg.solve(H[free, free], H[free, fixed] @ (W - pruned)[fixed])
    yield "rows after the last zero", pruned[free], W[free] + moved
