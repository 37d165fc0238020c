"""The group-sparse classifier in plain NumPy: one sample at a time, one query at a time, sums
written out, float64.

A sample is (X (d, D), y). With P the orthogonal sines of dimension D,

    H = [X; P] (d+D, D)    S_{.,j} = softmax(H^T W h_j)    f = sum_j v . H S_{.,j}    L = mean log(1
                                                           + exp(-y f)).

Slow on purpose and written from the definitions alone, so that agreement with the library means
something.
Source: arXiv 2504.08638, model and algorithm; the sine encoding is reconstructed.
"""

import itertools

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


def loss(v: np.ndarray, W: np.ndarray, samples: list[Sample]) -> float:
    """Mean of log(1 + exp(-y f))."""
    return float(np.mean([np.logaddexp(0, -y * output(v, W, X)) for X, y in samples]))


def gradient(v: np.ndarray, W: np.ndarray, samples: list[Sample]) -> tuple[np.ndarray, np.ndarray]:
    """(dL/dv, dL/dW), by the chain rule through the softmax Jacobian of each query."""
    dv, dW = np.zeros_like(v), np.zeros_like(W)
    for X, y in samples:
        H, S = tokens(X), attention(W, X)
        df = -y / (1 + np.exp(y * output(v, W, X)))
        for j in range(X.shape[1]):
            s = S[:, j]
            dv += df * (H @ s)
            dz = (np.diag(s) - np.outer(s, s)) @ (H.T @ v) * df
            dW += np.outer(H @ dz, H[:, j])
    return dv / len(samples), dW / len(samples)


def descend(
    v: np.ndarray, W: np.ndarray, samples: list[Sample], eta: float, steps: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(v, W) at t = 0..steps of gradient descent in both."""
    path = [(v, W)]
    for _ in range(steps):
        v, W = path[-1]
        dv, dW = gradient(v, W, samples)
        path.append((v - eta * dv, W - eta * dW))
    return path


def online(
    v: np.ndarray, W: np.ndarray, samples: list[Sample], eta: float, move: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(v, W) after each sample, one step a sample in order; W moves too where `move`."""
    path = [(v, W)]
    for sample in samples:
        v, W = path[-1]
        dv, dW = gradient(v, W, [sample])
        path.append((v - eta * dv, W - eta * dW * move))
    return path


def with_margin(sample: Sample, v: np.ndarray, gamma: float, group: int) -> Sample:
    """The group's features moved by gamma along the unit vector v, to the label's side."""
    X, y = sample
    X = X.copy()
    X[:, group] += gamma * y * v
    return X, y


def accuracy(v: np.ndarray, W: np.ndarray, samples: list[Sample]) -> float:
    """The share of samples with y f > 0."""
    return float(np.mean([y * output(v, W, X) > 0 for X, y in samples]))


def relevant_attention(W: np.ndarray, samples: list[Sample], group: int) -> np.ndarray:
    """(samples, D) S[group, j], group counted from 0."""
    return np.array([attention(W, X)[group] for X, _ in samples])


def symmetrized(X: np.ndarray, y: float, group: int) -> list[Sample]:
    """The sample under a finite group of symmetries of the law with v* = e_1, all of which act on
    all tokens alike: signs of the d coordinates (y changes with the first), permutations of
    coordinates 2..d, and permutations of the irrelevant groups.
    """
    d, D = X.shape
    found = []
    others = [j for j in range(D) if j != group]
    for order in itertools.permutations(others):
        for within in itertools.permutations(range(1, d)):
            for flips in itertools.product((-1.0, 1.0), repeat=d):
                Z = X.copy()
                Z[:, others] = X[:, order]
                found.append((Z[[0, *within]] * np.array(flips)[:, None], y * flips[0]))
    return found
