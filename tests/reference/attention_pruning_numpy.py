"""Attention pruning in plain NumPy: one row of attention, one weight, one column at a time,
float64.

    f*_s = causal softmax(X_s W X_s^T)    f_s = causal softmax(X_s (M o W) X_s^T)    L = mean_s
                                          ||f_s - f*_s||_F^2 / 2 + lambda/2 ||M||_F^2

and the two-mask loss of eq. (1), with (M_Q o W_Q) (M_K o W_K)^T in place of M o W. Slow on purpose
and written from the definitions
alone: each row goes through its own Jacobian J = diag f - f f^T, each removed weight through an
explicit inverse.
"""

from fractions import Fraction

import numpy as np


def attend(X: np.ndarray, W: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(L, L) rows softmax of X W X^T over the allowed entries of `mask`, zero elsewhere."""
    L = len(X)
    f = np.zeros((L, L))
    for i in range(L):
        allowed = np.flatnonzero(mask[i])
        z = np.array([X[i] @ W @ X[j] for j in allowed])
        e = np.exp(z - z.max())
        f[i, allowed] = e / e.sum()
    return f


def loss(M: np.ndarray, X: np.ndarray, W: np.ndarray, mask: np.ndarray, lam: float) -> float:
    """L(M) for X (S, L, d)."""
    return attention_loss(M * W, X, W, mask) + lam / 2 * float((M**2).sum())


def attention_loss(pruned: np.ndarray, X: np.ndarray, W: np.ndarray, mask: np.ndarray) -> float:
    """mean_s ||f_s - f*_s||_F^2 / 2, with f_s made from the pruned W."""
    return float(
        np.mean([((attend(x, pruned, mask) - attend(x, W, mask)) ** 2).sum() / 2 for x in X])
    )


def logit_gradient(f: np.ndarray, target: np.ndarray) -> np.ndarray:
    """(L, L) p, row by row p_i = (diag f_i - f_i f_i^T)(f_i - f*_i): the gradient of ||f - f*||^2 /
    2 in the logits.
    """
    return np.stack(
        [
            (np.diag(row) - np.outer(row, row)) @ (row - want)
            for row, want in zip(f, target, strict=True)
        ]
    )


def fused_gradient(
    pruned: np.ndarray, X: np.ndarray, W: np.ndarray, mask: np.ndarray
) -> np.ndarray:
    """(d, d) gradient of the attention loss in the pruned fused matrix, mean_s sum_ij p_ij x_i
    x_j^T.
    """
    G = np.zeros_like(W)
    for x in X:
        p = logit_gradient(attend(x, pruned, mask), attend(x, W, mask))
        for i in range(len(x)):
            for j in range(len(x)):
                G += p[i, j] * np.outer(x[i], x[j])
    return G / len(X)


def gradient(
    M: np.ndarray, X: np.ndarray, W: np.ndarray, mask: np.ndarray, lam: float
) -> np.ndarray:
    """dL/dM = W o (mean_s X^T p X) + lambda M."""
    return W * fused_gradient(M * W, X, W, mask) + lam * M


def hessian_vector(
    M: np.ndarray, V: np.ndarray, X: np.ndarray, W: np.ndarray, mask: np.ndarray, lam: float
) -> np.ndarray:
    """Hessian of L at M along V: J and its derivative, row by row."""
    G = np.zeros_like(W)
    for x in X:
        f, target = attend(x, M * W, mask), attend(x, W, mask)
        dz = x @ (V * W) @ x.T
        for i in range(len(x)):
            J = np.diag(f[i]) - np.outer(f[i], f[i])
            df = J @ dz[i]
            dJ = np.diag(df) - np.outer(df, f[i]) - np.outer(f[i], df)
            dp = dJ @ (f[i] - target[i]) + J @ df
            G += np.outer(x[i], x.T @ dp)
    return W * G / len(X) + lam * V


Pair = tuple[np.ndarray, np.ndarray]


def two_mask_gradient(
    masks: Pair, X: np.ndarray, WQ: np.ndarray, WK: np.ndarray, mask: np.ndarray, lam: float
) -> Pair:
    """Gradients in M_Q and M_K by the product rule: dW = dA B^T + A dB^T with A = M_Q o W_Q, B =
    M_K o W_K.
    """
    A, B = masks[0] * WQ, masks[1] * WK
    G = fused_gradient(A @ B.T, X, WQ @ WK.T, mask)
    return WQ * (G @ B) + lam * masks[0], WK * (G.T @ A) + lam * masks[1]


def count(rho: float, size: int) -> int:
    """floor(rho size), with rho the decimal number it prints as, so that .29 of 100 is 29."""
    return int(Fraction(repr(float(rho))) * size)


def keep(scores: np.ndarray, rho: float) -> np.ndarray:
    """0/1 array of the scores' shape: the floor(rho size) lowest are 0; among ties the earlier
    entry, in row-major order, goes first.
    """
    flat = list(np.ravel(scores))
    order = sorted(range(len(flat)), key=lambda i: (flat[i], i))
    mask = np.ones(len(flat))
    mask[order[: count(rho, len(flat))]] = 0.0
    return mask.reshape(np.shape(scores))


def wanda(W: np.ndarray, X: np.ndarray, rho: float) -> np.ndarray:
    """Per column of W (d_in, d_out), the weights with lowest |W_ij| ||X_:i||_2 set to zero; X (S,
    L, d) is read as one list of tokens.
    """
    tokens = X.reshape(-1, X.shape[-1])
    out = W.copy()
    for j in range(W.shape[1]):
        out[:, j] *= keep(
            np.array(
                [abs(W[i, j]) * np.sqrt((tokens[:, i] ** 2).sum()) for i in range(W.shape[0])]
            ),
            rho,
        )
    return out


def hessian(X: np.ndarray, damp: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    """(H, dead): X^T X over all tokens, 1 on the diagonal of dead inputs, then damp x mean(diag H)
    added to the diagonal.
    """
    tokens = X.reshape(-1, X.shape[-1])
    H = tokens.T @ tokens
    dead = np.diag(H) == 0
    H = H + np.diag(dead.astype(float))
    return H + damp * np.mean(np.diag(H)) * np.eye(len(H)), dead


def sparsegpt(
    W: np.ndarray, X: np.ndarray, rho: float, block: int = 128, damp: float = 0.01
) -> np.ndarray:
    """Optimal brain surgeon, input by input, with an explicit inverse of each trailing block of H.

    Per block of inputs, the floor(rho size) weights with lowest w^2 / [H_{j:,j:}^{-1}]_00 over
    block x outputs go (ties: outputs in order, inputs in order within). Removing w_j moves the
    later weights of its output by -w_j H^{-1}_{0,:} / H^{-1}_00.
    """
    H, dead = hessian(X, damp)
    d = len(W)
    W = W.copy()
    W[dead] = 0.0
    for start in range(0, d, block):
        stop = min(start + block, d)
        spread = [np.linalg.inv(H[j:, j:])[0, 0] for j in range(start, stop)]
        scores = np.array(
            [
                [W[j, o] ** 2 / spread[j - start] for j in range(start, stop)]
                for o in range(W.shape[1])
            ]
        )
        mask = keep(scores, rho).T
        for j in range(start, stop):
            inverse = np.linalg.inv(H[j:, j:])
            for o in range(W.shape[1]):
                if mask[j - start, o] == 0:
                    W[j:, o] -= W[j, o] / inverse[0, 0] * inverse[0]
                    W[j, o] = 0.0
    return W


def relative_error(pruned: np.ndarray, X: np.ndarray, W: np.ndarray, mask: np.ndarray) -> float:
    """||f_pruned - f*||_F / ||f*||_F over all sequences together, not squared."""
    targets = [attend(x, W, mask) for x in X]
    gap = sum(
        ((attend(x, pruned, mask) - target) ** 2).sum()
        for x, target in zip(X, targets, strict=True)
    )
    return float(np.sqrt(gap / sum((target**2).sum() for target in targets)))


def baselines(WQ: np.ndarray, WK: np.ndarray, X: np.ndarray, rho: float) -> dict[str, np.ndarray]:
    """The fused matrix after each baseline but the random one; X calibrates. Wanda, SparseGPT and
    magnitude_factors prune W_Q and W_K.
    """
    W = WQ @ WK.T
    return {
        "wanda": wanda(WQ, X, rho) @ wanda(WK, X, rho).T,
        "sparsegpt": sparsegpt(WQ, X, rho) @ sparsegpt(WK, X, rho).T,
        "magnitude": W * keep(np.abs(W), rho),
        "magnitude_factors": (WQ * keep(np.abs(WQ), rho)) @ (WK * keep(np.abs(WK), rho)).T,
    }


def lipschitz(X: np.ndarray, W: np.ndarray, lam: float) -> float:
    """lambda + (5/4) mean_s ||X_s||_2^4 max |W|^2, a Lipschitz constant of the gradient."""
    largest = [np.sqrt(np.linalg.eigvalsh(x.T @ x)[-1]) for x in X]
    return lam + 1.25 * float(np.mean([s**4 for s in largest])) * float(np.abs(W).max()) ** 2
