"""The task of factual recall."""

import itertools
import math
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, one_hot_maps, without_maps

from jaxtheory.core.config import Size
from jaxtheory.ops.draws import run_key
from jaxtheory.theories import factual_recall as theory

NAME = "factual_recall"
S, R, D, N, T, n = 3, 2, 3, 4, 5, 2  # of the small config
DEGENERATE = ({"S": 1}, {"R": 1}, {"D": 1}, {"N": 1}, {"T": 2}, {"zeta": 1.5}, {"n": 1})


def read(tokens):
    """Subject, relation and counts of the noise of a prompt, from its tokens alone."""
    *words, end = map(int, tokens)
    assert end == S + R + N
    (s,) = (v for v in words if v < S)
    (r,) = (v - S for v in words if S <= v < S + R)
    noise = Counter(v - S - R for v in words if v >= S + R)
    return s, r, [noise[v] for v in range(N)]


def logits_of(case, answer):
    """Outputs that are 5 before the end and log answer(prompt, row) there."""

    def outputs(batch):
        rows = [answer(x, i) for i, x in enumerate(np.asarray(batch.tokens))]
        f = np.full((len(rows), batch.tokens.shape[1], len(rows[0])), 5.0)
        f[:, -1] = np.log(np.maximum(rows, 1e-300))
        return jnp.asarray(f)

    return outputs


def fact(case, tokens):
    """The right answer of a prompt."""
    s, r, _ = read(tokens)
    return r * D + int(case.problem.facts.answer[s, r])


def drawn_anew(case, seed=0):
    """A new batch, of the type and shapes of the training batch."""
    batch = jax.jit(case.task.fresh)(run_key(5, seed), case.problem, case.config)
    like = lambda x: (x.shape, x.dtype)
    assert jax.tree.map(like, batch) == jax.tree.map(like, case.batch)
    return batch


def test_prompts_are_those_of_the_theory():
    """Each fact has as many prompts, with the theory's counts of noise."""
    case = Made(NAME)
    config = theory.Config(**{x: getattr(case.config, x) for x in theory.Config.__annotations__})
    want = theory.problem(run_key(0, 0), config)
    for batch, part in ((case.problem.train, want.train), (case.problem.test, want.test)):
        assert batch.tokens.shape == (S * R * n, T + 1)
        places = list(np.ndindex(S, R, n))
        for (s, r, i), row, tokens in zip(places, range(S * R * n), batch.tokens, strict=True):
            assert read(tokens) == (s, r, part.counts[s, r, i].tolist())
            assert batch.answer[row] == r * D + part.answer[s, r] == fact(case, tokens)
            assert batch.tokens[row, batch.subject[row]] == s
            assert batch.tokens[row, batch.relation[row]] == S + r
            assert batch.weight[row] == pytest.approx(part.weight[s, r, i])


@pytest.mark.parametrize("kind", ["subject", "relation"])
def test_tokens_stand_in_any_order(kind):
    case = Made(NAME, n=400)
    for batch in (case.problem.train, case.problem.test, drawn_anew(case)):
        places = np.eye(T)[np.asarray(getattr(batch, kind))]
        error = np.sqrt((1 / T) * (1 - 1 / T) / len(places))
        assert np.all(abs(places.mean(axis=0) - 1 / T) < 4 * error)


def test_new_prompts_have_the_same_facts_and_other_noise():
    case = Made(NAME, seed=1, n=200)
    one, second = drawn_anew(case), drawn_anew(case, seed=1)
    for batch in (one, second):
        np.testing.assert_array_equal(batch.answer, case.batch.answer)
        np.testing.assert_array_equal(batch.weight, case.batch.weight)
        counts = np.array([read(x)[2] for x in batch.tokens])
        mean, error = (T - 2) / N, np.sqrt((T - 2) / N * (1 - 1 / N) / len(counts))
        assert np.all(abs(counts.mean(axis=0) - mean) < 4 * error)
    for a, b in itertools.combinations((one, second, case.batch, case.problem.test), 2):
        assert np.mean(np.asarray(a.tokens) == b.tokens) < 0.5


def test_the_fact_is_the_best_answer():
    case = Made(NAME, seed=2, zeta=0.7)
    best = logits_of(case, lambda x, _: np.eye(R * D)[fact(case, x)])
    metrics = case.metrics(best, without_maps)
    assert metrics["loss"] == pytest.approx(case.optimal()["loss"], abs=1e-12)
    assert metrics["accuracy"] == pytest.approx(case.optimal()["accuracy"]) == 1
    assert metrics["relation_mass"] == pytest.approx(1)
    worse = case.metrics(maps=without_maps)
    assert worse["loss"] > 0.1 and worse["relation_mass"] < 1


