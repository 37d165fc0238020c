"""Training of sparse contextual bigrams in plain NumPy, and the formulas of the text that are
quoted as formulas.

Algorithm 1 and its relatives, each batch one sample at a time. Rates are eta / K_P for A and eta /
K_Q for V unless said otherwise.
Source: Algorithm 1, eqs. (5), (6), (8), sections 3-5, appendices F and H.
"""

import math
from typing import NamedTuple

import numpy as np

from tests.reference.contextual_bigram_numpy import (
    Batch,
    Pair,
    Task,
    covariances,
    gradient,
    inner,
    mean,
    precondition,
    preconditioned,
    rounded,
    scales,
)

# Projections, proximal maps, rounding.


def affine(A: np.ndarray) -> np.ndarray:
    """The nearest columns of sum one: the same number is added to every entry."""
    return A + (1 - A.sum(axis=0)) / len(A)


def two_case(a: np.ndarray, lam: float) -> np.ndarray:
    """Eq. (6) as printed: a - lambda where a >= lambda, zero elsewhere."""
    return np.array([x - lam if x >= lam else 0.0 for x in a.ravel()]).reshape(a.shape)


def textbook(a: np.ndarray, lam: float) -> np.ndarray:
    """The soft threshold: towards zero by lambda, zero within [-lambda, lambda]."""
    return np.array(
        [x - lam if x > lam else x + lam if x < -lam else 0.0 for x in a.ravel()]
    ).reshape(a.shape)


def simplex(A: np.ndarray, _lam: float = 0.0) -> np.ndarray:
    """The nearest probability columns max(a - tau, 0), tau by bisection (a shift by lambda changes
    nothing).
    """
    out = np.zeros_like(A)
    for k in range(A.shape[1]):
        low, high = A[:, k].min() - 1, A[:, k].max()
        for _ in range(200):
            tau = (low + high) / 2
            low, high = (tau, high) if np.maximum(A[:, k] - tau, 0).sum() > 1 else (low, tau)
        out[:, k] = np.maximum(A[:, k] - low, 0)
    return out


PROX = {"two_case": two_case, "textbook": textbook, "simplex": simplex}


def sparsify(A: np.ndarray, theta: float) -> np.ndarray:
    """Entries below theta times their column's largest become zero; then the affine projection (end
    of stage 1).
    """
    rows = [[x if x >= theta * A[:, k].max() else 0.0 for k, x in enumerate(row)] for row in A]
    return affine(np.array(rows))


# Training. Every function returns the parameters at t = 0..steps; batches[t] is the batch of step
# t.


class Recipe(NamedTuple):
    """What Algorithm 1 needs beside data: rate before and after step `switch`, lambda, stage
    threshold, proximal map.
    """

    eta1: float
    eta2: float
    switch: int
    lam: float = 0.0
    theta0: float = 0.0
    prox: str = "two_case"

    def eta(self, t: int) -> float:
        return self.eta1 if t < self.switch else self.eta2


def move(params: Pair, g: Pair, rate: Pair | tuple[float, float], recipe: Recipe, t: int) -> Pair:
    """One step along a preconditioned gradient: eq. (5) for V; (6) for A, with the proximal map
    only in stage 2 and for lambda > 0.
    """
    A, V = params[0] - rate[0] * g[0], params[1] - rate[1] * g[1]
    if recipe.lam > 0 and t >= recipe.switch:
        A = PROX[recipe.prox](A, recipe.lam)
    return affine(A), V


def proximal(start: Pair, batches: list[Batch], task: Task, recipe: Recipe) -> list[Pair]:
    """Algorithm 1 up to rounding; A is thresholded and projected between the stages if lambda > 0.
    lambda = 0 is `sgd`.
    """
    KP, KQ = scales(task)
    path = [start]
    for t, batch in enumerate(batches):
        A, V = path[-1]
        if t == recipe.switch and recipe.lam > 0:
            A = sparsify(A, recipe.theta0)
        g = precondition(gradient((A, V), batch), task.mu)
        path.append(move((A, V), g, (recipe.eta(t) / KP, recipe.eta(t) / KQ), recipe, t))
    return path


def sgd_plain(start: Pair, batches: list[Batch], task: Task, recipe: Recipe) -> list[Pair]:
    """Raw gradients at the same rates, nothing else."""
    KP, KQ = scales(task)
    path = [start]
    for t, batch in enumerate(batches):
        (A, V), (gA, gV) = path[-1], gradient(path[-1], batch)
        path.append((A - recipe.eta(t) / KP * gA, V - recipe.eta(t) / KQ * gV))
    return path


def softmax(W: np.ndarray) -> np.ndarray:
    """Columns e^w / sum e^w."""
    e = np.exp(W - W.max(axis=0))
    return e / e.sum(axis=0)


