"""Metrics, levels, growth and data of factual_recall in plain NumPy, from their docstrings.

Each prompt is a vector of counts of all tokens, and the layer is the product Phi W E (u c) of whole
matrices. Shares of answers are counted fact by fact.
"""

import math
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from jaxtheory.theories.factual_recall import data
from jaxtheory.theories.factual_recall.model import Config, Params, Scores, Table
from tests.reference.agree import agree, average
from tests.reference.entries import Case

SEED = 5  # of the cases
FILLED = True  # with zeros and NaN beyond the sizes


def shape(config: Any) -> tuple[int, ...]:
    """S, R, D, N, T, n and d."""
    words = "num_subjects num_relations num_answers num_noise length num_draws dimension"
    return tuple(getattr(config, word).n for word in words.split())


def weights(scale: float, seed: int = 0) -> Any:
    """Random parameters."""

    def make(_problem: Any, config: Any) -> Params:
        (S, R, D, N, _, _, d), rng = shape(config), np.random.default_rng(seed)
        u = Scores(*(scale * rng.normal(size=n) for n in (S, R, N)))
        if config.embedding == "random":
            return Params(scale * rng.normal(size=(d, d)), u)
        return Params(Table(*(scale * rng.normal(size=(R, D, n)) for n in (S, R, N))), u)

    return make


def silent(problem: Any, config: Any) -> Params:
    """W = 0: all answers are equally likely, and none has the only largest output."""
    params = weights(1.0, 9)(problem, config)
    return params._replace(W=jax.tree.map(np.zeros_like, params.W))


def nearly_balanced(problem: Any, config: Any) -> Params:
    """u_v^2 = |W_v|^2 + 3 alpha^2 / 2, for onehot embeddings."""
    W, _ = weights(0.3, 10)(problem, config)
    added = 1.5 * float(config.init_scale) ** 2
    return Params(W, Scores(*(np.sqrt((block**2).sum(axis=(0, 1)) + added) for block in W)))


def widen(params: Any, config: Any) -> Params:
    """Zeros beyond the sizes."""
    S, R, D, N = (
        size.cap
        for size in (
            config.num_subjects,
            config.num_relations,
            config.num_answers,
            config.num_noise,
        )
    )
    grown = lambda x, *caps: np.pad(x, [(0, c - n) for c, n in zip(caps, x.shape, strict=True)])
    u = Scores(*(grown(x, n) for x, n in zip(params.u, (S, R, N), strict=True)))
    if config.embedding == "random":
        return Params(grown(params.W, *[config.dimension.cap] * 2), u)
    return Params(Table(*(grown(x, R, D, n) for x, n in zip(params.W, (S, R, N), strict=True))), u)


SMALL = {"num_subjects": 5, "num_relations": 3, "num_answers": 4, "num_noise": 3, "num_draws": 2}
CASES = (
    Case(
        "padded",
        Config(**SMALL, length=5, zipf=0.8, init_scale=0.2),
        (weights(0.9, 1), weights(0.2, 2), silent, nearly_balanced),
        padded=True,
    ),
    Case(
        "random embeddings",
        Config(**SMALL, length=4, dimension=3, embedding="random"),
        (weights(1.0, 3), weights(0.2, 4)),
    ),
    Case(
        "padded random embeddings",
        Config(**SMALL, length=4, dimension=3, embedding="random", zipf=0.3),
        (weights(0.7, 5),),
        padded=True,
    ),
    Case("no noise", Config(**SMALL, length=2, learning_rate=2.0), (weights(2.0, 6),)),
    Case(
        "one of each",
        Config(num_subjects=1, num_relations=1, num_answers=1, num_noise=1, length=3, num_draws=1),
        (weights(1.0, 7),),
    ),
    Case(
        "one answer for each relation",
        Config(num_subjects=4, num_relations=3, num_answers=1, num_noise=2, zipf=1.0),
        (weights(1.0, 8),),
    ),
    Case("many", Config(num_subjects=60, num_relations=8, num_noise=3, num_draws=3)),
)


def shares(config: Any) -> np.ndarray:
    """w_s."""
    powers = [s ** -float(config.zipf) for s in range(1, config.num_subjects.n + 1)]
    return np.array(powers) / math.fsum(powers)


def matrices(params: Any, problem: Any, config: Any) -> tuple[np.ndarray, ...]:
    """Phi, W, E and u."""
    S, R, D, N, _, _, _ = shape(config)
    u = np.concatenate(params.u)
    if config.embedding == "random":
        e = problem.embedding
        return e.answer.reshape(R * D, -1), params.W, np.vstack([*e[:3]]).T, u
    W = np.hstack([block.reshape(R * D, -1) for block in params.W])
    return np.eye(R * D), W, np.eye(S + R + N), u


def prompts(batch: Any, config: Any) -> Iterator[tuple[int, int, float, np.ndarray]]:
    """Subject, relation, weight and counts of all tokens of each prompt."""
    S, R, _, N, _, n, _ = shape(config)
    for s, r, i in np.ndindex(S, R, n):
        c = np.zeros(S + R + N)
        c[s] = c[S + r] = 1
        c[S + R :] = batch.counts[s, r, i]
        yield s, r, shares(config)[s] / (R * n), c


def answered(params: Any, batch: Any, problem: Any, config: Any) -> list[tuple[Any, ...]]:
    """Subject, relation, weight, right answer and the probabilities of answers of each prompt."""
    (Phi, W, E, u), D = matrices(params, problem, config), config.num_answers.n
    rows = []
    for s, r, weight, c in prompts(batch, config):
        f = Phi @ W @ (E @ (u * c))
        p = np.exp(f - f.max())
        rows.append((s, r, weight, r * D + int(batch.answer[s, r]), p / p.sum()))
    return rows


