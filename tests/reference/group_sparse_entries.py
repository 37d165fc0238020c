"""Metrics, curves and data of group_sparse in plain NumPy, from their docstrings.

The six-number form is a linear space of matrices: the share of |W|^2 outside it is the residual of
least squares. The selected run integrates over |u| by Gauss-Legendre on equal pieces.
"""

import math
from typing import Any

import jax
import numpy as np

from jaxtheory.theories.group_sparse.model import Config, Linear, Params, Tuned
from tests.reference import entries
from tests.reference import group_sparse_numpy as gs
from tests.reference.agree import agree, average
from tests.reference.entries import Case


def layer(scale: float, seed: int) -> Any:
    def make(problem: Any, config: Any) -> Params:
        d, D, rng = config.group_dim.n, config.num_groups.n, np.random.default_rng(seed)
        shapes = ((d,), (D,), (d, d), (d, D), (D, d), (D, D))
        return Params(*(scale * rng.normal(size=shape) for shape in shapes))

    return make


def tuned(scale: float, seed: int) -> Any:
    return lambda problem, config: Tuned(layer(scale, seed)(problem, config))


def linear(scale: float, seed: int) -> Any:
    """beta, with a group that has more of sum |beta| and another with more of |sum beta|."""

    def make(problem: Any, config: Any) -> Linear:
        shape = config.group_dim.n, config.num_groups.n
        return Linear(scale * np.random.default_rng(seed).normal(size=shape))

    return make


def make(d: int, D: int, n: int, group: int, **fields: Any) -> Config:
    fields = {"downstream_samples": 7} | fields
    return Config(group_dim=d, num_groups=D, num_samples=n, relevant_group=group, **fields)


CASES = (
    Case(
        "wide",
        make(3, 5, 8, 2, learning_rate=0.3),
        (layer(0.4, 0), layer(0.0, 0), tuned(0.4, 1), linear(0.5, 2), linear(0.0, 2)),
    ),
    Case(
        "two groups",
        make(2, 2, 3, 1, noise_scale=3.0, features="uniform", margin=0.5),
        (layer(0.3, 3), tuned(0.2, 4), linear(0.2, 5)),
    ),
    Case(
        "partition",
        make(
            3,
            3,
            5,
            3,
            features="rademacher",
            noise_scale=0.6,
            partition=((4, 0, 8), (1, 7, 5), (6, 3, 2)),
            margin=0.0,
        ),
        (layer(2.0, 6), tuned(1.0, 7)),
    ),
    Case("padded", make(2, 3, 4, 2, noise_scale=0.7), (layer(0.5, 8), linear(0.3, 9)), padded=True),
    Case("many gaussian", make(2, 3, 1501, 2, downstream_samples=1301)),
    Case("many uniform", make(3, 2, 1501, 1, downstream_samples=1301, features="uniform")),
    Case(
        "many signs",
        make(2, 3, 1501, 3, downstream_samples=1301, features="rademacher", noise_scale=0.5),
    ),
)


def widen(params: Any, config: Any) -> Any:
    """Zeros beyond the sizes."""
    d, D = config.group_dim.cap, config.num_groups.cap
    if isinstance(params, Linear):
        return Linear(padded(params.beta, d, D))
    shapes = ((d,), (D,), (d, d), (d, D), (D, d), (D, D))
    return Params(*(padded(x, *shape) for x, shape in zip(params, shapes, strict=True)))


def padded(x: np.ndarray, *shape: int) -> np.ndarray:
    return np.pad(x, [(0, cap - n) for cap, n in zip(shape, x.shape, strict=True)])


def samples(batch: Any) -> list[gs.Sample]:
    return [(batch.x[:, :, i], float(batch.y[i])) for i in range(len(batch.y))]


