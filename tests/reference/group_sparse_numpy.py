"""The group-sparse classifier in plain NumPy: one sample at a time, one query at a time, sums
written out, float64.

A sample is (X (d, D), y). With P the orthogonal sines of dimension D,

    H = [X; P] (d+D, D)    S_{.,j} = softmax(H^T W h_j)    f = sum_j v . H S_{.,j}    L = mean log(1
                                                           + exp(-y f)).

Slow on purpose and written from the definitions alone, so that agreement with the library means
something.
Source: arXiv 2504.08638, model and algorithm; the sine encoding is reconstructed.
"""

import numpy as np

Sample = tuple[np.ndarray, float]


def encodings(D: int) -> np.ndarray:
    """(D, D) p_j = (sin(j k pi / (D + 1)))_k in column j = 1..D, of squared norm (D + 1) / 2."""
    P = np.zeros((D, D))
    for j in range(D):
        for k in range(D):
            P[k, j] = np.sin((j + 1) * (k + 1) * np.pi / (D + 1))
    return P


def tokens(X: np.ndarray) -> np.ndarray:
    """(d+D, D) H = [X; P]."""
    return np.vstack([X, encodings(X.shape[1])])


def attention(W: np.ndarray, X: np.ndarray) -> np.ndarray:
    """(D, D) S, S[k, j] the weight of token k for query j."""
    H, S = tokens(X), np.zeros((X.shape[1], X.shape[1]))
    for j in range(X.shape[1]):
        z = H.T @ W @ H[:, j]
        e = np.exp(z - z.max())
        S[:, j] = e / e.sum()
    return S


def output(v: np.ndarray, W: np.ndarray, X: np.ndarray) -> float:
    """f, summed over the D queries."""
    H, S = tokens(X), attention(W, X)
    return float(sum(v @ H @ S[:, j] for j in range(X.shape[1])))


def with_margin(sample: Sample, v: np.ndarray, gamma: float, group: int) -> Sample:
    """The group's features moved by gamma along the unit vector v, to the label's side."""
    X, y = sample
    X = X.copy()
    X[:, group] += gamma * y * v
    return X, y