def losses(rows: list[tuple[Any, ...]]) -> tuple[float, float]:
    """The loss and the accuracy."""
    loss = -math.fsum(weight * math.log(p[a]) for _, _, weight, a, p in rows)
    top = [weight for _, _, weight, a, p in rows if all(p[a] > x for x in np.delete(p, a))]
    return loss, math.fsum(top)


def metrics(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    (S, R, D, *_), train = shape(config), answered(params, problem.train, problem, config)
    loss, accuracy = losses(train)
    test_loss, test_accuracy = losses(answered(params, problem.test, problem, config))
    mean = lambda f: math.fsum(row[2] * f(*row) for row in train)
    of_relation = lambda r, p: p[r * D : (r + 1) * D].sum()
    facts = problem.train.answer
    of_subject = lambda s, p: sum(p[k * D + facts[s, k]] for k in range(R))
    right = mean(lambda s, r, w, a, p: p[a])
    relation_mass = mean(lambda s, r, w, a, p: of_relation(r, p))
    return {
        "loss": loss,
        "test_loss": test_loss,
        "accuracy": accuracy,
        "test_accuracy": test_accuracy,
        "relation_mass": relation_mass,
        "subject_mass": mean(lambda s, r, w, a, p: of_subject(s, p)),
        "right": right,
        "hallucination": relation_mass - right,
        "right_given_relation": mean(lambda s, r, w, a, p: p[a] / of_relation(r, p)),
        "recalled": np.array(
            [np.mean([p[a] for k, _, _, a, p in train if k == s]) for s in range(S)]
        ),
        "relation_score": params.u.relation.mean(),
        "subject_score": params.u.subject.mean(),
        "noise_score": params.u.noise.mean(),
        "conserved": conserved(params, problem, config),
    }


def conserved(params: Any, problem: Any, config: Any) -> float:
    _, W, _, u = matrices(params, problem, config)
    if config.embedding == "random":
        one, two = (u**2).sum(), (W**2).sum()
        return float(abs(one - len(u) - two) / (one + two))
    alpha, gaps, sums = float(config.init_scale), [], []
    for score, column in zip(u, W.T, strict=True):
        gaps.append(abs(score**2 - column @ column - alpha**2))
        sums.append(score**2 + column @ column)
    return max(gaps) / max(sums)


def predict(problem: Any, config: Any, steps: np.ndarray) -> dict[str, Any]:
    """Levels of counted shares, and growth by powers."""
    (S, R, D, *_), w, facts = shape(config), shares(config), problem.train.answer
    p = np.zeros((R, D))
    for s in range(S):
        for r in range(R):
            p[r, facts[s, r]] += w[s]
    entropy = -math.fsum(x * math.log(x) for x in p.ravel() if x > 0) / R
    A, rate = R * D, float(config.learning_rate)
    start = float(config.init_scale) * math.sqrt(A + 1)
    of_relations = [math.sqrt(max((p[r] ** 2).sum() - 1 / A, 0)) / R for r in range(R)]
    of_subjects = [x * math.sqrt(1 / R - 1 / A) for x in w]
    grown = lambda drives: np.mean(
        [
            np.minimum(start * ((1 + rate * g) ** steps + (1 - rate * g) ** steps) / 2, 1)
            for g in drives
        ],
        axis=0,
    )
    level = lambda x: np.full(len(steps), x)
    return {
        "loss:uniform": level(math.log(A)),
        "loss:relation": level(entropy),
        "loss:subject": level(math.log(R)),
        "right:relation": level((p**2).sum() / R),
        "relation_score:growth": grown(of_relations),
        "subject_score:growth": grown(of_subjects),
    }


def law(problem: Any, batch: Any, config: Any) -> None:
    """Facts and noise tokens are uniform and independent, and embeddings have variance 1/d."""
    S, R, D, N, T, n, d = shape(config)
    train, test, e = problem
    assert train.answer.min() >= 0 and train.answer.max() < D
    agree(train.answer, test.answer, 0)
    for part in (train, test, batch):
        agree(part.counts.sum(axis=3), np.full((S, R, n), T - 2), 0)
        assert part.counts.min() >= 0 and np.array_equal(part.counts, part.counts.round())
        want = np.broadcast_to(shares(config)[:, None, None] / (R * n), (S, R, n))
        agree(part.weight, want, 1e-13)
    assert all(np.array_equal(a, b) for a, b in zip(batch, train, strict=True))
    for rows, tokens in zip(e[:3], (S, R, N), strict=True):
        assert rows.shape == (tokens, d)
    assert e.answer.shape == (R, D, d)
    if S < 50:
        return
    average(np.eye(D)[train.answer].reshape(-1, D), 1 / D)
    one, two = (np.eye(D)[train.answer[:, r]] - 1 / D for r in (0, 1))
    average(one[:, :, None] * two[:, None, :], 0)
    for part in (train, test):
        average(part.counts.reshape(-1, N), (T - 2) / N)
        average((part.counts.reshape(-1, N) - (T - 2) / N) ** 2, (T - 2) / N * (1 - 1 / N))
    assert not np.array_equal(train.counts, test.counts)
    entries = np.concatenate([x.ravel() for x in e])
    average(entries, 0)
    average(entries**2 * d, 1)
    noise = np.asarray(data.tokens(jax.random.key(SEED), config))
    assert noise.min() >= 0 and noise.max() < N and noise.shape == (S, R, n, T)