def softmax_gradient(W: np.ndarray, gA: np.ndarray) -> np.ndarray:
    """Column by column (diag a - a a^T) g_a."""
    A = softmax(W)
    return np.stack(
        [(np.diag(a) - np.outer(a, a)) @ g for a, g in zip(A.T, gA.T, strict=True)], axis=1
    )


def softmax_training(
    start: Pair, batches: list[Batch], task: Task, recipe: Recipe, kappa: float
) -> list[Pair]:
    """Logits and V: W -= kappa eta (T / K_P) J^T g_A diag(1/mu), V as in `sgd`. Returns
    (softmax(W), V).
    """
    KP, KQ = scales(task)
    path, W = [(softmax(start[0]), start[1])], start[0]
    for t, batch in enumerate(batches):
        gA, gV = gradient(path[-1], batch)
        _, step = precondition((gA, gV), task.mu)
        W = W - kappa * recipe.eta(t) * task.T / KP * softmax_gradient(W, gA) @ np.diag(1 / task.mu)
        path.append((softmax(W), path[-1][1] - recipe.eta(t) / KQ * step))
    return path


def population(start: Pair, steps: int, task: Task, recipe: Recipe) -> list[Pair]:
    """Algorithm 1 on the expected gradient, by enumeration."""
    KP, KQ = scales(task)
    path = [start]
    for t in range(steps):
        A, V = path[-1]
        if t == recipe.switch and recipe.lam > 0:
            A = sparsify(A, recipe.theta0)
        path.append(
            move(
                (A, V),
                preconditioned((A, V), task),
                (recipe.eta(t) / KP, recipe.eta(t) / KQ),
                recipe,
                t,
            )
        )
    return path


def pretrained_value(task: Task, pretrained: np.ndarray, theta: float) -> np.ndarray:
    """theta P~ + (1 - theta) mu 1^T."""
    return theta * pretrained + (1 - theta) * task.trivial


def transfer(
    batches: list[Batch], task: Task, recipe: Recipe, pretrained: np.ndarray, theta: float
) -> list[Pair]:
    """Section 4: one step of A with the gradients of all batches before `switch`, threshold,
    project; stage 2 from there.
    """
    KP, KQ = scales(task)
    V0 = pretrained_value(task, pretrained, theta)
    first = [
        precondition(gradient((task.uniform, V0), batch), task.mu)
        for batch in batches[: recipe.switch]
    ]
    eta = 1 / (theta * inner(pretrained - task.trivial, task.P - task.trivial, task.mu))
    A = affine(task.uniform - eta * mean(first)[0])
    path = [(task.uniform, V0)] * recipe.switch + [
        (sparsify(A, recipe.theta0) if recipe.lam > 0 else A, V0)
    ]
    for t in range(recipe.switch, len(batches)):
        g = precondition(gradient(path[-1], batches[t]), task.mu)
        path.append(move(path[-1], g, (recipe.eta2 / KP, recipe.eta2 / KQ), recipe, t))
    return path


def refit(start: Pair, batches: list[Batch], task: Task, recipe: Recipe) -> list[Pair]:
    """Stage 3: A rounded and frozen, V alone trained at rate eta2 / K_Q."""
    A, V = rounded(start[0], recipe.theta0)[0], start[1]
    path = [(A, V)]
    for batch in batches:
        V = V - recipe.eta2 / scales(task)[1] * precondition(gradient((A, V), batch), task.mu)[1]
        path.append((A, V))
    return path


# Formulas of the text.


def dynamics(
    alpha: tuple[float, float], etas: list[float], task: Task
) -> list[tuple[float, float]]:
    """Eq. (8) at rates eta / K_P, eta / K_Q, the two updates at once."""
    KQ = scales(task)[1]
    path = [alpha]
    for eta in etas:
        a, v = path[-1]
        path.append(
            (a + eta * v * (1 - a * v), v + eta * (a * (1 - a * v) + (1 - v) / (task.T * KQ)))
        )
    return path


def early(s: float, task: Task) -> tuple[float, float]:
    """(alpha_A, alpha_V) = d (cosh s - 1, sinh s), d = 1 / (T K_Q), s the sum of the
    rates so far.
    """
    d = 1 / (task.T * scales(task)[1])
    return d * (math.cosh(s) - 1), d * math.sinh(s)


def jacobian_at_the_fixed_point(task: Task, eta: float) -> np.ndarray:
    """Derivative of one step of eq. (8), minus the identity, at (1, 1)."""
    h, columns = 1e-6, []
    for a, v in ((h, 0), (0, h)):
        up, down = (
            np.array(dynamics((1 + sign * a, 1 + sign * v), [eta], task)[1]) for sign in (1, -1)
        )
        columns.append((up - down) / (2 * h))
    return np.stack(columns, axis=1) - np.eye(2)


