"""Sparse contextual bigrams in plain NumPy: one-hot matrices, one sample at a time, expectations by
enumerating every sample, float64.

A sample is (x_1..x_T, k, y): tokens and query i.i.d. mu, s ~ q^(k), y ~ P[:, x_s]. With X =
[e_{x_1} .. e_{x_T}] (N, T),

    p = X a^(k)    f = V p    l = ||e_y - f||^2 / 2    (columns of P, V: transitions out of a token;
                                                       columns of Q, A: one per query).

Slow on purpose and written from the definitions alone: no expectation is taken by algebra, every
alpha is a least-squares fit, every covariance a sum over samples. Training and the formulas of the
text are in `contextual_bigram_training`.
Source: data model, eqs. (2)-(4); stage 3 with a threshold relative to the column's largest entry.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

Sample = tuple[tuple[int, ...], int, int]  # tokens, query, label
Pair = tuple[np.ndarray, np.ndarray]  # (A or logits (T, N), V (N, N)), or their gradients
Batch = list[Sample]


class Task(NamedTuple):
    """P (N, N), mu (N,), Q (T, N)."""

    P: np.ndarray
    mu: np.ndarray
    Q: np.ndarray

    @property
    def N(self) -> int:
        return len(self.mu)

    @property
    def T(self) -> int:
        return len(self.Q)

    @property
    def trivial(self) -> np.ndarray:
        """mu 1^T, the transition that forgets."""
        return np.outer(self.mu, np.ones(self.N))

    @property
    def uniform(self) -> np.ndarray:
        """11^T / T, the attention that averages."""
        return np.full((self.T, self.N), 1 / self.T)

    @property
    def start(self) -> Pair:
        return self.uniform, self.trivial


def stationary(P: np.ndarray) -> np.ndarray:
    """mu of P mu = mu, 1^T mu = 1, by least squares."""
    N = len(P)
    return np.linalg.lstsq(np.vstack([P - np.eye(N), np.ones(N)]), np.eye(N + 1)[-1])[0]


def inner(A: np.ndarray, B: np.ndarray, mu: np.ndarray) -> float:
    """<A, B>_mu = sum_k mu_k <A_k, B_k>."""
    return float(sum(weight * (A[:, k] @ B[:, k]) for k, weight in enumerate(mu)))


def norm(A: np.ndarray, mu: np.ndarray) -> float:
    return math.sqrt(inner(A, A, mu))


def cosine(A: np.ndarray, B: np.ndarray, mu: np.ndarray) -> float:
    return inner(A, B, mu) / (norm(A, mu) * norm(B, mu))


def scales(task: Task) -> tuple[float, float]:
    """(K_P, K_Q) = (||P - mu 1^T||_mu^2, ||Q - 11^T / T||_mu^2)."""
    return norm(task.P - task.trivial, task.mu) ** 2, norm(task.Q - task.uniform, task.mu) ** 2


# One sample, one batch.


def one_hot(tokens: tuple[int, ...], N: int) -> np.ndarray:
    X = np.zeros((N, len(tokens)))
    for t, x in enumerate(tokens):
        X[x, t] = 1.0
    return X


def sample_loss(params: Pair, sample: Sample) -> float:
    A, V = params
    tokens, k, y = sample
    r = V @ one_hot(tokens, len(V)) @ A[:, k] - np.eye(len(V))[y]
    return float(r @ r) / 2


def sample_gradient(params: Pair, sample: Sample) -> Pair:
    """(dl/dA, dl/dV) by the chain rule through X; only column k of A moves."""
    A, V = params
    tokens, k, y = sample
    X = one_hot(tokens, len(V))
    p = X @ A[:, k]
    r = V @ p - np.eye(len(V))[y]
    gA = np.zeros_like(A)
    gA[:, k] = X.T @ (V.T @ r)
    return gA, np.outer(r, p)


def mean(pairs: list[Pair]) -> Pair:
    return sum(pair[0] for pair in pairs) / len(pairs), sum(pair[1] for pair in pairs) / len(pairs)


def loss(params: Pair, batch: Batch) -> float:
    return float(np.mean([sample_loss(params, sample) for sample in batch]))


def gradient(params: Pair, batch: Batch) -> Pair:
    return mean([sample_gradient(params, sample) for sample in batch])


def precondition(g: Pair, mu: np.ndarray) -> Pair:
    """Eq. (4): ((I - 11^T/T) g_A diag(1/mu), (I - 11^T/N) g_V diag(1/mu))."""
    center = lambda n: np.eye(n) - np.ones((n, n)) / n
    scale = np.diag(1 / mu)
    return center(len(g[0])) @ g[0] @ scale, center(len(mu)) @ g[1] @ scale


# Expectations over every sample.


def law(task: Task) -> Iterator[tuple[float, Sample, int]]:
    """Every (probability, sample, position s) of positive probability."""
    for tokens in itertools.product(range(task.N), repeat=task.T):
        chance = math.prod(task.mu[x] for x in tokens)
        for k in range(task.N):
            for s in np.flatnonzero(task.Q[:, k]):
                for y in range(task.N):
                    weight = chance * task.mu[k] * task.Q[s, k] * task.P[y, tokens[s]]
                    if weight > 0:
                        yield weight, (tokens, k, y), int(s)


def expect(task: Task, f: Callable[[Sample], np.ndarray | float]) -> np.ndarray:
    """E f(sample)."""
    return sum(weight * np.asarray(f(sample)) for weight, sample, _ in law(task))


def population_loss(params: Pair, task: Task) -> float:
    return float(expect(task, lambda sample: sample_loss(params, sample)))


def population_gradient(params: Pair, task: Task) -> Pair:
    gA, gV = np.zeros_like(params[0]), np.zeros_like(params[1])
    for weight, sample, _ in law(task):
        a, v = sample_gradient(params, sample)
        gA += weight * a
        gV += weight * v
    return gA, gV


def preconditioned(params: Pair, task: Task) -> Pair:
    """The expected preconditioned gradient, B.8 where 1^T A = 1^T and 1^T V = 1^T."""
    return precondition(population_gradient(params, task), task.mu)


def bayes_loss(task: Task) -> float:
    """The loss of f = E[e_y | x, k] = P X q^(k), the best of all predictors."""
    return population_loss((task.Q, task.P), task)


def joint(task: Task, k: int, s: int) -> np.ndarray:
    """(N, N) [y, i] = P(x_s = i, y | k), Lemma B.1."""
    out = np.zeros((task.N, task.N))
    for weight, (tokens, query, y), _ in law(task):
        if query == k:
            out[y, tokens[s]] += weight / task.mu[k]
    return out


def joint_of_two(task: Task, k: int, s: int, t: int) -> np.ndarray:
    """(N, N, N) [y, i, j] = P(x_s = i, x_t = j, y | k), Lemma B.2."""
    out = np.zeros((task.N,) * 3)
    for weight, (tokens, query, y), _ in law(task):
        if query == k:
            out[y, tokens[s], tokens[t]] += weight / task.mu[k]
    return out


def optimal_value(A: np.ndarray, task: Task) -> np.ndarray:
    """argmin_V of the population loss, E[e_y p^T] E[p p^T]^{-1}: the normal equations of the
    regression of e_y on p.
    """
    pp, yp = np.zeros((task.N, task.N)), np.zeros((task.N, task.N))
    for weight, (tokens, k, y), _ in law(task):
        p = one_hot(tokens, task.N) @ A[:, k]
        pp += weight * np.outer(p, p)
        yp[y] += weight * p
    return np.linalg.solve(pp, yp.T).T


def covariances(params: Pair, task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Covariances (TN, TN), (NN, NN) of the preconditioned gradients of one sample, entries in
    row-major order.
    """
    out = []
    for which in (0, 1):
        size = params[which].size
        first, second = np.zeros(size), np.zeros((size, size))
        for weight, sample, _ in law(task):
            g = precondition(sample_gradient(params, sample), task.mu)[which].ravel()
            first += weight * g
            second += weight * np.outer(g, g)
        out.append(second - np.outer(first, first))
    return out[0], out[1]


