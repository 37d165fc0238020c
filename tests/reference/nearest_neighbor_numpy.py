"""The in-context one-nearest-neighbor transformer in plain NumPy: one prompt at a time, sums and
enumerations written out, float64.

A prompt is (x (N, d), q (d,), y (N,)):

    H = [[x_1 .. x_N, q], [y_1 .. y_N, 0], [0 .. 0, 1]] (d+2, N+1)    s = softmax(H^T W h_q)    f =
        H[d] . s
    L = mean (f - y_{i*})^2 / 2,    i* the first j of least |q - x_j|.

Averages over labels run over all 2^N signs. Slow on purpose and written from the definitions alone,
so that agreement with the library means something. Source: slides on one-layer transformers and one
nearest neighbor, model and algorithm.
"""

import itertools

import numpy as np

Prompt = tuple[np.ndarray, np.ndarray, np.ndarray]


def matrix(x: np.ndarray, q: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(d+2, N+1) H."""
    N, d = x.shape
    H = np.zeros((d + 2, N + 1))
    H[:d, :N], H[:d, N] = x.T, q
    H[d, :N] = y
    H[d + 1, N] = 1.0
    return H


def structured(d: int, xi1: float, xi2: float) -> np.ndarray:
    """(d+2, d+2) diag(xi1 I, 0, -xi2)."""
    return np.diag([*[xi1] * d, 0.0, -xi2])


def attention(W: np.ndarray, H: np.ndarray) -> np.ndarray:
    """(N+1,) softmax(H^T W h_q), the query last."""
    z = H.T @ W @ H[:, -1]
    e = np.exp(z - z.max())
    return e / e.sum()


def output(W: np.ndarray, H: np.ndarray) -> float:
    """f, the label coordinate of what the query reads."""
    return float(H[-2] @ attention(W, H))


def nearest(x: np.ndarray, q: np.ndarray) -> int:
    """The first j of least |q - x_j|^2."""
    return int(np.argmin([((q - point) ** 2).sum() for point in x]))


def signs(N: int) -> list[np.ndarray]:
    """All label vectors with entries -1 and 1."""
    return [np.array(y) for y in itertools.product((-1.0, 1.0), repeat=N)]


def separated(x: np.ndarray, i: int, delta: float) -> np.ndarray:
    """(N, d): with query x_i, every other point within squared distance delta of it goes to its
    antipode.
    """
    out = x.copy()
    for j, point in enumerate(x):
        if j != i and ((point - x[i]) ** 2).sum() <= delta:
            out[j] = -point
    return out
