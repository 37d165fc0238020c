"""Metrics, errors and data of task_diversity in plain NumPy, from their docstrings.

Errors of weights are sums over tasks, with the moments of a prompt written out over pairs of its
examples. The minimum is that of a ridge regression on d (d + 1) features with their whole
covariance; its limit integrates the law of Marchenko and Pastur numerically.
"""

import math
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxtheory.theories.task_diversity import data
from jaxtheory.theories.task_diversity.model import Config, Params
from tests.reference.agree import agree, average
from tests.reference.entries import Case

SEED = 5  # of the cases
FILLED = True  # with zeros and NaN beyond the sizes
NODES = 4000  # of the integrals


def shape(config: Any) -> tuple[int, int, int, int]:
    sizes = (config.dimension, config.length, config.num_prompts, config.num_tasks)
    return tuple(size.n for size in sizes)  # d, l, n, k


def weights(scale: float, seed: int = 0) -> Any:
    """Random weights."""

    def make(_problem: Any, config: Any) -> Params:
        d, rng = config.dimension.n, np.random.default_rng(seed)
        return Params(scale * rng.normal(size=(d, d)), scale * rng.normal(size=d))

    return make


def best_weights(_problem: Any, config: Any) -> Params:
    """The weights with the least error on fresh tasks."""
    d, l, _, _ = shape(config)
    shrink = 1 / (1 + (1 + d * (1 + float(config.noise_variance))) / l)
    return Params(shrink * np.eye(d), np.zeros(d))


CASES = (
    Case(
        "padded",
        Config(dimension=3, length=4, num_prompts=6, num_tasks=2, noise_variance=0.2, ridge=0.1),
        (weights(0.7, 11), weights(0.2, 12)),
        padded=True,
    ),
    Case(
        "fresh tasks, without noise",
        Config(
            dimension=2,
            length=5,
            num_prompts=11,
            num_tasks=3,
            noise_variance=0.0,
            ridge=0.05,
            learning_rate=0.4,
            tasks="fresh",
        ),
        (weights(0.8, 2),),
    ),
    Case("many", Config(dimension=2, length=3, num_prompts=4001, num_tasks=3, noise_variance=0.4)),
    Case(
        "one task without noise, as many prompts as directions",
        Config(dimension=3, length=4, num_prompts=9, num_tasks=1, noise_variance=0.0),
        (weights(0.5, 14),),
    ),
    Case(
        "penalty",
        Config(dimension=3, length=4, num_prompts=7, num_tasks=2, noise_variance=0.2, ridge=0.3),
        (weights(0.7, 1), weights(0.0), best_weights),
    ),
    Case(
        "few prompts, no penalty",
        Config(dimension=3, length=2, num_prompts=5, num_tasks=4, learning_rate=0.2),
        (weights(0.6, 3),),
    ),
    Case(
        "many prompts, no penalty",
        Config(dimension=3, length=6, num_prompts=40, num_tasks=5, noise_variance=0.5),
        (weights(0.6, 4), best_weights),
    ),
    Case(
        "more prompts than entries of Gamma, fewer than weights",
        Config(dimension=3, length=3, num_prompts=10, num_tasks=2, noise_variance=0.1),
        (weights(0.6, 5),),
    ),
    Case(
        "fresh tasks, few prompts",
        Config(dimension=4, length=3, num_prompts=6, tasks="fresh", noise_variance=0.3),
        (weights(0.5, 6),),
    ),
    Case(
        "fresh tasks, many prompts",
        Config(dimension=2, length=3, num_prompts=30, tasks="fresh", noise_variance=0.3),
        (weights(0.5, 7),),
    ),
    Case(
        "one task",
        Config(dimension=3, length=4, num_prompts=20, num_tasks=1, noise_variance=0.1),
        (weights(0.5, 8),),
    ),
    Case(
        "one feature",
        Config(dimension=1, length=1, num_prompts=3, num_tasks=2, noise_variance=0.4),
        (weights(1.0, 9),),
    ),
    Case(
        "as many tasks as features",
        Config(dimension=4, length=8, num_prompts=9, num_tasks=4, noise_variance=0.1),
        (weights(0.4, 10),),
    ),
    Case(  # whose eigenvalue 0 is rounded to 9.2 eps
        "one task without noise, long prompts",
        Config(dimension=8, length=100, num_prompts=66, num_tasks=1, noise_variance=0.0),
        (weights(0.5, 15),),
    ),
    Case(
        "as many prompts as weights",
        Config(dimension=4, length=3, num_prompts=20, num_tasks=3, noise_variance=0.3),
        (weights(0.5, 16),),
    ),
    Case(
        "padded, fresh tasks",
        Config(dimension=2, length=3, num_prompts=5, num_tasks=3, tasks="fresh"),
        (weights(0.7, 13),),
        padded=True,
    ),
    Case("many fresh", Config(dimension=2, length=3, num_prompts=4001, num_tasks=3, tasks="fresh")),
)