# What is measured.


def fit(M: np.ndarray, line: np.ndarray, origin: np.ndarray, mu: np.ndarray) -> float:
    """argmin_alpha ||M - origin - alpha (line - origin)||_mu, by least squares over all entries."""
    weight = np.sqrt(np.ones((len(M), 1)) * mu)
    return float(
        np.linalg.lstsq((weight * (line - origin)).reshape(-1, 1), (weight * (M - origin)).ravel())[
            0
        ][0]
    )


def alphas(params: Pair, task: Task) -> tuple[float, float]:
    """(alpha_A, alpha_V), Lemma C.1."""
    return fit(params[0], task.Q, task.uniform, task.mu), fit(
        params[1], task.P, task.trivial, task.mu
    )


def residuals(params: Pair, task: Task) -> Pair:
    """(Delta_A, Delta_V): what is left of A and V off the population lines."""
    a, v = alphas(params, task)
    return params[0] - task.uniform - a * (task.Q - task.uniform), params[1] - task.trivial - v * (
        task.P - task.trivial
    )


def rounded(A: np.ndarray, theta: float) -> tuple[np.ndarray, int]:
    """Stage 3: keep entries >= theta times the column's largest, divide by their sum; a column
    without any is uniform and counted.
    """
    out, empty = np.zeros_like(A), 0
    for k in range(A.shape[1]):
        column = [x if x > 0 and x >= theta * A[:, k].max() else 0.0 for x in A[:, k]]
        if sum(column) > 0:
            out[:, k] = np.array(column) / sum(column)
        else:
            out[:, k], empty = 1 / len(A), empty + 1
    return out, empty


