"""What the docstrings of low_rank say of its data, and of many draws."""

import math
from typing import Any

import jax
import numpy as np

from tests.reference import entries
from tests.reference.agree import agree, average


def law(problem: Any, batch: Any, config: Any) -> None:
    M, R, C, d = (
        size.n
        for size in (
            config.num_patterns,
            config.num_relevant_patterns,
            config.num_classes,
            config.dimension,
        )
    )
    patterns(problem.patterns, M, R, d, config)
    counts = (problem.train, config.num_samples.n), (problem.test, config.num_test.n)
    for one, count in counts:
        agree(one.weight, np.full(count, 1 / count), 1e-15)
        for index in range(count):
            sample(one.pattern[index], one.label[index], index, one is problem.train, config)
        noise(one, problem.patterns, config)
    start(problem, config)
    rows = [X.tobytes() for X in problem.train.tokens]
    chosen = [rows.index(X.tobytes()) for X in batch.tokens]
    assert len(set(chosen)) == config.batch_size.n == len(chosen)
    for got, want in zip(batch[:3], problem.train[:3], strict=True):
        agree(got, want[chosen], 0)
    agree(batch.weight, np.full(len(chosen), 1 / len(chosen)), 1e-15)
    if config.num_samples.n > 1000:
        check_frequencies(problem, config, R, C)


def patterns(U: np.ndarray, M: int, R: int, d: int, config: Any) -> None:
    """mu_2 leans to mu_1, each irrelevant mu_j to the relevant mu_(j mod R); all of length 1."""
    c, ov = float(config.coherence), float(config.overlap)
    want = np.eye(M, d) if config.given is None else np.array(config.given)
    want[1] = c * want[0] + math.sqrt(1 - c**2) * want[1]
    for j in range(R, M):
        want[j] = ov * want[j % R] + math.sqrt(1 - ov**2) * want[j]
    agree(U, want, 1e-15)


def sample(pattern: np.ndarray, label: int, index: int, train: bool, config: Any) -> None:
    """The label is the majority of votes, where it is not flipped in training."""
    M, R, C = (
        config.num_patterns.n,
        config.num_relevant_patterns.n,
        config.num_classes.n,
    )
    nrel, nconf, per = (
        size.n for size in (config.num_relevant, config.num_confusion, config.num_irrelevant_each)
    )
    votes = [int(np.sum((pattern < R) & (pattern % C == c))) for c in range(C)]
    majority = [c for c in range(C) if votes[c] == max(votes)]
    allowed = {*majority, *((c + 1) % C for c in majority)}
    assert int(label) in (allowed if train and config.label_noise > 0 else majority)
    if config.counts == "exact":
        shown = majority[0]
        assert sorted(votes, reverse=True)[:2] == [nrel, nconf]
        if config.labels == "balanced":
            assert shown == index % C
        for j in range(R, M):
            assert np.sum(pattern == j) == per
    else:
        assert sum(votes) == nrel + nconf and sum(v > 0 for v in votes) <= 2
        assert np.sum(pattern >= R) == per * (M - R)
        if config.labels == "balanced" and len(majority) > 1:
            assert label == index % C  # a tie goes to the first class
    for c in range(C):
        counts = [int(np.sum(pattern == r)) for r in range(c, R, C)]
        if config.occurrence == "independent":
            assert sum(n > 0 for n in counts) <= 1
        elif config.counts == "exact":
            assert max(counts) - min(counts) <= 1


def noise(one: Any, U: np.ndarray, config: Any) -> None:
    gap = one.tokens - U[one.pattern]
    if config.noise_law == "bounded":
        agree(np.linalg.norm(gap, axis=2), np.full(gap.shape[:2], float(config.noise)), 1e-13)
    if config.noise_law == "unit":
        agree(np.linalg.norm(one.tokens, axis=2), np.ones(gap.shape[:2]), 1e-14)


def start(problem: Any, config: Any) -> None:
    """Signs +-1; the identity for one head, else a rotation."""
    d, m, L = config.dimension.n, config.num_neurons.n, problem.train.tokens.shape[1]
    outputs = config.num_classes.n if config.task == "multiclass" else 1
    assert problem.signs.shape == (outputs, m, L if config.output == "per_token" else 1)
    assert set(np.unique(problem.signs)) <= {-1.0, 1.0}
    agree(problem.basis @ problem.basis.T, np.eye(d), 1e-13)
    if config.num_heads == 1:
        agree(problem.basis, np.eye(d), 0)
    assert problem.shuffle.min() >= 0 and problem.shuffle.max() < 1


