"""Metrics, levels and data of positional_semantic in plain NumPy, from their docstrings.

Each sample is two rows, with whole softmax matrices. Errors are sums over nodes that SciPy gives.
"""

import itertools
import math
from typing import Any

import numpy as np
from scipy import special

from jaxtheory.theories.positional_semantic.model import Config, Params
from tests.reference.agree import agree, average
from tests.reference.entries import Case

SEED = 5  # of the cases
FILLED = True  # with zeros beyond the sizes


def weights(scale: float, seed: int = 0) -> Any:
    """A random vector."""
    return lambda _problem, config: Params(
        scale * np.random.default_rng(seed).normal(size=config.dimension.n)
    )


def widen(params: Any, config: Any) -> Params:
    """Zeros beyond the sizes."""
    return Params(np.pad(params.Q, (0, config.dimension.cap - len(params.Q))))


SMALL = {"dimension": 5, "num_samples": 6}
CASES = (
    Case("padded", Config(**SMALL), (weights(0.9, 1), weights(0.2, 2)), padded=True),
    Case("meaning alone", Config(**SMALL, mixture=0.0, ridge=0.0), (weights(1.0, 3),)),
    Case("positions alone", Config(**SMALL, mixture=1.0, amplitude=-0.4), (weights(1.0, 4),)),
    Case("even positions", Config(**SMALL, amplitude=0.0, ridge=0.3), (weights(0.5, 5),)),
    Case("one feature", Config(dimension=1, num_samples=2), (weights(1.0, 6),)),
    Case("one sample", Config(dimension=3, num_samples=1, position_norm=0.3), (weights(1.0, 7),)),
    Case("many", Config(dimension=40, num_samples=400, token_scale=0.8)),
)


def matrix(h: np.ndarray) -> np.ndarray:
    """softmax(h h^T)."""
    e = np.exp(np.outer(h, h))
    return e / e.sum(axis=1, keepdims=True)


def label_matrix(chi: np.ndarray, config: Any) -> np.ndarray:
    """T."""
    a, omega = float(config.amplitude), float(config.mixture)
    return (1 - omega) * matrix(chi) + omega * np.array([[0.5 + a, 0.5 - a], [0.5 - a, 0.5 + a]])


def nodes(number: int) -> list[tuple[float, float]]:
    """Nodes of a standard normal with their weights."""
    x, w = special.roots_hermitenorm(number)
    return list(zip(x.tolist(), (w / w.sum()).tolist(), strict=True))


def diagonal(h: list[float]) -> list[float]:
    """Weights of a token to itself."""
    ones = [1 / (1 + math.exp(h[1 - l] * h[l] - h[l] ** 2)) for l in (0, 1)]
    return ones


def test_error(q: float, theta: float, m: float, config: Any) -> float:
    """The sum over all 12^4 nodes, one by one."""
    sigma, d, total = float(config.token_scale), config.dimension.n, 0.0
    omega, a = float(config.mixture), float(config.amplitude)
    root = math.sqrt(q)
    share = min(max(theta / root, -1), 1) if q > 0 else 0.0
    noise, every = math.sqrt(1 - share**2), nodes(12)
    for (x, u), (y, v) in itertools.product(every, every):
        h = [sigma * root * x + m, sigma * root * y - m]
        S = diagonal(h)
        for (s, b), (t, c) in itertools.product(every, every):
            chi = [
                sigma * (share * x + noise * s),
                sigma * (share * y + noise * t),
            ]
            gap = [(1 - omega) * A + omega * (0.5 + a) for A in diagonal(chi)]
            g = (2 * (d - 2) + (x - y) ** 2 + (s - t) ** 2) / d
            squares = sum((one - two) ** 2 for one, two in zip(gap, S, strict=True))
            total += u * v * b * c * g * squares
    return sigma**2 * total


def metrics(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    Q, p, truth = params.Q, problem.position, problem.direction
    d, n, rho = len(Q), config.num_samples.n, float(config.position_norm)
    errors = []
    for i in range(n):
        x = problem.train.x[:, i]
        T = label_matrix(x @ truth / math.sqrt(d), config)
        f = matrix((x + np.array([p, -p])) @ Q / math.sqrt(d)) @ x
        errors.append(((T @ x - f) ** 2).sum() / d)
    q, theta, m = Q @ Q / d, truth @ Q / d, p @ Q / math.sqrt(d)
    return {
        "train_error": math.fsum(errors) / n,
        "energy": (math.fsum(errors) + float(config.ridge) * Q @ Q) / (2 * d),
        "test_error": test_error(q, theta, m, config),
        "semantic": abs(Q @ truth) / (np.linalg.norm(Q) * math.sqrt(d)),
        "positional": abs(Q @ p) / (np.linalg.norm(Q) * rho),
        "norm": q,
    }


def predict(_problem: Any, config: Any, steps: np.ndarray) -> dict[str, Any]:
    """The variance of T over nodes, and the error of attention 1/2."""
    sigma, mean, square = float(config.token_scale), np.zeros((2, 2)), np.zeros((2, 2))
    for (x, u), (y, v) in itertools.product(nodes(40), nodes(40)):
        T = label_matrix(sigma * np.array([x, y]), config)
        mean, square = mean + u * v * T, square + u * v * T**2
    level = lambda x: np.full(len(steps), x)
    return {
        "test_error:baseline": level(sigma**2 * (square - mean**2).sum()),
        "test_error:zero": level(test_error(0.0, 0.0, 0.0, config)),
    }


def law(problem: Any, batch: Any, config: Any) -> None:
    """Features are independent N(0, sigma^2), and labels follow from them."""
    train, direction, position = problem
    d, n = config.dimension.n, config.num_samples.n
    assert all(np.array_equal(a, b) for a, b in zip(batch, train, strict=True))
    agree(direction @ direction, d, 1e-12)
    agree(position @ position, float(config.position_norm) ** 2, 1e-12)
    for i in range(n):
        x = train.x[:, i]
        T = label_matrix(x @ direction / math.sqrt(d), config)
        agree(train.target[:, i], np.diag(T), 1e-12)
        agree(train.square[i], ((x[0] - x[1]) ** 2).sum() / d, 1e-12)
    if n < 100:
        return
    z = train.x / float(config.token_scale)
    average(z.reshape(-1), 0)
    average(z.reshape(-1) ** 2, 1)
    average((z[0] * z[1]).reshape(-1), 0)
    average((z[..., 1:] * z[..., :-1]).reshape(-1), 0)
