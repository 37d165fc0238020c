"""Metrics, curves and data of nearest_neighbor in plain NumPy, from their docstrings.

Labels are averaged by enumeration, the population by Gauss-Legendre over ordered inner products t_1
> .. > t_N, whose order decides which example is nearest.
"""

import math
from functools import cache
from typing import Any

import numpy as np
from scipy import optimize, special

from jaxtheory.theories.nearest_neighbor.model import Config, Full, Reduced
from tests.reference import nearest_neighbor_numpy as nn
from tests.reference.agree import agree, average
from tests.reference.entries import Case

TOLERANCES = {"population_loss": 1e-7}
C = math.log(2) - 0.5
NODES = 24


def reduced(xi1: float, xi2: float) -> Any:
    return lambda problem, config: Reduced(np.array(xi1), np.array(xi2))


def full(scale: float, seed: int) -> Any:
    """A random W whose diagonal for examples is positive for a positive scale; its row of labels is
    0 where labels are averaged.
    """

    def make(problem: Any, config: Any) -> Full:
        h = config.dimension.n + 2
        W = scale * np.random.default_rng(seed).normal(size=(h, h))
        W += 2 * np.sign(scale) * np.diag([*[1.0] * (h - 2), 0, -1])
        if config.labels == "averaged":
            W[-2] = 0
        return Full(W)

    return make


def make(d: int, N: int, B: int, M: int, **fields: Any) -> Config:
    return Config(dimension=d, context=N, num_prompts=B, num_test=M, **fields)


CASES = (
    Case(
        "averaged",
        make(3, 4, 5, 13, separation=0.9),
        (
            full(0.7, 0),
            reduced(0.7, 2.0),
            reduced(6.0, 20.0),
            reduced(0.0, 0.0),
            reduced(41.0, 9.0),
        ),
    ),
    Case(
        "gaussian",
        make(6, 2, 3, 17, labels="gaussian", learning_rate=1e-4, initial_alignment=0.4).replace(
            separation=2.5, mask=0.3
        ),
        (full(0.5, 1), reduced(2.0, 0.5)),
    ),
    Case(
        "rademacher",
        make(2, 3, 4, 9, labels="rademacher", mask=0.0, separation=0.3),
        (full(0.5, 2), reduced(1.5, 3.0), reduced(6.0, 2.0)),
    ),
    Case("circle", make(2, 2, 2, 3), (reduced(1.2, 0.4),)),
    Case(
        "one example",
        make(3, 1, 1, 7, mask=1.0, initial_alignment=0.5, separation=0.0),
        (reduced(1.0, 0.2), reduced(0.0, 0.0)),
    ),
    Case(
        "padded",
        make(3, 3, 4, 11, separation=0.7, learning_rate=0.4),
        (full(0.7, 0), full(-0.4, 0)),
        padded=True,
    ),
    Case("many averaged", make(3, 3, 1501, 2003)),
    Case("many gaussian", make(4, 2, 1501, 2003, labels="gaussian")),
    Case("many rademacher", make(2, 3, 1501, 2003, labels="rademacher")),
    Case("many even", make(2, 3, 1501, 2003, labels="even")),
)


def widen(params: Any, config: Any) -> Any:
    """The last two rows and columns of W stay last."""
    if isinstance(params, Reduced):
        return params
    d, cap = len(params.W) - 2, config.dimension.cap
    W, at = np.zeros((cap + 2, cap + 2)), [*range(d), cap, cap + 1]
    W[np.ix_(at, at)] = params.W
    return Full(W)


def matrix(params: Any, config: Any) -> np.ndarray:
    if isinstance(params, Full):
        return np.asarray(params.W)
    return nn.structured(config.dimension.n, float(params.xi1), float(params.xi2))


def labelings(y: np.ndarray, averaged: bool) -> list[np.ndarray]:
    """The labels, or all signs, whose mean is that over labels of covariance I."""
    return nn.signs(len(y)) if averaged else [y]


