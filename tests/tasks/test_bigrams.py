"""The task of contextual bigrams."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, without_maps

from jaxtheory.core.config import Size
from jaxtheory.ops.draws import run_key
from jaxtheory.tasks import bigrams
from jaxtheory.theories.contextual_bigram import data

CYCLE = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))  # a certain transition


def test_the_network_sees_the_context_and_the_query():
    case = Made("contextual_bigram")
    x = np.asarray(case.inputs())
    assert x.shape == (16, 9) and x.dtype == np.int32
    np.testing.assert_array_equal(x[:, :-1], case.batch.tokens)
    np.testing.assert_array_equal(x[:, -1], case.batch.query)


def enumerated(law):
    """Bayes loss and accuracy from all contexts, queries and labels of positive probability."""
    P, mu, Q = (np.asarray(x) for x in (law.transition, law.stationary, law.context))
    T, N = Q.shape
    loss = accuracy = 0.0
    for tokens in itertools.product(range(N), repeat=T):
        for k in range(N):
            chance = mu[k] * np.prod(mu[list(tokens)])
            label = sum(Q[s, k] * P[:, tokens[s]] for s in range(T))
            some = label[label > 0]
            loss -= chance * np.sum(some * np.log(some))
            accuracy += chance * label.max()
    return loss, accuracy


@pytest.mark.parametrize(
    "settings",
    [
        {"T": 4},
        {"T": 4, "Q": 3, "weights": "unequal"},
        {"T": 4, "Q": 1},
        {"T": 4, "given": CYCLE},
        {"T": 4, "Q": 1, "given": CYCLE},
        {"T": 4, "Q": Size(3, 2)},
    ],
    ids=str,
)
def test_the_optimum_is_that_of_all_contexts_enumerated(settings):
    case = Made("contextual_bigram", seed=3, **settings)
    best, (loss, accuracy) = case.optimal(), enumerated(case.problem.law)
    np.testing.assert_allclose(best["loss"], loss, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(best["accuracy"], accuracy, rtol=1e-11)


def test_where_contexts_are_too_many_the_test_set_stands_for_them(monkeypatch):
    case = Made("contextual_bigram")
    exact = case.optimal()
    monkeypatch.setattr(bigrams, "ENUMERATED", 0)
    sampled = case.optimal()
    entropies = bigrams.answers.entropy(bigrams.law(case.problem.test, case.problem, case.config))
    error = float(jnp.std(entropies)) / np.sqrt(len(entropies))
    assert exact != sampled and abs(exact["loss"] - sampled["loss"]) < 5 * error


def test_the_law_of_the_label_is_the_networks_best_answer():
    case = Made("contextual_bigram", seed=1)

    def best(batch):
        logits = jnp.log(bigrams.law(batch, case.problem, case.config))
        return jnp.broadcast_to(logits[:, None, :], (len(logits), 9, 3))

    metrics, random = case.metrics(best), case.metrics()
    law = bigrams.law(case.problem.test, case.problem, case.config)
    np.testing.assert_allclose(metrics["loss"], jnp.mean(bigrams.answers.entropy(law)), rtol=1e-12)
    np.testing.assert_allclose(metrics["accuracy"], jnp.mean(jnp.max(law, axis=1)), rtol=1e-12)
    assert random["loss"] > metrics["loss"] and random["accuracy"] < metrics["accuracy"]


def test_the_loss_is_the_cross_entropy_at_the_query():
    case = Made("contextual_bigram", seed=2)
    logits = np.asarray(case.outputs())[:, -1]
    law = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    want = -np.mean(np.log(law[np.arange(16), case.batch.label]))
    np.testing.assert_allclose(case.loss(), want, rtol=1e-12)


def attending(task, shift=0):
    """Attention of every query to the attended positions of the batch's query, moved by `shift`."""

    def maps(batch):
        q = jnp.roll(task.problem.law.context.T, shift, axis=1)[batch.query]
        q = jnp.pad(q, ((0, 0), (0, 1)))
        return jnp.broadcast_to(q[:, None, None, :], (len(q), 2, 9, 9))[None]

    return maps


def test_attention_to_the_attended_set_is_seen():
    case = Made("contextual_bigram", seed=4)
    right = case.metrics(maps=attending(case))
    assert right["attended_attention"] == pytest.approx(1) and right["support_match"] == 1
    wrong = case.metrics(maps=attending(case, shift=1))
    assert wrong["attended_attention"] < 1 and wrong["support_match"] < 1
    assert np.isnan(case.metrics(maps=without_maps)["support_match"])


