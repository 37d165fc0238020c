"""Metrics, baselines, analyses, curves and data of attention_pruning in plain NumPy, from their
docstrings.

Pruners and errors are those of `attention_pruning_numpy`; the curvature comes from products with
the Hessian there, for two masks from differences of the gradient.
"""

import math
from typing import Any

import jax
import numpy as np

from jaxtheory.theories.attention_pruning.model import Config, FactorMasks, FusedMask
from tests.reference import attention_pruning_numpy as ap
from tests.reference import entries
from tests.reference.agree import agree, average
from tests.reference.entries import Case

CURVATURE = ("hessian_norm", "stability_ratio", "bound_ratio")  # differences, for two masks
TOLERANCES = dict.fromkeys(CURVATURE, 1e-7)
BLOCK = 4


def fused(seed: int, levels: int = 0) -> Any:
    """A random mask, of few levels where ties are wanted."""

    def make(problem: Any, config: Any) -> FusedMask:
        M = np.random.default_rng(seed).uniform(-0.2, 1.2, size=(config.dimension.n,) * 2)
        return FusedMask(np.round(levels * M) / levels if levels else M)

    return make


def factors(seed: int) -> Any:
    return lambda problem, config: FactorMasks(
        *np.random.default_rng(seed).uniform(-0.2, 1.2, size=(2, *(config.dimension.n,) * 2))
    )


def ones(problem: Any, config: Any) -> FusedMask:
    return FusedMask(np.ones((config.dimension.n,) * 2))


def make(d: int, L: int, S: int, **fields: Any) -> Config:
    return Config(dimension=d, length=L, num_sequences=S, **{"rank": 2, **fields})


CASES = (
    Case(
        "causal",
        make(5, 7, 2, logit_scale=5.0, regularization=0.5, pruning_ratio=0.3),
        (fused(0), factors(1), fused(2, 4), ones),
    ),
    Case(
        "few tokens",
        make(7, 3, 2, rank=7, logit_scale=2.0, attention="full", mask_init="uniform").replace(
            ranking="magnitude_mask", pruning_ratio=0.45, momentum=0.3, regularization=1e-3
        ),
        (fused(3), factors(4)),
    ),
    Case(
        "block",
        make(3, 9, 1, logit_scale=20.0, attention="block", mask_init="half", pruning_ratio=0.7),
        (fused(5),),
    ),
    Case(
        "decimal ratio",  # 0.29 * 100 is below 29
        make(10, 2, 1, rank=10, logit_scale=3.0, attention="full", pruning_ratio=0.29),
        (fused(9),),
    ),
    Case("one token", make(3, 1, 1, rank=3, pruning_ratio=0.0), (fused(6),)),
    Case("padded", make(4, 3, 2, logit_scale=5.0, pruning_ratio=0.4), (fused(7), factors(8)), True),
    Case("many", make(3, 2, 2001, rank=2, logit_scale=50.0)),
)


def widen(params: Any, config: Any) -> Any:
    """Zeros beyond the sizes."""
    cap = config.dimension.cap
    return type(params)(*(np.pad(M, (0, cap - len(M))) for M in params))


def masks(params: Any) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(M) for M in params)


def pruned(params: Any, problem: Any, config: Any) -> np.ndarray:
    """The weights after each mask is made binary by itself."""

    def one(M: np.ndarray, W: np.ndarray) -> np.ndarray:
        scores = M if config.ranking == "mask" else abs(M * W)
        return W * ap.keep(scores, float(config.pruning_ratio))

    if isinstance(params, FusedMask):
        return one(params.mask, problem.weights)
    return one(params.query, problem.query) @ one(params.key, problem.key).T


def plain(weights: np.ndarray, problem: Any) -> tuple[float, float]:
    arguments = problem.weights, problem.attention_mask
    return (
        ap.relative_error(weights, problem.inputs, *arguments),
        ap.relative_error(weights, problem.heldout, *arguments),
    )


def rescaled(weights: np.ndarray, problem: Any) -> tuple[float, float, float]:
    """Errors at the best factor on the logits and that factor: the best octave in [2^-7, 2] or a
    half octave beside it.
    """
    error = lambda alpha: plain(alpha * weights, problem)[0]
    best = min((2.0**k for k in range(-7, 2)), key=error)
    neighbors = [min(max(best * 2**by, 2.0**-7), 2.0) for by in (-0.5, 0.5)]
    alpha = min((best, *neighbors), key=error)
    return *plain(alpha * weights, problem), alpha


def lowered(params: Any, problem: Any, config: Any) -> tuple[float, tuple[np.ndarray, ...]]:
    """The attention loss of the masks as they are, and the gradient of the loss."""
    X, W, mask = problem.inputs, problem.weights, problem.attention_mask
    lam = float(config.regularization)
    if isinstance(params, FusedMask):
        M = params.mask
        return ap.attention_loss(M * W, X, W, mask), (ap.gradient(M, X, W, mask, lam),)
    WQ, WK = problem.query, problem.key
    product = (params.query * WQ) @ (params.key * WK).T
    slope = ap.two_mask_gradient(masks(params), X, WQ, WK, mask, lam)
    return ap.attention_loss(product, X, W, mask), slope


