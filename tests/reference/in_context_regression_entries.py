"""Metrics, curves and data of in_context_regression in plain NumPy, from their docstrings.

The population is integrated by Gauss-Hermite quadrature where that is small, and written with the
moments of one example elsewhere. The aligned run is descent on all weights, head by head.
"""

import itertools
import math
from typing import Any

import numpy as np

from jaxtheory.theories.in_context_regression.model import Config, Literal, Merged, Separate
from tests.reference.agree import agree, average
from tests.reference.entries import Case


def shape(config: Any) -> tuple[int, int, int, int, int]:
    sizes = (config.dimension, config.length, config.heads, config.rank, config.num_prompts)
    return tuple(size.n for size in sizes)  # D, N, H, R, P


def weights(scale: float, seed: int = 0, form: str = "") -> Any:
    """Random weights in the form of the config, or in another one."""

    def make(problem: Any, config: Any) -> Any:
        (D, _, H, R, _), rng = shape(config), np.random.default_rng(seed)
        some = lambda *n: scale * rng.normal(size=n)
        kind = form or config.form
        if kind == "merged":
            return Merged(some(H), some(H, D, D))
        if kind == "separate":
            return Separate(some(H), some(H, R, D), some(H, R, D))
        return Literal(some(H, D + 1), some(H, D + 1, D))

    return make


def at_minimum(problem: Any, config: Any) -> Merged:
    """One head at the minimum, the others at zero."""
    D, _, H, _, _ = shape(config)
    v, U = np.zeros(H), np.zeros((H, D, D))
    v[0], U[0] = 2.0, best(problem, config) / 2
    return Merged(v, U)


CASES = (
    Case(
        "separate",
        Config(dimension=3, length=5, heads=4, rank=2, num_prompts=7, start="aligned"),
        (weights(0.7), weights(0.0), weights(1.0, 3, "merged"), weights(0.5, 4, "literal")),
    ),
    Case(
        "merged, white, aligned",
        Config(
            dimension=2,
            length=3,
            heads=3,
            num_prompts=4,
            form="merged",
            spectrum=0.0,
            start="aligned",
            total_variance=1.7,
            initial_scale=0.4,
        ),
        (weights(0.8, 5), at_minimum),
    ),
    Case(
        "in weights",
        Config(
            dimension=4,
            length=6,
            heads=2,
            num_prompts=5,
            form="literal",
            in_weight_share=0.4,
            spectrum=-0.5,
        ),
        (weights(0.6, 6), weights(0.9, 7, "separate")),
    ),
    Case(
        "rank one, aligned",
        Config(
            dimension=3,
            length=4,
            heads=5,
            num_prompts=6,
            start="aligned",
            initial_scale=0.8,
            learning_rate=0.3,
        ),
        (weights(0.8, 8),),
    ),
    Case(
        "padded",
        Config(dimension=2, length=3, heads=3, num_prompts=5, start="aligned", initial_scale=0.9),
        (weights(0.8, 9), weights(0.5, 10, "literal")),
        padded=True,
    ),
    Case(
        "merged, of rank two, aligned",
        Config(
            dimension=2, length=3, heads=2, rank=2, num_prompts=3, form="merged", start="aligned"
        ),
        (weights(0.8, 12),),
    ),
    Case(
        "white, in weights, aligned",
        Config(
            dimension=2,
            length=3,
            heads=2,
            num_prompts=3,
            form="merged",
            spectrum=0.0,
            in_weight_share=0.3,
            start="aligned",
        ),
        (weights(0.8, 13),),
    ),
    Case(
        "white, separate, aligned",
        Config(dimension=2, length=3, heads=2, num_prompts=3, spectrum=0.0, start="aligned"),
        (weights(0.8, 14),),
    ),
    Case(
        "white, merged, random",
        Config(dimension=2, length=3, heads=2, num_prompts=3, spectrum=0.0, form="merged"),
        (weights(0.8, 15),),
    ),
    Case("many", Config(dimension=2, length=3, heads=1, num_prompts=4001, in_weight_share=0.3)),
    Case("one feature", Config(dimension=1, length=1, heads=1, num_prompts=2), (weights(1.0, 11),)),
)


def widen(params: Any, config: Any) -> Any:
    """Zeros beyond the sizes."""
    D, H, R = config.dimension.cap, config.heads.cap, config.rank.cap
    if isinstance(params, Separate):
        shapes: tuple = ((H,), (H, R, D), (H, R, D))
    elif isinstance(params, Merged):
        shapes = ((H,), (H, D, D))
    else:
        shapes = ((H, D + 1), (H, D + 1, D))
    return type(params)(*(padded(x, *s) for x, s in zip(params, shapes, strict=True)))


