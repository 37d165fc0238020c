"""The one-layer Transformer on patterns in plain NumPy: one sample, head and query at a time, sums
written out, float64.

A sample is X (L, d), tokens as rows, and a class y. For each layer, x' = (x, in earlier layers) +
sum_h W_V^h X^T p_l^h with p_l^h = softmax_j (W_K^h x_j . W_Q^h x_l); after the last, F_k = (1/|S|)
sum_{l in S} a_(l),k . relu(W_O x'_l). Losses: max(0, 1 - y F) with y = +-1, or max(0, 1 - F_y +
max_{k != y} F_k). Gradients by the chain rule, one query at a time.

Slow on purpose and written from the definitions alone, so that agreement with the library means
something.
Source: arXiv 2406.17167, equations (1)-(5); heads, layers and several outputs are the library's.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Params = tuple[
    np.ndarray, np.ndarray, np.ndarray, np.ndarray
]  # W_Q, W_K (layers, H, q, d), W_V (layers, H, ma, d), W_O (m, ma)
Sample = tuple[np.ndarray, int]


class Model(NamedTuple):
    """A (K, m, L or 1) with its factor 1/sqrt(m), how many positions are read, and whether there
    are several outputs.
    """

    A: np.ndarray
    queries: int
    multiclass: bool

    def weights(self, k: int, l: int) -> np.ndarray:
        """a_(l),k."""
        return self.A[k, :, l if self.A.shape[2] > 1 else 0]


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max())
    return e / e.sum()


def attend(WQ: np.ndarray, WK: np.ndarray, X: np.ndarray, l: int) -> np.ndarray:
    """p_l of one head."""
    return softmax(np.array([(WK @ x) @ (WQ @ X[l]) for x in X]))


def layers(params: Params, X: np.ndarray) -> list[np.ndarray]:
    """The input of every layer and the output of the last (L, ma)."""
    WQ, WK, WV, _ = params
    states = [X]
    for n in range(len(WQ)):
        X = states[-1]
        read = [
            sum(WV[n, h] @ (X.T @ attend(WQ[n, h], WK[n, h], X, l)) for h in range(len(WQ[n])))
            for l in range(len(X))
        ]
        states.append(np.array(read) + (X if n + 1 < len(WQ) else 0))
    return states


def outputs(params: Params, X: np.ndarray, model: Model) -> np.ndarray:
    """(K,) F."""
    v = layers(params, X)[-1]
    h = np.maximum(v @ params[3].T, 0)
    return np.array(
        [
            sum(model.weights(k, l) @ h[l] for l in range(model.queries)) / model.queries
            for k in range(len(model.A))
        ]
    )


def hinge(F: np.ndarray, y: int, model: Model) -> tuple[float, np.ndarray, float]:
    """The loss, its derivative in F (zero at the kink), and the margin."""
    g = np.zeros(len(F))
    if not model.multiclass:
        sign = 1.0 if y == 0 else -1.0
        margin = sign * F[0]
        g[0] = -sign
    else:
        rival = max((k for k in range(len(F)) if k != y), key=lambda k: F[k])
        margin = F[y] - F[rival]
        g[y], g[rival] = -1.0, 1.0
    return max(0.0, 1 - margin), g * (margin < 1), margin


def loss(params: Params, data: list[Sample], model: Model) -> float:
    """Mean hinge loss."""
    return float(np.mean([hinge(outputs(params, X, model), y, model)[0] for X, y in data]))


def error(params: Params, data: list[Sample], model: Model) -> float:
    """The share of samples with margin <= 0."""
    return float(np.mean([hinge(outputs(params, X, model), y, model)[2] <= 0 for X, y in data]))


def gradient(params: Params, data: list[Sample], model: Model) -> Params:
    """The gradient of `loss` in the four matrices."""
    WQ, WK, WV, WO = params
    total = [np.zeros_like(W) for W in params]
    for X, y in data:
        states = layers(params, X)
        _, g, _ = hinge(outputs(params, X, model), y, model)
        dv = np.zeros_like(states[-1])
        for l in range(model.queries):
            h = WO @ states[-1][l]
            G = sum(g[k] * model.weights(k, l) for k in range(len(g))) * (h > 0) / model.queries
            total[3] += np.outer(G, states[-1][l])
            dv[l] = WO.T @ G
        for n in reversed(range(len(WQ))):
            Z = states[n]
            dX = dv.copy() if n + 1 < len(WQ) else np.zeros_like(Z)
            for h in range(len(WQ[n])):
                Q, K, V = WQ[n, h], WK[n, h], WV[n, h]
                for l in range(len(Z)):
                    p = attend(Q, K, Z, l)
                    back = V.T @ dv[l]
                    total[2][n, h] += np.outer(dv[l], Z.T @ p)
                    dz = (np.diag(p) - np.outer(p, p)) @ (Z @ back)
                    for j in range(len(Z)):
                        total[0][n, h] += dz[j] * np.outer(K @ Z[j], Z[l])
                        total[1][n, h] += dz[j] * np.outer(Q @ Z[l], Z[j])
                        dX[j] += p[j] * back + dz[j] * (K.T @ (Q @ Z[l]))
                        dX[l] += dz[j] * (Q.T @ (K @ Z[j]))
            dv = dX
    return tuple(W / len(data) for W in total)


def descend(params: Params, batches: list[list[Sample]], eta: float, model: Model) -> list[Params]:
    """Params after each batch of SGD."""
    path = [params]
    for batch in batches:
        path.append(
            tuple(
                W - eta * g for W, g in zip(path[-1], gradient(path[-1], batch, model), strict=True)
            )
        )
    return path


Factors = tuple[list[np.ndarray], list[np.ndarray]]


def merged(start: Params, factors: Factors) -> Params:
    """W(0) + B A, matrix by matrix."""
    return tuple(W + B @ A for W, B, A in zip(start, *factors, strict=True))


def descend_factors(
    start: Params, factors: Factors, batches: list[list[Sample]], eta: float, model: Model
) -> list[Factors]:
    """B and A after each batch: dB = dW A^T, dA = B^T dW."""
    path = [factors]
    for batch in batches:
        up, down = path[-1]
        slopes = gradient(merged(start, path[-1]), batch, model)
        new_up = [
            B - eta * g @ np.swapaxes(A, -1, -2) for B, A, g in zip(up, down, slopes, strict=True)
        ]
        new_down = [
            A - eta * np.swapaxes(B, -1, -2) @ g for B, A, g in zip(up, down, slopes, strict=True)
        ]
        path.append((new_up, new_down))
    return path


# What is looked at afterwards


def relevant_attention(
    params: Params, data: list[tuple[np.ndarray, np.ndarray]], own_queries: bool
) -> float:
    """Last layer: mean over samples, heads and queries of the attention on marked tokens; data are
    (X, mark (L,)).
    """
    WQ, WK, *_ = params
    shares = []
    for X, mark in data:
        Z = layers(params, X)[-2]
        chosen = np.flatnonzero(mark) if own_queries else range(len(Z))
        shares.append(
            np.mean(
                [
                    attend(WQ[-1, h], WK[-1, h], Z, l)[mark].sum()
                    for h in range(len(WQ[-1]))
                    for l in chosen
                ]
            )
        )
    return float(np.mean(shares))


def each_matrix(params: Params, change: Callable[[np.ndarray], np.ndarray]) -> Params:
    """change(W) of every single matrix."""
    return tuple(
        change(W) if W.ndim == 2 else np.array([[change(w) for w in row] for row in W])
        for W in params
    )


def truncated(start: Params, params: Params, rank: int) -> Params:
    """W(0) + the best rank-r approximation of W - W(0), from the eigenvectors of its
    Gram matrix.
    """

    def best(W: np.ndarray) -> np.ndarray:
        _, vectors = np.linalg.eigh(W.T @ W)
        basis = vectors[:, ::-1][:, :rank]
        return W @ basis @ basis.T

    delta = each_matrix(tuple(W - V for W, V in zip(params, start, strict=True)), best)
    return tuple(V + D for V, D in zip(start, delta, strict=True))


def pruned(params: Params, order: np.ndarray, count: int) -> Params:
    """Without the first `count` neurons of an order: their rows of W_O set to zero."""
    WO = params[3].copy()
    for i in order[:count]:
        WO[i] = 0
    return (*params[:3], WO)


def rounded_up_half(rate: float, m: int) -> int:
    """round(rate m), halves up."""
    return int(np.floor(rate * m + 0.5 + 1e-9))