def widen(params: Any, config: Any) -> Params:
    """Zeros beyond the sizes."""
    extra = config.dimension.cap - len(params.gamma)
    return Params(*(np.pad(x, (0, extra)) for x in params))


class Moments(NamedTuple):
    """Of a prompt: E h h^T and E w h^T for h = (beta, q), and E y^2."""

    second: np.ndarray
    cross: np.ndarray
    total: float


def of_task(w: np.ndarray, config: Any) -> Moments:
    """For one task, as sums over pairs (i, j) of examples.

    With c = E x y = w / d and s = E y^2: E y_i y_j x_i x_j^T is c c^T for i != j, s I / d + 2 c c^T
    for i = j; E y_i^2 y_j x_j is s c or 3 s c; E y_i^2 y_j^2 is s^2 or 3 s^2.
    """
    d, l, _, _ = shape(config)
    c, s = w / d, w @ w / d + float(config.noise_variance)
    beta, cross, power = np.zeros((d, d)), np.zeros(d), 0.0
    for i in range(l):
        for j in range(l):
            same = i == j
            beta += s * np.eye(d) / d + 2 * np.outer(c, c) if same else np.outer(c, c)
            cross += (3 if same else 1) * s * c
            power += (3 if same else 1) * s**2
    scale = d / l  # of beta; 1 / l of q
    second = np.block(
        [
            [scale**2 * beta, scale / l * cross[:, None]],
            [scale / l * cross[None, :], np.array([[power / l**2]])],
        ]
    )
    mean = np.append(scale * l * c, s)
    return Moments(second, np.outer(w, mean), s)


def mean_of(parts: list[Moments]) -> Moments:
    return Moments(*(np.mean(x, axis=0) for x in zip(*parts, strict=True)))


def fresh(config: Any) -> Moments:
    """Over the sphere: the mean over the axes in both directions, which has its first two moments,
    and everything above is of degree two in w at |w|^2 = d.
    """
    d = config.dimension.n
    return mean_of([of_task(z * w, config) for w in math.sqrt(d) * np.eye(d) for z in (1, -1)])


def of_training(tasks: np.ndarray, config: Any) -> Moments:
    if config.tasks == "fresh":
        return fresh(config)
    return mean_of([of_task(w, config) for w in tasks])


def error(G: np.ndarray, m: Moments, config: Any) -> float:
    """E (y - x^T G h)^2, G = [Gamma, gamma]."""
    d = config.dimension.n
    return float(m.total - 2 * (G * m.cross).sum() / d + np.trace(G @ m.second @ G.T) / d)


def least(config: Any) -> float:
    """For Gamma = c I the error is rho + 1 - 2 c + c^2 a; its least over c."""
    d, l, _, _ = shape(config)
    rho = float(config.noise_variance)
    return rho + 1 - 1 / (1 + 1 / l + d * (1 + rho) / l)