def test_padded_tokens_positions_and_samples_count_for_nothing():
    plain = Made("contextual_bigram")
    law = jax.tree.map(np.asarray, plain.problem.law)
    wide = data.Problem(
        np.pad(law.transition, (0, 2)),
        np.pad(law.stationary, (0, 2)),
        np.pad(law.context, ((0, 3), (0, 2))),
        np.pad(law.pretrained, (0, 2)),
    )
    padded = Made("contextual_bigram", N=Size(5, 3), T=Size(11, 8), B=Size(20, 16))
    fill = lambda b: b._replace(tokens=jnp.pad(b.tokens, ((0, 0), (0, 3)), constant_values=1))
    padded.problem = bigrams.Problem(jax.tree.map(jnp.asarray, wide), fill(plain.problem.test))
    padded.batch = jax.tree.map(
        lambda x: jnp.pad(x, ((0, 4),) + ((0, 0),) * (x.ndim - 1)), fill(plain.batch)
    )
    x = np.asarray(padded.inputs())
    np.testing.assert_array_equal(x[:16, :9], plain.inputs())
    assert not np.any(x[:, 9:])
    outputs = lambda x: jnp.pad(x, ((0, 0), (0, 3), (0, 2)), constant_values=3.0)
    np.testing.assert_allclose(
        padded.loss(jnp.pad(outputs(plain.outputs()), ((0, 4), (0, 0), (0, 0)))),
        plain.loss(),
        rtol=1e-12,
    )
    metrics = padded.metrics(
        lambda batch: outputs(plain.outputs(plain.problem.test)),
        lambda batch: jnp.pad(
            plain.maps(plain.problem.test), ((0, 0), (0, 0), (0, 0), (0, 3), (0, 3))
        ),
    )
    for name, value in plain.metrics().items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-12, err_msg=name)
    at = padded.task.edges(padded.batch, padded.problem, padded.config)
    want = plain.task.edges(plain.batch, plain.problem, plain.config)
    np.testing.assert_array_equal(at[:16, :9, :9], want)
    assert not np.any(at[:, :, 9:])
    for information in ("prompt", "tokens"):
        loss_without = [
            c.task.optimal_without(information, c.problem, c.config) for c in (padded, plain)
        ]
        np.testing.assert_allclose(*loss_without, rtol=1e-12)
    best = padded.optimal()
    for name, value in plain.optimal().items():
        np.testing.assert_allclose(best[name], value, rtol=1e-12)


def forgetful(law, kept):
    """Bayes loss of answers that know kept(tokens, k), from all contexts and queries."""
    P, mu, Q = (np.asarray(x) for x in (law.transition, law.stationary, law.context))
    T, N = Q.shape
    joint = {}
    for tokens in itertools.product(range(N), repeat=T):
        for k in range(N):
            label = sum(Q[s, k] * P[:, tokens[s]] for s in range(T))
            chance = mu[k] * np.prod(mu[list(tokens)])
            known = kept(tokens, k)
            joint[known] = joint.get(known, 0) + chance * label
    return -sum(np.sum(x[x > 0] * np.log((x / x.sum())[x > 0])) for x in joint.values())


@pytest.mark.parametrize(
    "settings",
    [
        {"T": 4},
        {"T": 4, "Q": 3, "weights": "unequal"},
        {"T": 4, "Q": 1, "given": CYCLE},
        {"T": 4, "Q": Size(3, 2)},
    ],
    ids=str,
)
def test_the_losses_without_the_prompt_or_the_attended_tokens_are_those_enumerated(settings):
    case = Made("contextual_bigram", seed=5, **settings)
    law = case.problem.law
    Q = np.asarray(law.context)
    unattended = lambda x, k: (k, *(t for s, t in enumerate(x) if Q[s, k] == 0))
    got = {
        information: case.task.optimal_without(information, case.problem, case.config)
        for information in ("prompt", "tokens")
    }
    np.testing.assert_allclose(got["prompt"], forgetful(law, lambda x, k: ()), rtol=1e-11)
    np.testing.assert_allclose(got["tokens"], forgetful(law, unattended), rtol=1e-11)
    assert case.optimal()["loss"] < got["tokens"]


@pytest.mark.parametrize("settings", [{}, {"Q": 1}, {"Q": 7, "weights": "unequal"}], ids=str)
def test_edges_lead_to_what_the_query_attends_to(settings):
    case = Made("contextual_bigram", seed=6, **settings)
    Q, want = np.asarray(case.problem.law.context), np.zeros((16, 9, 9), bool)
    for b, k in enumerate(np.asarray(case.batch.query)):
        for i, s in itertools.product(range(9), range(8)):
            want[b, i, s] = i != s and Q[s, k] > 0
    got = case.task.edges(case.batch, case.problem, case.config)
    np.testing.assert_array_equal(got, want)
    for b in range(16):  # the query reads as many positions as the law attends to
        assert int(got[b, -1].sum()) == case.config.sparsity.n


def test_samples_are_fresh():
    case = Made("contextual_bigram", B=4000, seed=7)
    one, second = (case.task.fresh(run_key(8, s), case.problem, case.config) for s in (0, 1))
    assert not np.array_equal(one.tokens, second.tokens)
    P = np.linalg.matrix_power(np.asarray(case.problem.law.transition), 200)
    for batch in (one, case.batch):
        share = np.bincount(np.asarray(batch.label), minlength=3) / 4000
        error = np.sqrt(P[:, 0] * (1 - P[:, 0]) / 4000)
        assert np.all(abs(share - P[:, 0]) < 4 * error)
    jax.tree.map(
        lambda x, y: np.testing.assert_equal((x.shape, x.dtype), (y.shape, y.dtype)),
        one,
        case.batch,
    )