def Phi(z: float) -> float:
    """P(standard normal < z)."""
    return math.erfc(-z / math.sqrt(2)) / 2


def token_covariance(mu: np.ndarray) -> np.ndarray:
    """C = diag mu - mu mu^T."""
    return np.diag(mu) - np.outer(mu, mu)


def sign_law(task: Task, B: int, eta: float) -> float:
    """z = K_P sqrt(2 B / (eta T)) / s, s^2 = tr(C P C P^T); stage 1 takes the right sign with
    probability Phi(z).
    """
    C = token_covariance(task.mu)
    return (
        scales(task)[0]
        * math.sqrt(2 * B / (eta * task.T))
        / math.sqrt(np.trace(C @ task.P @ C @ task.P.T))
    )


def sign_law_by_enumeration(task: Task, B: int, eta: float) -> float:
    """The same from m <- (1 + eta) m + eta d + noise, m = alpha_A + alpha_V, d = 1/(T K_Q): d over
    the std of sum_t noise/(1 + eta)^t.
    """
    KP, KQ = scales(task)
    cA, cV = covariances(task.start, task)
    a = ((task.Q - task.uniform) * task.mu).ravel() / (KQ * KP)
    v = ((task.P - task.trivial) * task.mu).ravel() / (KP * KQ)
    noise = eta**2 / B * (a @ cA @ a + v @ cV @ v)
    return (1 / (task.T * KQ)) / math.sqrt(noise / (2 * eta))


def one_step(task: Task, pretrained: np.ndarray, theta: float, B: float, k: int) -> float:
    """Standard deviation of an off-support entry of column k after the transfer step, sqrt(tr(V0 C
    V0^T C) / (B mu_k)) eta_A.
    """
    V0, C = pretrained_value(task, pretrained, theta), token_covariance(task.mu)
    eta = 1 / (theta * inner(pretrained - task.trivial, task.P - task.trivial, task.mu))
    return math.sqrt(np.trace(V0 @ C @ V0.T @ C) / (B * task.mu[k])) * eta


def recovered(q: np.ndarray, sd: float, T: int, share: float, nodes: int = 4001) -> float:
    """Chance that, of T independent Gaussians with means q and otherwise 0, just the attended ones
    reach `share` times the largest.

    Simpson's rule over the largest attended entry m > 0.
    """
    grid, total = np.linspace(max(q.min() - 9 * sd, 0), q.max() + 9 * sd, nodes), 0.0
    weight = np.where(np.arange(nodes) % 2 == 1, 4.0, 2.0) * (grid[1] - grid[0]) / 3
    weight[[0, -1]] /= 2
    for m, w in zip(grid, weight, strict=True):
        rival_chance = Phi(share * m / sd) ** (T - len(q))
        for j in range(len(q)):
            density = math.exp(-(((m - q[j]) / sd) ** 2) / 2) / (sd * math.sqrt(2 * math.pi))
            total += (
                w
                * density
                * rival_chance
                * math.prod(
                    Phi((m - r) / sd) - Phi((share * m - r) / sd) for i, r in enumerate(q) if i != j
                )
            )
    return total


def recovery(
    task: Task, pretrained: np.ndarray, theta: float, B: float, share: float
) -> list[float]:
    """Chance that column k is thresholded at `share` of its largest entry into its
    exact support.
    """
    columns = [task.Q[task.Q[:, k] > 0, k] for k in range(task.N)]
    return [
        recovered(q, one_step(task, pretrained, theta, B, k), task.T, share)
        for k, q in enumerate(columns)
    ]


def large_batch_noise(params: Pair, task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Leading order of `covariances`: (N,) variance of an entry of column k of h_A before centring,
    and (NN, NN) of h_V before centring.
    """
    (A, V), mu, P = params, task.mu, task.P
    C = token_covariance(mu)
    a2, aq = (A**2).sum(axis=0), (A * task.Q).sum(axis=0)

    def residual(a2: float, aq: float) -> np.ndarray:
        S, M = (
            a2 * np.diag(mu) + (1 - a2) * np.outer(mu, mu),
            aq * np.diag(mu) + (1 - aq) * np.outer(mu, mu),
        )
        return V @ S @ V.T - V @ M @ P.T - P @ M @ V.T + np.diag(mu)

    variance = np.array(
        [np.trace(V @ C @ V.T @ residual(a2[k], aq[k])) / mu[k] for k in range(task.N)]
    )
    a2, aq = float(mu @ a2), float(mu @ aq)
    S = a2 * np.diag(mu) + (1 - a2) * np.outer(mu, mu)
    return variance, np.kron(residual(a2, aq), np.diag(1 / mu) @ S @ np.diag(1 / mu))