def metrics(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    D, star = config.num_groups.n, int(config.relevant_group) - 1
    train, test, truth = samples(problem.train), samples(problem.test), problem.truth
    if not isinstance(params, Params):  # the downstream task, with its margin
        truth = problem.downstream_truth
        train, test = (
            [gs.with_margin(sample, truth, float(config.margin), star) for sample in samples(batch)]
            for batch in (problem.downstream, problem.downstream_test)
        )
    if isinstance(params, Linear):
        beta, zero = params.beta, 0.0
        output = lambda X: float((beta * X).sum())
        total = (beta**2).sum()
        share = (beta[:, star] ** 2).sum() / total if total > 0 else 1 / D
        attention = lambda X: np.full(D, share)
        v, own, off = beta.ravel(), beta[:, star], (zero, zero, zero)
    else:
        one = params.layer if isinstance(params, Tuned) else params
        v = np.concatenate([one.v1, one.v2])
        W = np.block([[one.W11, one.W12], [one.W21, one.W22]])
        output = lambda X: gs.output(v, W, X)
        attention = lambda X: gs.attention(W, X)[star]
        own, off = one.v1, structure(W, problem.truth, D, star)
    loss = lambda data: np.mean([np.logaddexp(0, -y * output(X)) for X, y in data])
    S = np.array([attention(X) for X, _ in test])
    norm = math.sqrt((own**2).sum())
    return {
        "loss": loss(train),
        "test_loss": loss(test),
        "accuracy": np.mean([(1 if output(X) >= 0 else -1) == y for X, y in test]),
        "value_norm": norm,
        "value_cosine": own @ truth / norm if norm else 0.0,
        "value_norm_ratio": norm / math.sqrt((v**2).sum()) if np.any(v) else 0.0,
        "relevant_attention": S.mean(),
        "relevant_attention_min": np.mean([min(row) for row in S]),
        "relevant_attention_worst": S.min(),
        "fit_attention": np.mean([attention(X).mean() for X, _ in train]),
        "feature_attention": off[0],
        "feature_attention_rest": off[1],
        "off_structure": off[2],
    }


def structure(W: np.ndarray, v: np.ndarray, D: int, star: int) -> tuple[float, float, float]:
    """v*^T W11 v*, the mean of W11 over an orthonormal basis of the rest, and the residual of W in
    the space of the form, over |W|^2.
    """
    d = len(v)
    complement = np.linalg.svd(v[None])[2][1:]  # rows orthogonal to v*
    basis = []
    for block in (np.outer(v, v), np.eye(d) - np.outer(v, v)):
        basis.append(np.pad(block, ((0, D), (0, D))))
    P, other_groups = gs.encodings(D), [j for j in range(D) if j != star]
    for A in columns(D, star, other_groups):
        basis.append(np.pad(P @ A @ P.T, ((d, 0), (d, 0))))
    form = np.array([b.ravel() for b in basis]).T
    numbers = np.linalg.lstsq(form, W.ravel(), rcond=None)[0]
    total = (W**2).sum()
    residual = ((W.ravel() - form @ numbers) ** 2).sum()
    return (
        float(v @ W[:d, :d] @ v),
        float(np.mean([r @ W[:d, :d] @ r for r in complement])),
        float(residual / total) if total else 0.0,
    )


def columns(D: int, star: int, distractors: list[int]) -> list[np.ndarray]:
    """A basis of the matrices that are constant on the five classes, with columns of sum 0."""
    selected = np.zeros((D, D))
    selected[star, star], selected[distractors, star] = 1, -1 / (D - 1)
    if D == 2:
        pull = np.zeros((D, D))
        pull[star, distractors], pull[distractors, distractors] = 1, -1
        return [selected, pull]
    pull, own = np.zeros((D, D)), np.zeros((D, D))
    for j in distractors:
        pull[star, j], own[j, j] = 1, 1
        for k in distractors:
            if k != j:
                pull[k, j] = own[k, j] = -1 / (D - 2)
    return [selected, pull, own]


def predict(problem: Any, config: Any, steps: np.ndarray) -> dict[str, Any]:
    D, sigma, eta = config.num_groups.n, float(config.noise_scale), float(config.learning_rate)
    rate = 2 / math.sqrt(2 * math.pi) * math.pi**2 / 12
    x, weight = np.polynomial.legendre.leggauss(20)
    ends = np.linspace(0, 10, 201)
    z = (ends[:-1, None] + (x + 1) / 2 * 0.05).ravel()
    weight = np.tile(weight / 2 * 0.05, 200) * 2 * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    c, run = 0.0, []
    for _ in range(int(max(steps)) + 1):
        margin = D * c * sigma * z
        run.append((c, (weight * np.log1p(np.exp(-margin))).sum()))
        c += eta * (weight * D * sigma * z / (1 + np.exp(margin))).sum()
    after = [t if t > 0 else math.nan for t in steps]
    return {
        "loss:rate": np.array(
            [(rate / (D * sigma)) ** (2 / 3) / (3 * eta * t) ** (1 / 3) for t in after]
        ),
        "loss:selected": np.array([run[t][1] for t in steps]),
        "value_norm:rate": np.array([(3 * eta * rate * t / (D * sigma)) ** (1 / 3) for t in after]),
        "value_norm:selected": np.array([run[t][0] for t in steps]),
    }


# Draws


def law(problem: Any, batch: Any, config: Any) -> None:
    d, D, star = config.group_dim.n, config.num_groups.n, int(config.relevant_group) - 1
    sigma = float(config.noise_scale)
    sets = (
        (problem.train, config.num_samples.n, problem.truth, "gaussian"),
        (problem.test, 1000, problem.truth, "gaussian"),
        (
            problem.downstream,
            config.downstream_samples.n,
            problem.downstream_truth,
            config.features,
        ),
        (problem.downstream_test, 1000, problem.downstream_truth, config.features),
    )
    for one, count, v, features in sets:
        assert one.x.shape == (d, D, count)
        agree((v**2).sum(), 1, 1e-14)
        agree(one.weight, np.full(count, 1 / count), 1e-15)
        u = np.array([v @ one.x[:, star, i] for i in range(count)])
        assert one.y.tolist() == np.where(u >= 0, 1.0, -1.0).tolist()
        if features == "rademacher":
            agree(abs(one.x), np.full(one.x.shape, sigma), 1e-15)
        if features == "uniform":
            assert abs(one.x).max() <= math.sqrt(3) * sigma
    for got, want in zip(batch, problem.train, strict=True):
        agree(got, want, 0)
    if config.partition != "contiguous":
        plain = entries.draw("group_sparse", config.replace(partition="contiguous"), 5)
        for one, original in zip(problem[:4], plain[:4], strict=True):
            flat = np.asarray(original.x).transpose(1, 0, 2).reshape(d * D, -1)
            for j, group in enumerate(config.partition):
                agree(one.x[:, j], flat[list(group)], 0)
    if config.num_samples.n > 1000:
        check_moments(sets, sigma, d * D)
        directions(config)


def check_moments(sets: Any, sigma: float, size: int) -> None:
    """Moments of independent features of variance sigma^2, and independent sets."""
    fourth = {"gaussian": 3, "uniform": 1.8, "rademacher": 1}
    flat = [one.x.transpose(2, 0, 1).reshape(-1, size) / sigma for one, *_ in sets]
    for x, (*_, features) in zip(flat, sets, strict=True):
        average(x, 0)
        average(x**2, 1)
        average(x**4, fourth[features])
        for i in range(size):
            for j in range(i):
                average(x[:, i] * x[:, j], 0)
    for i in range(4):
        for j in range(i):
            average(flat[i][:1000] * flat[j][:1000], 0)


def directions(config: Any) -> None:
    """Both directions are uniform and independent."""
    d, small = config.group_dim.n, config.replace(num_samples=1, downstream_samples=1)
    draw = lambda key: entries.slot("group_sparse", "problem")(key, small)[4:]
    v, w = (np.asarray(x) for x in jax.vmap(draw)(jax.random.split(jax.random.key(1), 300)))
    for vectors in (v, w):
        average(vectors, 0)
        average(vectors**2, 1 / d)
        average(vectors[:, 0] * vectors[:, 1], 0)
    average(v * w, 0)
