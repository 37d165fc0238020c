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


def start(d: int, sigma: float) -> np.ndarray:
    """(d+2, d+2) W(0) = diag(0, .., 0, -sigma)."""
    W = np.zeros((d + 2, d + 2))
    W[d + 1, d + 1] = -sigma
    return W


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


def over_labels(x: np.ndarray, q: np.ndarray) -> list[Prompt]:
    """A context with every labeling."""
    return [(x, q, y) for y in signs(len(x))]


def loss(W: np.ndarray, prompts: list[Prompt]) -> float:
    """Mean of (f - y_{i*})^2 / 2."""
    return float(
        np.mean([(output(W, matrix(x, q, y)) - y[nearest(x, q)]) ** 2 / 2 for x, q, y in prompts])
    )


def gradient(W: np.ndarray, prompts: list[Prompt]) -> np.ndarray:
    """(d+2, d+2) dL/dW, by the chain rule through the softmax Jacobian diag s - s s^T."""
    total = np.zeros_like(W)
    for x, q, y in prompts:
        H = matrix(x, q, y)
        s = attention(W, H)
        df = H[-2] @ s - y[nearest(x, q)]
        dz = (np.diag(s) - np.outer(s, s)) @ H[-2] * df
        for j, column in enumerate(H.T):
            total += dz[j] * np.outer(column, H[:, -1])
    return total / len(prompts)


def descend(W: np.ndarray, prompts: list[Prompt], eta: float, steps: int) -> list[np.ndarray]:
    """W(0), .., W(steps) of gradient descent W <- W - eta dL/dW."""
    path = [W]
    for _ in range(steps):
        path.append(path[-1] - eta * gradient(path[-1], prompts))
    return path


def symmetries(x: np.ndarray, q: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The context under all signed permutations of the coordinates: a finite group whose only
    invariant matrices are multiples of I.
    """
    d, found = x.shape[1], []
    for order in itertools.permutations(range(d)):
        for flips in itertools.product((-1.0, 1.0), repeat=d):
            found.append((x[:, order] * flips, q[list(order)] * flips))
    return found


def separated(x: np.ndarray, i: int, delta: float) -> np.ndarray:
    """(N, d): with query x_i, every other point within squared distance delta of it goes to its
    antipode.
    """
    out = x.copy()
    for j, point in enumerate(x):
        if j != i and ((point - x[i]) ** 2).sum() <= delta:
            out[j] = -point
    return out


def sphere(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """(n, d) uniform points of the unit sphere."""
    g = rng.normal(size=(n, d))
    return g / np.sqrt((g**2).sum(axis=1, keepdims=True))


def population_loss(xi1: float, xi2: float, nodes: int = 200) -> float:
    """L at d = 3, N = 2, where t = <x, q> is uniform on [-1, 1]: Gauss-Legendre on either side of
    the tie t_1 = t_2.

    With s the attention and averaged labels, L = E (s_1^2 + s_2^2 - 2 s_{i*} + 1) / 2.
    """
    u, weight = np.polynomial.legendre.leggauss(nodes)
    total = 0.0
    for a, wa in zip(u, weight, strict=True):  # t_1 = a > t_2 = b, twice
        b = (a + 1) * (u + 1) / 2 - 1
        z = np.stack([xi1 * a * np.ones_like(b), xi1 * b, (xi1 - xi2) * np.ones_like(b)])
        s = np.exp(z - z.max(axis=0))
        s = s / s.sum(axis=0)
        inner = (s[0] ** 2 + s[1] ** 2 - 2 * s[0] + 1) / 2
        total += 2 * wa / 2 * (inner * weight).sum() / 2 * (a + 1) / 2
    return float(total)