def exact_supports(A: np.ndarray, Q: np.ndarray) -> float:
    """Share of columns that are nonzero exactly where Q is."""
    return float(
        np.mean(
            [
                set(np.flatnonzero(a)) == set(np.flatnonzero(q))
                for a, q in zip(A.T, Q.T, strict=True)
            ]
        )
    )


def metrics(params: Pair, task: Task, lam: float = 0.0) -> dict[str, float]:
    """The population metrics of (A, V), losses by enumeration; off_support_std is the root mean
    square over columns.
    """
    (A, V), mu = params, task.mu
    (alpha_A, alpha_V), (DA, DV) = alphas(params, task), residuals(params, task)
    L, best = population_loss(params, task), bayes_loss(task)
    return {
        "loss": L,
        "excess_loss": L - best,
        "relative_excess_loss": (L - best) / (population_loss(task.start, task) - best),
        "attention_alignment": alpha_A,
        "value_alignment": alpha_V,
        "attention_residual": norm(DA, mu),
        "value_residual": norm(DV, mu),
        "attention_distance": norm(A - task.Q, mu),
        "value_distance": norm(V - task.P, mu),
        "attention_cosine": cosine(A, task.Q, mu),
        "value_cosine": cosine(V, task.P, mu),
        "value_cosine_centered": cosine(V - task.trivial, task.P - task.trivial, mu)
        if alpha_V
        else 0.0,
        "right_sign": float(alpha_A + alpha_V > 0),
        "support_match": exact_supports(
            A - A.min(axis=0), task.Q
        ),  # the projection lifts all entries of a column equally
        "off_support_std": math.sqrt(
            np.mean(
                [
                    np.var(a[q == 0]) if np.any(q == 0) else 0.0
                    for a, q in zip(A.T, task.Q.T, strict=True)
                ]
            )
        ),
        "below_lambda": sum(x < -lam for x in A.ravel()) / A.size,
    }


def analyses(params: Pair, task: Task, theta: float) -> dict[str, float]:
    """After stage 3 at the relative threshold theta; V is the best one given the rounded A (an
    oracle: it uses P and Q).
    """
    A, empty = rounded(params[0], theta)
    return {
        "support_recovery": exact_supports(A, task.Q),
        "rounded_attention_distance": norm(A - task.Q, task.mu),
        "rounded_value_distance": norm(optimal_value(A, task) - task.P, task.mu),
        "empty_columns": float(empty),
    }