def padded(x: np.ndarray, *shape: int) -> np.ndarray:
    return np.pad(x, [(0, cap - n) for cap, n in zip(shape, x.shape, strict=True)])


def spectrum(config: Any) -> np.ndarray:
    D = config.dimension.n
    rows = [(D - d) ** float(config.spectrum) for d in range(D)]
    return float(config.total_variance) * np.array(rows) / sum(rows)


def second_moment(task: np.ndarray, config: Any) -> np.ndarray:
    """E w w^T."""
    c = float(config.in_weight_share)
    return (1 - c) * np.eye(len(task)) + c * np.outer(task, task)


def of_beta(task: np.ndarray, config: Any) -> np.ndarray:
    """E beta beta^T = (1/N^2) sum_{n, m} E x_n x_n^T W x_m x_m^T, pair by pair: for n = m by the
    fourth moments of Gaussians, entry by entry.
    """
    lam, N, W = spectrum(config), config.length.n, second_moment(task, config)
    D, L = len(lam), np.diag(spectrum(config))
    same = np.zeros((D, D))
    for i, j, k, m in itertools.product(range(D), repeat=4):
        # E x_i x_k x_m x_j by pairs
        pairs = L[i, k] * L[m, j] + L[i, m] * L[k, j] + L[i, j] * L[k, m]
        same[i, j] += pairs * W[k, m]
    total = np.zeros((D, D))
    for n, m in itertools.product(range(N), repeat=2):
        total += same if n == m else L @ W @ L
    return total / N**2


def population(A: np.ndarray, problem: Any, config: Any) -> float:
    """E (y - beta^T A x)^2, with x independent of beta given w."""
    L, W = np.diag(spectrum(config)), second_moment(problem.task, config)
    E = of_beta(problem.task, config)
    return float(np.trace(L @ W) - 2 * np.trace(A.T @ L @ W @ L) + np.trace(A.T @ E @ A @ L))


def best(problem: Any, config: Any) -> np.ndarray:
    """The minimum: E A Lambda = Lambda W Lambda."""
    L, W = np.diag(spectrum(config)), second_moment(problem.task, config)
    return np.linalg.lstsq(of_beta(problem.task, config), L @ W, rcond=None)[0]


def matrix(params: Any) -> np.ndarray:
    """A of f = beta^T A x."""
    if isinstance(params, Separate):
        heads = [
            sum(np.outer(k, q) for k, q in zip(K, Q, strict=True))
            for K, Q in zip(params.K, params.Q, strict=True)
        ]
        return sum(v * U for v, U in zip(params.v, heads, strict=True))
    if isinstance(params, Merged):
        return sum(v * U for v, U in zip(params.v, params.U, strict=True))
    return sum(v[0] * U[1:] for v, U in zip(params.v, params.U, strict=True))


def output(params: Any, S: np.ndarray, x: np.ndarray) -> float:
    if isinstance(params, Literal):
        return float(sum(v @ S @ U @ x for v, U in zip(params.v, params.U, strict=True)))
    return float(S[0, 1:] @ matrix(params) @ x)


def error(params: Any, batch: Any) -> float:
    rows = zip(batch.S, batch.x, batch.y, strict=True)
    return float(np.mean([(y - output(params, S, x)) ** 2 for S, x, y in rows]))