def test_loss_and_mass_are_sums_over_prompts():
    case = Made(NAME, seed=3, zeta=1.0)
    rng = np.random.default_rng(0)
    law = rng.dirichlet(np.ones(R * D), size=S * R * n)
    outputs = logits_of(case, lambda x, i: law[i])
    share = [1 / k / sum(1 / j for j in range(1, S + 1)) for k in range(1, S + 1)]
    loss = mass = accuracy = 0.0
    for i, tokens in enumerate(np.asarray(case.problem.test.tokens)):
        s, r, _ = read(tokens)
        weight, a = share[s] / (R * n), fact(case, tokens)
        loss -= weight * math.log(law[i, a])
        mass += weight * law[i, r * D : (r + 1) * D].sum()
        accuracy += weight * (law[i].argmax() == a)
    metrics = case.metrics(outputs, without_maps)
    assert metrics["loss"] == pytest.approx(loss, rel=1e-12)
    assert metrics["relation_mass"] == pytest.approx(mass, rel=1e-12)
    assert metrics["accuracy"] == pytest.approx(accuracy, rel=1e-12)
    assert case.loss(outputs(case.problem.test), case.problem.test) == pytest.approx(loss)


def test_attention_to_subject_and_relation():
    case = Made(NAME, seed=4)
    size = (S * R * n, T + 1)
    for kind, contrast in (("subject", "relation"), ("relation", "subject")):
        maps = lambda batch, kind=kind: one_hot_maps(getattr(batch, kind), size)
        metrics = case.metrics(maps=maps)
        assert metrics[f"{kind}_attention"] == pytest.approx(1)
        assert metrics[f"{contrast}_attention"] == pytest.approx(0)
    assert np.isnan(case.metrics(maps=without_maps)["subject_attention"])


def test_edges_lead_to_the_subject_and_the_relation():
    case = Made(NAME, seed=5)
    got = np.asarray(jax.jit(case.task.edges)(case.batch, case.problem, case.config))
    for row, tokens in zip(got, np.asarray(case.batch.tokens), strict=True):
        for query, key in np.ndindex(T + 1, T + 1):
            assert row[query, key] == (tokens[key] < S + R and query != key)


@pytest.mark.parametrize("settings", [{}, *DEGENERATE], ids=str)
def test_without_the_facts_tokens_the_answer_is_as_often_as_in_all_prompts(settings):
    """The entropy of the answer given the noise, over all facts and all tuples of noise tokens."""
    case = Made(NAME, seed=6, **settings)
    config, facts = case.config, np.asarray(case.problem.facts.answer)
    sizes = config.num_subjects.n, config.num_relations.n, config.num_noise.n, config.length.n
    subjects, relations, noise, length = sizes
    w = np.arange(1, subjects + 1.0) ** -float(config.zipf)
    joint, marginal = Counter(), Counter()
    for s, r in np.ndindex(subjects, relations):
        for words in itertools.product(range(noise), repeat=length - 2):
            chance = w[s] / w.sum() / relations / noise ** (length - 2)
            joint[r, facts[s, r], words] += chance
            marginal[words] += chance
    want = -math.fsum(p * math.log(p / marginal[key[2]]) for key, p in joint.items())
    for information in ("prompt", "tokens"):
        got = case.task.optimal_without(information, case.problem, config)
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)


def test_padded_sizes_count_for_nothing():
    plain = Made(NAME)
    sizes = {"S": Size(5, S), "R": Size(3, R), "N": Size(6, N), "T": Size(7, T), "n": Size(3, n)}
    padded = Made(NAME, **sizes, D=Size(4, D))
    rows = np.arange(5 * 3 * 3).reshape(5, 3, 3)[:S, :R, :n].ravel()
    batch, wide = padded.batch, np.asarray(padded.inputs())
    assert wide.shape == (45, 8) and not np.any(wide[:, T + 1 :])
    numbers = [*range(S), *range(5, 5 + R), *range(8, 8 + N), 14]  # of the tokens in wide arrays
    np.testing.assert_array_equal(wide[rows][:, : T + 1], np.take(numbers, plain.inputs()))
    for kind in ("subject", "relation", "weight"):
        np.testing.assert_allclose(getattr(batch, kind)[rows], getattr(plain.batch, kind))
        entries = np.delete(np.asarray(getattr(batch, kind)), rows)
        assert not np.any(entries)
    answers = [r * 4 + a for r in range(R) for a in range(D)]

    def filled(like):
        f = np.full((45, 8, 12), 9.0)
        f[np.ix_(rows, range(T + 1), answers)] = plain.outputs(like)
        return jnp.asarray(f)

    metrics = padded.metrics(lambda _: filled(plain.problem.test), without_maps)
    for name, value in plain.metrics(maps=without_maps).items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-5, err_msg=name)
    edges = np.asarray(padded.task.edges(batch, padded.problem, padded.config))
    want = np.asarray(plain.task.edges(plain.batch, plain.problem, plain.config))
    np.testing.assert_array_equal(edges[rows][:, : T + 1, : T + 1], want)
    assert not np.any(edges[:, :, T + 1 :]) and edges.any(axis=(1, 2)).sum() == len(rows)
    np.testing.assert_allclose(
        padded.task.optimal_without("tokens", padded.problem, padded.config),
        plain.task.optimal_without("tokens", plain.problem, plain.config),
        rtol=1e-6,
    )