def metrics(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    d, train = config.dimension.n, problem.train
    G = np.hstack([params.Gamma, params.gamma[:, None]])
    icl = error(G, fresh(config), config)
    rests = [
        y - x @ (params.Gamma @ beta + q * params.gamma)
        for beta, q, x, y in zip(train.beta, train.q, train.x, train.y, strict=True)
    ]
    return {
        "icl_error": icl,
        "idg_error": error(G, of_training(problem.tasks, config), config),
        "train_loss": np.mean(np.square(rests)),
        "excess": icl - least(config),
        "diagonal": sum(params.Gamma[i, i] for i in range(d)) / d,
        "norm": (G**2).sum() / d,
    }


def solved(short: Any, floor: float = 1e-16) -> float:
    """The root of a function that falls from above 0 to below 0, by bisection on a log scale."""
    low, high = math.log(floor), math.log(1e16)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if short(math.exp(middle)) > 0 else (low, middle)
    return math.exp((low + high) / 2)


def ridge(tasks: np.ndarray, penalty: float, config: Any) -> tuple[float, float]:
    """The errors (ICL, IDG) of ridge regression on z = x h^T with its covariance Sigma.

    n samples with the penalty n p |theta|^2 shrink as kappa does on the population, where
        n = tr Sigma (Sigma + kappa)^-1 + n p / kappa,
    and theta varies about its mean as if e_IDG were noise. One task without noise has
    q = <w, beta> / d, so that d directions of theta never appear.
    """
    d, _, n, k = shape(config)
    train, test = of_training(tasks, config), fresh(config)
    wide = lambda m: np.kron(np.eye(d) / d, m.second)
    Sigma, p = wide(train), penalty / d
    values, vectors = np.linalg.eigh(Sigma)
    if config.tasks == "finite" and k == 1 and float(config.noise_variance) == 0:
        values, vectors = values[d:], vectors[:, d:]
    if p == 0 and n == len(values):
        return math.inf, math.inf
    target = vectors.T @ train.cross.reshape(-1) / d  # E y z
    kappa = 0.0
    if p > 0 or n < len(values):
        kappa = solved(lambda t: (values / (values + t)).sum() + n * p / t - n)
    theta = (vectors @ (target / (values + kappa))).reshape(d, d + 1)
    in_law = error(theta, train, config) / (1 - ((values / (values + kappa)) ** 2).sum() / n)
    spread = (vectors * values / (values + kappa) ** 2) @ vectors.T
    return error(theta, test, config) + in_law * (spread * wide(test)).sum() / n, in_law


def spread_of(c: float) -> tuple[np.ndarray, np.ndarray]:
    """Values and weights of the law of Marchenko and Pastur with the ratio c = 1 / kappa; r = 1 + c
    - 2 sqrt(c) cos(phi).
    """
    if c == 0:
        return np.ones(1), np.ones(1)
    phi = (np.arange(NODES) + 0.5) * math.pi / NODES
    r = (1 - math.sqrt(c)) ** 2 + 4 * math.sqrt(c) * np.sin(phi / 2) ** 2
    weight = 2 / NODES * np.sin(phi) ** 2 / r
    return np.append(r, 0.0), np.append(weight, max(0.0, 1 - 1 / c))


def limit(config: Any) -> tuple[float, float]:
    """(ICL, IDG) of the same regression for d -> infinity: E h h^T has the eigenvalues r + a, a =
    (1 + rho) d / l, and the share of q vanishes.
    """
    d, l, n, k = shape(config)
    r, weight = spread_of(0 if config.tasks == "fresh" else d / k)
    rho, p, tau = float(config.noise_variance), float(config.ridge), n / d**2
    a, mean = (1 + rho) * d / l, lambda x: float((weight * x).sum())
    if p == 0 and tau == 1:
        return math.inf, math.inf
    nu = 0.0
    if p > 0 or tau < 1:
        nu = solved(lambda t: mean((r + a) / (r + a + t)) + tau * p / t - tau)
    g = r / (r + a + nu)  # of Gamma
    one = rho + mean(r - 2 * r * g + (r + a) * g**2)
    idg = one / (1 - mean(((r + a) / (r + a + nu)) ** 2) / tau)
    vary = mean((r + a) * (1 + a) / (r + a + nu) ** 2) / tau
    return rho + mean(1 - 2 * g + (1 + a) * g**2) + idg * vary, idg


def bayes(config: Any) -> float:
    """The posterior mean of w ~ N(0, I) has the covariance (I + X^T X / rho)^-1; X^T X has the
    eigenvalues l/d times those of Marchenko and Pastur for l vectors.
    """
    d, l, _, _ = shape(config)
    rho, (r, weight) = float(config.noise_variance), spread_of(d / l)
    if rho == 0:
        return max(0.0, 1 - l / d)
    return rho + float((weight / (1 + r * l / (d * rho))).sum())


def published(config: Any) -> float:
    """Result 1 of the source, with its M_kappa."""
    d, l, n, k = shape(config)
    rho, tau, x = float(config.noise_variance), n / d**2, (1 + float(config.noise_variance)) * d / l
    inverse = 0.0 if config.tasks == "fresh" else d / k  # of kappa

    def M(inverse: float) -> float:
        b = x + 1 - inverse
        return 2 / (b + math.sqrt(b**2 + 4 * x * inverse))

    if tau < 1:
        mu = x * M(tau * inverse)
        inner = 1 - tau * (1 - mu) ** 2 - mu * (x - rho) / x
        return tau * (1 + x) / (1 - tau) * inner - 2 * tau * (1 - mu) + rho + 1
    if tau == 1:
        return math.inf
    m = M(inverse)
    star = 1 / (1 - inverse * (m / (1 + inverse * m)) ** 2)
    over = 1 / (tau - 1)
    first = (star - over) * (1 + x) * (x * m) ** 2 + (3 - 2 * tau) * over * m * x**2
    return first + ((1 + rho) * m * over + 1) * x + rho * m * over + rho


def predict(problem: Any, config: Any, steps: np.ndarray) -> dict[str, Any]:
    p, d = float(config.ridge), config.dimension.n
    icl, idg = ridge(problem.tasks, p, config)
    far, inside = limit(config)
    nothing = 1 + float(config.noise_variance)  # of zero weights
    rate = 2 * float(config.learning_rate)
    stopped = [
        ridge(problem.tasks, p + d / (rate * t), config) if t else (nothing, nothing) for t in steps
    ]
    level = lambda value: np.full(len(steps), value)
    return {
        "icl_error:published": level(published(config)),
        "icl_error:limit": level(far),
        "icl_error:equivalent": level(icl),
        "icl_error:stopped": np.array([x for x, _ in stopped]),
        "icl_error:best": level(least(config)),
        "icl_error:bayes": level(bayes(config)),
        "idg_error:limit": level(inside),
        "idg_error:equivalent": level(idg),
        "idg_error:stopped": np.array([x for _, x in stopped]),
    }


def law(problem: Any, batch: Any, config: Any) -> None:
    """The batch is the training set; tasks lie on the sphere, tokens are summed as written, labels
    without noise are linear, and many prompts have the moments of their law.
    """
    d, l, n, k = shape(config)
    rho = float(config.noise_variance)
    for got, want in zip(batch, problem.train, strict=True):
        agree(got, want, 0)
    prompts, tasks = jax.tree.map(np.asarray, data.raw(jax.random.key(SEED), config))
    x, y, query, label = prompts
    agree(tasks, problem.tasks, 0)
    assert tasks.shape == (k, d) and x.shape == (n, l, d)
    agree((tasks**2).sum(axis=1), np.full(k, d), 1e-6)
    agree(
        batch.beta,
        [d / l * sum(b * a for a, b in zip(*p, strict=True)) for p in zip(x, y, strict=True)],
        1e-6,
    )
    agree(batch.q, [(row @ row) / l for row in y], 1e-6)
    for got, want in ((batch.x, query), (batch.y, label), (batch.weight, np.full(n, 1 / n))):
        agree(got, want, 1e-12)
    if rho == 0 and l >= d:
        w = np.array([np.linalg.lstsq(a, b, rcond=None)[0] for a, b in zip(x, y, strict=True)])
        agree((w * query).sum(axis=1), label, 1e-5)
        agree((w**2).sum(axis=1), np.full(n, d), 1e-5)
    if n < 1000:
        return
    average(x, 0)
    average(x[:, :, :, None] * x[:, :, None, :], np.eye(d) / d)
    average(x[:, 0, :, None] * x[:, 1, None, :], 0)
    average(query[:, :, None] * query[:, None, :], np.eye(d) / d)
    average(query[:, :, None] * x[:, 0, None, :], 0)
    average(y, 0)
    average(y**2, 1 + rho)
    average(label, 0)
    average(label**2, 1 + rho)
    m = of_training(tasks, config)
    h = np.hstack([batch.beta, batch.q[:, None]])
    average(h[:, :, None] * h[:, None, :], m.second)
    average(d * (label[:, None] * query)[:, :, None] * h[:, None, :], m.cross)
    if config.tasks == "fresh":
        average((label[:, None] * query) ** 2, label_moments(d, rho))


def label_moments(d: int, rho: float) -> float:
    """E (y x_1)^2 = rho / d + E <w, x>^2 x_1^2 = rho / d + (1 + 2 / d) / d over the sphere."""
    return rho / d + (1 + 2 / d) / d