def metrics(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    A, least = matrix(params), best(problem, config)
    share = np.diag(A) / np.diag(least)
    loss, total = population(A, problem, config), (A**2).sum()
    even = 0.0
    if isinstance(params, Literal):
        squares = sum((x**2).sum() for x in params)
        even_squares = (params.v[:, 1:] ** 2).sum() + (params.U[:, 0] ** 2).sum()
        even = even_squares / squares if squares else 0.0
    off = total - (np.diag(A) ** 2).sum()
    return {
        "loss": loss,
        "train_loss": error(params, problem.train),
        "test_loss": error(params, problem.test),
        "excess": loss - population(least, problem, config),
        "components": share,
        "learned": float(sum(share >= 0.5)),
        "off_diagonal": off / total if total else 0.0,
        "even": even,
    }


def predict(problem: Any, config: Any, steps: np.ndarray) -> dict[str, Any]:
    least = population(best(problem, config), problem, config)
    unknown = np.full(len(steps), math.nan)
    plain = float(config.in_weight_share) == 0 and config.start == "aligned"
    one = config.form != "separate" or config.rank.n == 1
    run = descent(config, int(max(steps)) + 1)[steps] if plain and one else unknown
    curve = unknown
    if plain and float(config.spectrum) == 0 and config.form != "separate":
        curve = np.array([logistic(t, config) for t in steps])
    return {
        "loss:minimum": np.full(len(steps), least),
        "loss:aligned": run,
        "loss:logistic": curve,
    }


def descent(config: Any, count: int) -> np.ndarray:
    """Descent on all weights from the aligned start, by the gradients of sum_h v_h U_h."""
    (D, _, H, _, _), lam = shape(config), spectrum(config)
    L, eta, sigma = np.diag(lam), float(config.learning_rate), float(config.initial_scale)
    E = of_beta(np.zeros(D), config)
    v = np.full(H, sigma)
    U = np.array([sigma * np.eye(D) / math.sqrt(D)] * H)
    K = np.array([sigma * np.eye(D)[h % D] for h in range(H)])
    Q = K.copy()
    losses = []
    for _ in range(count):
        heads = (
            U
            if config.form != "separate"
            else np.array([np.outer(*kq) for kq in zip(K, Q, strict=True)])
        )
        A = sum(a * B for a, B in zip(v, heads, strict=True))
        losses.append(np.trace(L) - 2 * np.trace(A.T @ L @ L) + np.trace(A.T @ E @ A @ L))
        G = 2 * (E @ A @ L - L @ L)
        slopes = np.array([(B * G).sum() for B in heads])
        if config.form == "separate":
            K, Q = (
                K - eta * np.array([a * G @ q for a, q in zip(v, Q, strict=True)]),
                Q - eta * np.array([a * G.T @ k for a, k in zip(v, K, strict=True)]),
            )
        else:
            U = U - eta * np.array([a * G for a in v])
        v = v - eta * slopes
    return np.array(losses)


def logistic(t: float, config: Any) -> float:
    """L of A = s I / sqrt(D), where s' = 4 a s (1 - s / s*), a = sqrt(D) lambda^2."""
    D, N, H, _, _ = shape(config)
    lam = float(config.total_variance) / D
    a, target = math.sqrt(D) * lam**2, math.sqrt(D) / (lam * (1 + (1 + D) / N))
    odds = H * float(config.initial_scale) ** 2
    odds = odds / (target - odds) * math.exp(4 * a * float(config.learning_rate) * t)
    s = target * odds / (1 + odds)
    e = lam**2 * (1 + (1 + D) / N)
    return D * lam - 2 * lam**2 * math.sqrt(D) * s + e * lam * s**2


def law(problem: Any, batch: Any, config: Any) -> None:
    """The batch is the training set; labels are linear where the task can be read off, moments are
    sums over prompts, and many prompts have the law's moments.
    """
    D, N, _, _, P = shape(config)
    for got, want in zip(batch, problem.train, strict=True):
        agree(got, want, 0)
    assert batch.S.shape == (P, D + 1, D + 1) and problem.test.x.shape == (2000, D)
    agree(batch.weight, np.full(P, 1 / P))
    for part in (problem.train, problem.test):
        agree(part.S, part.S.transpose(0, 2, 1), 1e-12)
        inner = part.S[:, 1:, 1:] - part.x[:, :, None] * part.x[:, None, :] / N
        if N >= 3 * D:
            w = np.linalg.solve(inner, part.S[:, 0, 1:, None])[:, :, 0]
            agree((w * part.x).sum(axis=1), part.y, 1e-6)
    beta = problem.train.S[:, 0, 1:]
    z = np.einsum("pi,pj->pij", beta, problem.train.x)
    agree(problem.moments.c, (problem.train.y**2).mean())
    agree(
        problem.moments.b, np.mean([y * a for y, a in zip(problem.train.y, z, strict=True)], axis=0)
    )
    agree(problem.moments.G, np.mean([np.multiply.outer(a, a) for a in z], axis=0))
    L, W = np.diag(spectrum(config)), second_moment(problem.task, config)
    test = problem.test
    average(test.x[:, :, None] * test.x[:, None, :], L)
    average(test.S[:, 0, 1:, None] * test.y[:, None, None] * test.x[:, None, :], L @ W @ L)
    average(test.S[:, 0, 1:, None] * test.S[:, 0, None, 1:], of_beta(problem.task, config))
    average(test.S[:, 0, 0], np.trace(L @ W))
    average(inner_of(test, N), L)


def inner_of(batch: Any, N: int) -> np.ndarray:
    """(1/N) sum_n x_n x_n^T of each prompt."""
    return batch.S[:, 1:, 1:] - batch.x[:, :, None] * batch.x[:, None, :] / N