def metrics(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    L, slope = lowered(params, problem, config)
    squared = sum((M**2).sum() for M in masks(params))
    error, heldout = plain(pruned(params, problem, config), problem)
    return {
        "relative_error": [error],
        "relative_error_heldout": [heldout],
        "loss": L + float(config.regularization) / 2 * squared,
        "attention_loss": L,
        "gradient_norm": math.sqrt(sum((g**2).sum() for g in slope)),
        "mask_norm": math.sqrt(squared),
        "mask_maximum": max(abs(M).max() for M in masks(params)),
    }


def baselines(problem: Any, config: Any) -> dict[str, Any]:
    rho = float(config.pruning_ratio)
    weights = [*ap.baselines(problem.query, problem.key, problem.inputs, rho).values()]
    weights.append(problem.weights * ap.keep(problem.uniform[2], rho))
    errors, heldout_errors = zip(*(plain(w, problem) for w in weights), strict=True)
    again = [rescaled(w, problem) for w in weights]
    return {"relative_error": errors, "relative_error_heldout": heldout_errors} | named(again)


def named(rows: list[tuple[float, float, float]]) -> dict[str, Any]:
    errors, heldout_errors, factor = zip(*rows, strict=True)
    return {
        "relative_error_rescaled": errors,
        "relative_error_rescaled_heldout": heldout_errors,
        "logit_factor": factor,
    }


def curvature(params: Any, problem: Any, config: Any) -> float:
    """30 power iterations from uniform - 1/2, never above the largest eigenvalue."""
    X, W, mask, lam = (
        problem.inputs,
        problem.weights,
        problem.attention_mask,
        float(config.regularization),
    )
    M = np.stack(masks(params))

    def product(V: np.ndarray) -> np.ndarray:
        if isinstance(params, FusedMask):
            return ap.hessian_vector(M[0], V[0], X, W, mask, lam)[None]
        h = 1e-4
        at = lambda by: np.stack(
            ap.two_mask_gradient(tuple(M + by * V), X, problem.query, problem.key, mask, lam)
        )
        return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)

    V = np.broadcast_to(problem.uniform[2] - 0.5, M.shape)
    length = math.sqrt((V**2).sum())
    for _ in range(30):
        V = product(V / length)
        length = math.sqrt((V**2).sum())
    basis = np.eye(M.size).reshape(-1, *M.shape)
    H = np.array([product(e).ravel() for e in basis])
    assert length <= abs(np.linalg.eigvalsh((H + H.T) / 2)).max() * (1 + 1e-6)
    return length