def check_frequencies(problem: Any, config: Any, R: int, C: int) -> None:
    """Frequencies of labels, patterns and places, moments of the noise, laws over keys."""
    M, d = config.num_patterns.n, config.dimension.n
    nrel, nconf = config.num_relevant.n, config.num_confusion.n
    first = []
    for one in (problem.train, problem.test):
        votes = np.stack(
            [((one.pattern < R) & (one.pattern % C == c)).sum(axis=1) for c in range(C)], axis=1
        )
        label = votes.argmax(axis=1)
        first.append(label)
        if config.labels == "random" and config.counts == "exact":
            average(label[:, None] == np.arange(C), 1 / C)
        if config.counts == "exact":
            rivals = np.array([np.delete(v, y) for v, y in zip(votes > 0, label, strict=True)])
            average(rivals, 1 / (C - 1) if nconf else 0.0)
            on = (one.pattern < R) & (one.pattern % C == label[:, None])
            average(on, nrel / one.pattern.shape[1])
        else:
            # labels are one of two classes, of which the first is drawn uniformly
            n = nrel + nconf
            shares = [math.comb(n, b) * nrel**b * nconf ** (n - b) / n**n for b in range(n + 1)]
            for b in range(n + 1):
                of_first = sum(shares[k] for k in (b, n - b)) if 2 * b != n else shares[b]
                average(votes.max(axis=1) == max(b, n - b), of_first)
            average((one.pattern[:, :, None] == np.arange(R, M)).sum(axis=1), per(config))
            if config.labels == "random":
                average(label[:, None] == np.arange(C), 1 / C)
        if config.occurrence == "independent":
            for c in range(C):
                members = np.arange(c, R, C)
                shown = (one.pattern[:, :, None] == members).any(axis=1)
                average(shown[label == c], 1 / len(members))
                some = shown[(label != c) & (votes[:, c] > 0)]
                average(some, 1 / len(members))
        gap = one.tokens - problem.patterns[one.pattern]
        sigma = float(config.noise)
        if config.noise_law != "unit":
            average(gap, 0)
            average(gap**2, sigma**2 / (d if config.noise_law == "bounded" else 1))
            average(gap[:, :, 0] * gap[:, :, 1], 0)
            average(gap[:, 0] * gap[:, 1], 0)
        if config.noise_law == "gaussian":
            average(gap**4, 3 * sigma**4, 6)
        if config.noise_law == "unit":
            rng = np.random.default_rng(0)
            z = np.eye(d)[0] + sigma * rng.normal(size=(200_000, d))
            mean = (z[:, 0] / np.linalg.norm(z, axis=1)).mean()
            projections = (one.tokens * problem.patterns[one.pattern]).sum(axis=2)
            average(projections, mean, 6)
    flipped = problem.train.label != first[0]
    if config.counts == "exact":
        average(flipped, float(config.label_noise))
        assert np.all(problem.train.label[flipped] == (first[0][flipped] + 1) % C)
    n = min(len(one) for one in first)
    gaps = [one.tokens[:n] - problem.patterns[one.pattern[:n]] for one in problem[:2]]
    average(
        gaps[0] * gaps[1], 0 if config.noise_law != "unit" else (gaps[0].mean() * gaps[1].mean()), 6
    )
    keys(config, d)


def per(config: Any) -> float:
    return config.num_irrelevant_each.n


def keys(config: Any, d: int) -> None:
    """Signs, normal draws, the basis, the order of neurons and the batch over 500 keys."""
    small = config.replace(num_samples=7, num_test=1, batch_size=3)

    def draw(key: jax.Array) -> tuple[Any, ...]:
        problem = entries.slot("low_rank", "problem")(key, small)
        batch = entries.slot("low_rank", "sample")(key, problem, small)
        same = (batch.tokens[:, None] == problem.train.tokens[None]).all(axis=(2, 3))
        return problem.signs, problem.normal, problem.basis, problem.shuffle, same

    drawn = jax.vmap(draw)(jax.random.split(jax.random.key(1), 500))
    signs, normal, basis, shuffle, chosen = (np.asarray(x, float) for x in drawn)
    average(signs, 0)
    flat = [x.reshape(500, -1) for x in (signs, normal)]
    for x in flat:
        for i in range(x.shape[1]):
            average(x[:, i : i + 1] * x[:, :i], np.zeros(i))
    average(normal, 0)
    average(normal**2, 1)
    average(normal**4, 3, 6)
    if config.num_heads > 1:
        average(basis, 0)
        average(basis**2, 1 / d)
    average(shuffle, 0.5)
    average(shuffle**2, 1 / 3)
    average(shuffle[:, 0] * shuffle[:, 1], 0.25)
    average(chosen.sum(axis=1), 3 / 7)
    average(chosen, 1 / 7)
