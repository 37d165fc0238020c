"""The task of patterns and their majority."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, without_maps

from jaxtheory.core.config import Size
from jaxtheory.ops.draws import run_key
from jaxtheory.tasks import patterns


def test_the_network_sees_the_tokens():
    case = Made("low_rank")
    np.testing.assert_array_equal(case.inputs(), case.batch.tokens)


@pytest.mark.parametrize("settings", [{}, {"task": "multiclass", "C": 3, "R": 3}], ids=str)
def test_the_loss_is_the_hinge_at_the_last_position(settings):
    case = Made("low_rank", seed=1, **settings)
    F, label = np.asarray(case.outputs())[:, -1], np.asarray(case.batch.label)
    if settings:
        own = F[np.arange(8), label]
        rival = np.where(np.arange(3)[None, :] == label[:, None], -np.inf, F).max(axis=1)
        margin = own - rival
    else:
        margin = np.where(label == 0, 1, -1) * F[:, 0]
    np.testing.assert_allclose(case.loss(), np.mean(np.maximum(0, 1 - margin)), rtol=1e-12)


def counting(task):
    """Replace each token by its nearest pattern and count the two classes."""
    U = np.asarray(task.problem.patterns)

    def outputs(batch):
        distance = np.linalg.norm(np.asarray(batch.tokens)[:, :, None] - U, axis=3)
        nearest = np.argmin(distance, axis=2)
        F = 1.0 * np.sign((nearest == 0).sum(axis=1) - (nearest == 1).sum(axis=1))
        return jnp.broadcast_to(jnp.asarray(F)[:, None, None], (*nearest.shape, 1))

    return outputs


@pytest.mark.parametrize(
    "settings",
    [{}, {"sigma": 0.0}, {"law": "bounded", "sigma": 0.5}, {"counts": "random"}],
    ids=str,
)
def test_counting_reaches_the_optimum(settings):
    case = Made("low_rank", seed=2, nrel=8, nconf=3, **settings)  # 11 votes: no ties
    best, metrics = case.optimal(), case.metrics(counting(case))
    np.testing.assert_allclose(best["loss"], 0, atol=1e-6)
    np.testing.assert_allclose(best["accuracy"], 1, atol=1e-6)
    assert metrics["accuracy"] == pytest.approx(1)
    assert metrics["loss"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("law", ["gaussian", "bounded"])
def test_the_optimum_under_strong_noise_is_not_known(law):
    case = Made("low_rank", sigma=0.8, law=law)
    assert np.isnan(case.optimal()["loss"]) and np.isnan(case.optimal()["accuracy"])


@pytest.mark.parametrize("nrel", [2, 3, 4])
def test_ties_of_random_counts_are_those_enumerated(nrel):
    """Over all votes of a class a and a class b, given counts: the label is a where a has more, and
    the first kind at a tie, which is a or b alike. The hinge loss is least over F in [-2, 2].
    """
    nconf = 4 - nrel if nrel < 4 else 2
    if nconf >= nrel:
        nrel, nconf = nrel + 1, nrel - 1
    n = nrel + nconf
    q, law = nrel / n, {}
    for first in ("a", "b"):
        for votes in itertools.product((True, False), repeat=n):
            chance = np.prod([q if v else 1 - q for v in votes]) / 2
            opposite = "b" if first == "a" else "a"
            label = first if 2 * sum(votes) >= n else opposite
            count = sum(votes) if first == "a" else n - sum(votes)
            law.setdefault(count, {"a": 0.0, "b": 0.0})[label] += chance
    F = np.linspace(-2, 2, 401)
    hinge = sum(
        np.min(chances["a"] * np.maximum(0, 1 - F) + chances["b"] * np.maximum(0, 1 + F))
        for chances in law.values()
    )
    right = sum(max(chances.values()) for chances in law.values())
    case = Made("low_rank", nrel=nrel, nconf=nconf, counts="random", sigma=0.0)
    best = case.optimal()
    np.testing.assert_allclose(best["loss"], hinge, rtol=1e-11)
    np.testing.assert_allclose(best["accuracy"], right, rtol=1e-11)


def test_the_bound_on_mistaken_tokens_covers_those_drawn():
    case = Made("low_rank", seed=3, sigma=0.25, N=400, Nt=300)
    U, test = np.asarray(case.problem.patterns), case.problem.test
    nearest = np.argmin(np.linalg.norm(np.asarray(test.tokens)[:, :, None] - U, axis=3), axis=2)
    drawn = np.mean(np.any(nearest != np.asarray(test.pattern), axis=1))
    bound = float(patterns.mistaken(case.problem, case.config))
    assert 0 < drawn <= bound <= 1


def test_attention_to_the_labels_tokens_is_seen():
    case = Made("low_rank", seed=4)

    def right(batch):
        own = (batch.pattern == batch.label[:, None]).astype(float)
        own = own / jnp.sum(own, axis=1, keepdims=True)
        return jnp.broadcast_to(own[:, None, None, :], (len(own), 2, 30, 30))[None]

    assert case.metrics(maps=right)["relevant_attention"] == pytest.approx(1)
    even = lambda batch: jnp.full((1, 30, 1, 30, 30), 1 / 30)
    assert case.metrics(maps=even)["relevant_attention"] == pytest.approx(9 / 30)
    assert np.isnan(case.metrics(maps=without_maps)["relevant_attention"])


def test_padded_samples_and_tokens_count_for_nothing():
    plain = Made("low_rank")
    padded = Made("low_rank", nrel=Size(12, 9), Nt=Size(33, 30))
    L = padded.problem.test.tokens.shape[1]
    fill = lambda batch: jnp.pad(
        plain.outputs(plain.problem.test), ((0, 3), (0, L - 30), (0, 0)), constant_values=4.0
    )
    big = lambda batch: jnp.pad(
        plain.maps(plain.problem.test), ((0, 0), (0, 3), (0, 0), (0, L - 30), (0, L - 30))
    )
    padded.problem = padded.problem._replace(
        test=plain.problem.test._replace(
            tokens=jnp.pad(plain.problem.test.tokens, ((0, 3), (0, L - 30), (0, 0))),
            label=jnp.pad(plain.problem.test.label, (0, 3)),
            pattern=jnp.pad(plain.problem.test.pattern, ((0, 3), (0, L - 30))),
            weight=jnp.pad(plain.problem.test.weight, (0, 3)),
        )
    )
    metrics = padded.metrics(fill, big)
    for name, value in plain.metrics().items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-12, err_msg=name)


def loss_without(case, information):
    best = jax.jit(case.task.optimal_without, static_argnums=0)
    return float(best(information, case.problem, case.config))


def drawn_anew(case, seed=0):
    """A new batch, of the type and shapes of the training batch."""
    batch = jax.jit(case.task.fresh)(run_key(5, seed), case.problem, case.config)
    like = lambda x: (x.shape, x.dtype)
    assert jax.tree.map(like, batch) == jax.tree.map(like, case.batch)
    return batch


@pytest.mark.parametrize(
    "settings",
    [{"flip": 0.2}, {"task": "multiclass", "C": 3, "R": 4, "sigma": 0.0}],
    ids=str,
)
def test_new_samples_have_the_law_of_the_old_ones(settings):
    case = Made("low_rank", seed=5, N=600, B=600, **settings)
    C, R, U = settings.get("C", 2), settings.get("R", 2), np.asarray(case.problem.patterns)
    sigma, flip = settings.get("sigma", 0.1), settings.get("flip", 0.0)
    batch, second = drawn_anew(case), drawn_anew(case, seed=1)
    for part in (case.batch, batch, second):
        pattern, label, tokens = map(np.asarray, (part.pattern, part.label, part.tokens))
        voting = np.where(pattern < R, pattern % C, -1)
        counts = np.array([(voting == c).sum(axis=1) for c in range(C)])
        np.testing.assert_array_equal(np.sort(counts, axis=0)[-2:].T, [[3, 9]] * 600)
        kind = counts.argmax(axis=0)
        np.testing.assert_array_equal(np.bincount(kind), [600 // C] * C)  # in turn
        flipped = (kind + 1) % C == label
        np.testing.assert_array_equal(flipped, kind != label)
        assert abs(flipped.mean() - flip) <= 4 * np.sqrt(flip * (1 - flip) / 600)
        noise = tokens - U[pattern]
        assert abs(noise.mean()) <= 4 * sigma / np.sqrt(noise.size)
        assert abs(noise.var() - sigma**2) <= 4 * sigma**2 * np.sqrt(2 / noise.size)
    assert np.any(batch.pattern != second.pattern) and np.any(batch.label != second.label)
    np.testing.assert_array_equal(batch.weight, case.batch.weight)


@pytest.mark.parametrize("settings", [{}, {"nrel": Size(12, 9)}, {"counts": "random"}], ids=str)
def test_edges_go_to_the_labels_tokens(settings):
    case = Made("low_rank", seed=6, **settings)
    edges = np.asarray(jax.jit(case.task.edges)(case.batch, case.problem, case.config))
    pattern, label, L = np.asarray(case.batch.pattern), case.batch.label, 30
    want = np.zeros(edges.shape, bool)
    for b, query, key in itertools.product(range(8), range(edges.shape[1]), range(L)):
        want[b, query, key] = query != key and pattern[b, key] == label[b]
    np.testing.assert_array_equal(edges, want)


def hinge(F, label):
    """The hinge loss of C outputs, one to a class."""
    return max(0, 1 - F[label] + max(value for k, value in enumerate(F) if k != label))


def least_hinge(C, nrel, nconf, counts):
    """The least loss, over outputs on a grid, given the votes for other classes than the label's;
    from all pairs of classes and all votes.
    """
    n, law = nrel + nconf, {}
    exact = [(True,) * nrel + (False,) * nconf]
    every = itertools.product((True, False), repeat=n)
    for votes in exact if counts == "exact" else list(every):
        chance = 1 if counts == "exact" else np.prod([(nrel if v else nconf) / n for v in votes])
        for first, second in itertools.permutations(range(C), 2):
            label = first if 2 * sum(votes) >= n else second
            cast = [first if v else second for v in votes]
            remaining = tuple(0 if c == label else cast.count(c) for c in range(C))
            posterior = law.setdefault(remaining, np.zeros(C))
            posterior[label] += chance / (C * (C - 1))
    grid = list(itertools.product(np.linspace(-1, 1, 5), repeat=C))
    return sum(min(sum(p[y] * hinge(F, y) for y in range(C)) for F in grid) for p in law.values())


@pytest.mark.parametrize("counts", ["exact", "random"])
@pytest.mark.parametrize(
    ("C", "nrel", "nconf"), [(2, 1, 0), (2, 2, 1), (2, 3, 1), (2, 4, 2), (3, 2, 1), (3, 2, 0)]
)
def test_the_optimum_without_the_labels_tokens_is_that_of_all_votes(C, nrel, nconf, counts):
    classes = {} if C == 2 else {"task": "multiclass", "C": C, "R": C}
    for size in (nrel, Size(6, nrel)):
        case = Made("low_rank", nrel=size, nconf=nconf, counts=counts, sigma=0.0, **classes)
        want = least_hinge(C, nrel, nconf, counts)
        np.testing.assert_allclose(loss_without(case, "tokens"), want, rtol=1e-12, atol=1e-15)
        assert loss_without(case, "prompt") == 1


def test_under_strong_noise_only_a_loss_of_one_is_known():
    assert np.isnan(loss_without(Made("low_rank", sigma=0.8), "tokens"))
    assert loss_without(Made("low_rank", sigma=0.8, nconf=0), "tokens") == 1
    many = Made("low_rank", sigma=0.8, task="multiclass", C=3, R=3)
    assert loss_without(many, "tokens") == 1


@pytest.mark.parametrize("C", [2, 3])
def test_the_best_constant_has_hinge_loss_one(C):
    grid = itertools.product(np.linspace(-1, 1, 9), repeat=C)
    assert min(np.mean([hinge(F, y) for y in range(C)]) for F in grid) == 1