def analyses(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    norm, lam = curvature(params, problem, config), float(config.regularization)
    eta, W, mask = float(config.step_scale) / lam, problem.weights, problem.attention_mask
    f = [ap.attend(x, W, mask) for x in problem.inputs]
    ratios = np.full(11, math.nan)
    if isinstance(params, FusedMask):
        ratios = bounds(params.mask, norm, problem, config)
    return named([rescaled(pruned(params, problem, config), problem)]) | {
        "hessian_norm": norm,
        "stability_ratio": eta * norm / (2 * (1 + float(config.momentum))),
        "bound_ratio": ratios,
        "saturation": np.mean([row.max() for one in f for row in one]),
    }


def bounds(M: np.ndarray, norm: float, problem: Any, config: Any) -> np.ndarray:
    """Measured over bound, or bound over measured, in the order of `laws.BOUNDS`; 0 where both are
    0.
    """
    X, W, mask, lam = (
        problem.inputs,
        problem.weights,
        problem.attention_mask,
        float(config.regularization),
    )
    S, n, d = X.shape
    size = lambda *arrays: math.sqrt(sum((a**2).sum() for a in arrays))
    f = [ap.attend(x, M * W, mask) for x in X]
    star = [ap.attend(x, W, mask) for x in X]
    c = [a - b for a, b in zip(f, star, strict=True)]
    p = [ap.logit_gradient(a, b) for a, b in zip(f, star, strict=True)]
    B = sum(x.T @ one @ x for x, one in zip(X, p, strict=True))
    spectral = [np.linalg.norm(x, 2) ** 2 for x in X]
    delta = min(a[mask].min() for a in f)
    Z = X.reshape(-1, d)
    beta = np.linalg.eigvalsh(Z @ Z.T)[0] if S * n <= d else 0.0
    least, most = abs(W).min(), abs(W).max()
    pull = most / 2 * np.mean([s * size(a) for s, a in zip(spectral, c, strict=True)])
    p1 = [a * b for a, b in zip(f, c, strict=True)]
    p2 = [np.diag(a.sum(axis=1)) @ b for a, b in zip(p1, f, strict=True)]
    R = max(*(size(x) for x in X), size(W))
    pairs = (
        (norm, ap.lipschitz(X, W, lam)),
        (size(ap.gradient(M, X, W, mask, lam)), pull + lam * size(M)),
        (delta * size(*c), size(*p)),
        (beta * size(*p), size(B)),
        (least * size(B), size(W * B)),
        (least * beta * delta / S * size(*c), size(W * B) / S),
        (size(*f), math.sqrt(S * n)),
        (size(*c), math.sqrt(2 * S * n)),
        (max(size(*p1), size(*p2)), math.sqrt(1 - 1 / n) * size(*c)),
        (size(*p), size(*c) / 2),
        (norm, lam + 1.25 * R**6),
    )
    return np.array([low / high if high > 0 else 0.0 for low, high in pairs])


def predict(problem: Any, config: Any, steps: np.ndarray) -> dict[str, Any]:
    X, W, mask = problem.inputs, problem.weights, problem.attention_mask
    lam, rho = float(config.regularization), float(config.pruning_ratio)
    start = {"ones": 1.0, "half": 0.5, "uniform": problem.uniform[0]}[config.mask_init] + 0 * W
    score = -W * ap.fused_gradient(0 * W, X, W, mask) / lam  # of uniform attention
    by_mask = score if config.ranking == "mask" else abs(score * W)
    spread = np.zeros_like(W)  # the diagonal of J^T J over the entries of M, at M = 1
    for x in X:
        for i, row in enumerate(ap.attend(x, W, mask)):
            J = np.diag(row) - np.outer(row, row)
            for a in range(len(W)):
                for b in range(len(W)):
                    spread[a, b] += ((J @ (x[i, a] * W[a, b] * x[:, b])) ** 2).sum() / len(X)
    curves = {"attention_loss:descent": ap.loss(start, X, W, mask, lam)}
    for name, scores in (("large_lambda", by_mask), ("curvature", spread)):
        error, heldout = plain(W * ap.keep(scores, rho), problem)
        curves |= {f"relative_error:{name}": error, f"relative_error_heldout:{name}": heldout}
    return {name: np.full(len(steps), value) for name, value in curves.items()}


# Draws


def law(problem: Any, batch: Any, config: Any) -> None:
    d, L, S = config.dimension.n, config.length.n, config.num_sequences.n
    assert problem.inputs.shape == (S, L, d) and problem.heldout.shape == (4, L, d)
    agree(batch.inputs, problem.inputs, 0)
    agree(problem.weights, problem.query @ problem.key.T, 1e-13)
    allowed = {
        "causal": lambda i, j: j <= i,
        "full": lambda i, j: True,
        "block": lambda i, j: i // BLOCK == j // BLOCK,
    }[config.attention]
    want = [[allowed(i, j) for j in range(L)] for i in range(L)]
    assert problem.attention_mask.tolist() == want
    assert problem.uniform.min() >= 0 and problem.uniform.max() < 1
    full_rank = entries.draw("attention_pruning", config.replace(rank=d, logit_scale=100.0), 5)
    for got, full in ((problem.query, full_rank.query), (problem.key, full_rank.key)):
        u, s, vt = np.linalg.svd(np.asarray(full))
        rank = int(config.rank)
        best = (u[:, :rank] * s[:rank]) @ vt[:rank]
        agree(got, best * math.sqrt(float(config.logit_scale) / 100), 1e-12)
    if S > 1000:
        average(problem.inputs, 0)
        average(problem.inputs**2, 1)
        average(problem.inputs**4, 3)
        flat = problem.inputs.reshape(S, -1)
        for i in range(L * d):
            average(flat[:, i : i + 1] * flat[:, :i], np.zeros(i))
        tasks(config)


def tasks(config: Any) -> None:
    """Heldout sequences, full-rank weights and uniform numbers over 1000 keys."""
    d = config.dimension.n
    small = config.replace(num_sequences=1, rank=d, logit_scale=100.0)
    draw = lambda key: entries.slot("attention_pruning", "problem")(key, small)
    drawn = jax.vmap(draw)(jax.random.split(jax.random.key(1), 1000))
    X, heldout, Q, K, _, _, uniform = (np.asarray(x) for x in drawn)
    normal = [a.reshape(1000, -1) for a in (X, heldout, Q, K)]
    flat = uniform.reshape(1000, -1)
    average(flat, 0.5)
    average(flat**2, 1 / 3)
    flat = np.concatenate([*normal, math.sqrt(12) * (flat - 0.5)], axis=1)
    average(np.concatenate(normal, axis=1), 0)
    average(np.concatenate(normal, axis=1) ** 2, 1)
    average(np.concatenate(normal, axis=1) ** 4, 3, 7)
    n = flat.shape[1]
    products = (flat[:, :, None] * flat[:, None, :])[:, ~np.eye(n, dtype=bool)]
    average(products, 0, 6)
