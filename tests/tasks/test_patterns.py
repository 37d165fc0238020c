"""The task of patterns and their majority."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, without_maps

from jaxtheory.core.config import Size
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