def errors(W: np.ndarray, x: np.ndarray, q: np.ndarray, y: np.ndarray, star: int) -> float:
    """f - y_{i*} on one prompt."""
    return nn.output(W, nn.matrix(x, q, y)) - float(y[star])


def squared(W: np.ndarray, prompts: list[Any], averaged: bool) -> float:
    """Mean over prompts (x, q, y, i*) of (f - y_{i*})^2."""
    return float(
        np.mean(
            [
                np.mean([errors(W, x, q, y, star) ** 2 for y in labelings(labels, averaged)])
                for x, q, labels, star in prompts
            ]
        )
    )


def bound(xi1: float, xi2: float, prompt: Any, delta: float) -> float:
    """2 R (N - 1) exp(-xi1 delta / 2) + R exp(-(xi2 - xi1 (1 - t*)))."""
    x, q, y, star = prompt
    R = np.abs(y).max()
    return float(
        2 * R * (len(x) - 1) * np.exp(-xi1 * delta / 2)
        + R * np.exp(-(xi2 - xi1 * (1 - x[star] @ q)))
    )


def ratio(error: float, limit: float) -> float:
    if error == 0:
        return 0.0
    return min(error / limit, 1e12) if limit > 0 else 1e12


def metrics(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    d, N, averaged = config.dimension.n, config.context.n, config.labels == "averaged"
    W, delta = matrix(params, config), float(config.separation)
    xi1, xi2 = sum(W[a, a] for a in range(d)) / d, -W[d + 1, d + 1]
    train = [
        (x, q, np.zeros(N) if averaged else problem.train.y[i], nn.nearest(x, q))
        for i, (x, q) in enumerate(zip(problem.train.x, problem.train.q, strict=True))
    ]
    test = [
        (x, q, y, nn.nearest(x, q))
        for x, q, y in zip(problem.test.x, problem.test.q, problem.test.y, strict=True)
    ]
    moved = [(nn.separated(x, 0, delta), x[0], y, 0) for x, _, y, _ in test]
    shifted = []
    for x, q, y, star in test:
        away = [((q - point) ** 2).sum() for point in x]
        near = [distance < away[star] + delta for distance in away]
        shifted.append((x, q, np.where(near, y[star], y), star))
    # where labels are averaged, attention does not read them
    blank = [(x, q, np.zeros(N), star) for x, q, _, star in test] if averaged else test
    S = np.array([nn.attention(W, nn.matrix(x, q, y)) for x, q, y, _ in blank])
    logits = [nn.matrix(x, q, y)[:, -1] @ W @ nn.matrix(x, q, y)[:, -1] for x, q, y, _ in blank]
    agreeing = []
    for x, q, y, star in test:
        labels = np.sign(y) if averaged else y
        agreeing.append(
            np.sign(errors(W, x, q, labels, star) + labels[star]) == np.sign(labels[star])
        )
    gap = min(delta, 4 - delta)
    a, b = np.exp(-xi1 * gap / 2), np.exp(-xi2)
    off = W - nn.structured(d, xi1, xi2)
    diagonal = [W[i, i] for i in range(d)]
    ratios = [ratio(abs(errors(W, *p)), bound(xi1, xi2, p, gap)) for p in moved]
    ratios += [ratio(abs(errors(W, *p)), bound(xi1, xi2, p, delta)) for p in shifted]
    return {
        "loss": squared(W, train, averaged) / 2,
        "test_loss": squared(W, test, averaged) / 2,
        "population_loss": population(xi1, xi2, d, N) if xi1 <= 40 else np.nan,
        "xi1": xi1,
        "xi2": xi2,
        "off_structure": np.sqrt((off**2).sum()),
        "off_diagonal": max(abs(W[i, j]) for i in range(d + 2) for j in range(d + 2) if i != j),
        "diagonal_spread": max(diagonal) - min(diagonal),
        "nearest_attention": np.mean([s[p[3]] for s, p in zip(S, test, strict=True)]),
        "query_attention": S[:, N].mean(),
        "query_logit": np.mean(logits),
        "agreement": np.mean(agreeing),
        "shift_error": squared(W, moved, averaged),
        "shift_bound": min((N - 1) * a**2 + ((N - 1) * a + b) ** 2, 2),
        "separated_error": squared(W, shifted, False),
        "bound_ratio": max(ratios),
    }


# The population


@cache
def population(xi1: float, xi2: float, d: int, N: int) -> float:
    """E (Q - 2 s* + 1) / 2 over t_1 > .. > t_N, times the N! orders. The density of theta = arccos
    t is proportional to sin^(d-2).
    """
    u, omega = np.polynomial.legendre.leggauss(NODES)
    angles, weights = np.zeros((1, 0)), np.full(1, float(math.factorial(N)))
    total = math.sqrt(math.pi) * math.gamma((d - 1) / 2) / math.gamma(d / 2)
    for i in range(N):
        upper = angles[:, -1:] if i else np.zeros((1, 1))
        theta = upper + (math.pi - upper) * (u + 1) / 2
        part = omega * (math.pi - upper) / 2 * np.sin(theta) ** (d - 2) / total
        angles = np.column_stack([np.repeat(angles, NODES, axis=0), theta.ravel()])
        weights = (weights[:, None] * part).ravel()
    z = np.column_stack([xi1 * np.cos(angles), np.full(len(angles), xi1 - xi2)])
    s = np.exp(z - z.max(axis=1, keepdims=True))
    s /= s.sum(axis=1, keepdims=True)
    losses = (s[:, :-1] ** 2).sum(axis=1) - 2 * s[:, 0] + 1
    return float((weights * losses).sum() / 2)


def density(t: np.ndarray, d: int) -> np.ndarray:
    """f(t) = (1 - t^2)^((d-3)/2) / B((d-1)/2, 1/2)."""
    return (1 - t**2) ** ((d - 3) / 2) / special.beta((d - 1) / 2, 0.5)


def below(t: np.ndarray, d: int) -> np.ndarray:
    """F(t), of (t + 1)/2 ~ Beta((d-1)/2, (d-1)/2)."""
    return special.betainc((d - 1) / 2, (d - 1) / 2, (1 + t) / 2)


def tie_density(d: int, N: int) -> float:
    """p(0) = N (N - 1) int f^2 F^(N-2) dt, infinite at d = 2 and 0 at N = 1."""
    if N == 1:
        return 0.0
    if d == 2:
        return math.inf
    u, weight = np.polynomial.legendre.leggauss(400)
    theta = math.pi * (u + 1) / 2
    t = np.cos(theta)
    inner = density(t, d) ** 2 * below(t, d) ** (N - 2) * np.sin(theta)
    return float(N * (N - 1) * (inner * weight).sum() * math.pi / 2)


def valley(t: float, d: int, N: int, eta: float) -> tuple[float, float]:
    """(xi1, xi2 / xi1) where h(1 - r) (d + r^2) xi1 = 2 r C p(0) and xi1^3 = 3 C p(0) eta t / (d +
    r^2), with h = N f F^(N-1); NaN before the least t at which it has a solution.
    """
    Cp = C * tie_density(d, N)

    def late(r: np.ndarray | float) -> np.ndarray | float:
        """log of the left side's t over t, which grows from its least value to r = 2."""
        u = 1 - np.asarray(r)
        h = N * density(u, d) * below(u, d) ** (N - 1)
        xi1 = 2 * r * Cp / ((d + r**2) * h)
        return np.log(xi1**3 * (d + r**2) / (3 * Cp * eta)) - np.log(t)

    r = np.linspace(0.01, 1.99, 100)
    values = late(r)
    least = int(np.argmin(values))
    if values[least] > 0:
        return math.nan, math.nan
    ratio = optimize.brentq(late, r[least], 2 - 1e-9, xtol=1e-15)
    return (3 * Cp * eta * t / (d + ratio**2)) ** (1 / 3), ratio


def predict(problem: Any, config: Any, steps: np.ndarray) -> dict[str, Any]:
    d, N, eta = config.dimension.n, config.context.n, float(config.learning_rate)
    p, xi0 = tie_density(d, N), float(config.initial_alignment)
    curves: dict[str, list[float]] = {}
    defined = 0 < p < math.inf
    for t in steps:
        xi1 = (xi0**3 + 3 * C * p * eta * t / d) ** (1 / 3) if defined else math.nan
        law = C * p / xi1 if defined and xi1 > 0 else math.nan
        one, r = valley(t, d, N, eta) if defined and t > 0 else (math.nan, math.nan)
        slower = C * p / one if defined else math.nan
        row = {"xi1:law": xi1, "loss:law": law, "test_loss:law": law}
        row |= {"xi1:valley": one, "xi2:valley": r * one}
        row |= {"loss:valley": slower, "test_loss:valley": slower}
        for name, value in row.items():
            curves.setdefault(name, []).append(float(value))
    return {name: np.array(curve) for name, curve in curves.items()}


# Draws


def law(problem: Any, batch: Any, config: Any) -> None:
    d, N, B, M = (
        size.n for size in (config.dimension, config.context, config.num_prompts, config.num_test)
    )
    for prompts, count in ((problem.train, B), (problem.test, M), (problem.shift, M)):
        x, q = prompts.x, prompts.q
        assert x.shape == (count, N, d) and q.shape == (count, d)
        agree((x**2).sum(axis=2), np.ones((count, N)), 1e-14)
        agree((q**2).sum(axis=1), np.ones(count), 1e-14)
        agree(prompts.t, np.einsum("bnd,bd->bn", x, q), 1e-14)
        assert prompts.nearest.tolist() == [nn.nearest(a, b) for a, b in zip(x, q, strict=True)]
        agree(prompts.weight, np.full(count, 1 / count), 1e-15)
    agree(problem.shift.x, problem.test.x, 0)
    agree(problem.shift.q, problem.test.x[:, 0], 0)
    agree(problem.shift.y, problem.test.y, 0)
    assert np.all(problem.shift.t[:, 0] == 1)
    assert (problem.train.y is None) == (config.labels == "averaged")
    for got, want in zip(batch, problem.train, strict=True):
        assert (got is None) == (want is None)
        if want is not None:
            agree(got, want, 0)
    if B > 1000:
        for prompts in (problem.train, problem.test):
            check_moments(prompts, config, d, N)
        n = min(B, M)
        average(problem.train.q[:n] * problem.test.q[:n], 0)


def check_moments(prompts: Any, config: Any, d: int, N: int) -> None:
    """Moments of independent uniform points of the sphere and of independent labels."""
    points = np.concatenate([prompts.x, prompts.q[:, None]], axis=1)
    average(points, 0)
    average(points**2, 1 / d)
    average(points**4, 3 / (d * (d + 2)))
    average(points[:, :, 0] * points[:, :, 1], 0)
    for i in range(N + 1):
        for j in range(i):
            average((points[:, i] * points[:, j]).sum(axis=1), 0)
            average((points[:, i] * points[:, j]).sum(axis=1) ** 2, 1 / d)
    if prompts.y is None:
        return
    y = prompts.y
    average(y, 0)
    if config.labels not in ("averaged", "gaussian"):
        assert set(np.unique(y)) == {-1.0, 1.0}
        if config.labels != "rademacher":
            even = config.labels == "even"
            signs = np.where(even & (d * prompts.x[:, :3, 0] ** 2 > 1), -1, 1)
            assert np.array_equal(y[:, :3].prod(axis=1), signs.prod(axis=1))
    else:
        average(y**2, 1)
        average(y**4, 3)
    average(y[:, :, None] * prompts.x, 0)
    average(y[:, :, None] ** 2 * (prompts.x**2 - 1 / d), 0)
    average(y[:, :, None] * prompts.q[:, None], 0)
    for i in range(N):
        for j in range(i):
            average(y[:, i] * y[:, j], 0)
