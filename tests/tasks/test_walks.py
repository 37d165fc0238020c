"""The task of random walks."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, one_hot_maps, without_maps

from jaxtheory.core.config import Size


def test_the_network_sees_the_states_and_a_query_of_its_own():
    case = Made("random_walk")
    x = np.asarray(case.inputs())
    assert x.shape == (20, 9) and x.dtype == np.int32
    np.testing.assert_array_equal(x[:, :-1], case.batch.s[:, :-1])
    assert np.all(x[:, -1] == 5) and case.task.vocabulary(case.config) == 6


@pytest.mark.parametrize("p", [0.0, 0.3, 0.5, 1.0])
def test_the_optimum_is_that_of_all_walks_enumerated(p):
    """The mean over all walks of 3 steps of the entropy and the largest entry of P(y | walk), from
    the joint probabilities alone.
    """
    K, N = 3, 4
    joint = {}
    for first, *steps in itertools.product(range(K), *[(1, -1)] * (N - 1)):
        states = [first]
        for step in steps:
            states.append((states[-1] + step) % K)
        chance = np.prod([p if step == 1 else 1 - p for step in steps]) / K
        law = joint.setdefault(tuple(states[:-1]), np.zeros(K))
        law[states[-1]] += chance
    table = np.array(list(joint.values()))
    prior = table.sum(axis=1)
    some = table > 0
    loss = -np.sum(table[some] * np.log((table / np.where(prior > 0, prior, 1)[:, None])[some]))
    best = Made("random_walk", K=K, N=N, M=N, p=p).optimal()
    np.testing.assert_allclose(best["loss"], loss, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(best["accuracy"], np.sum(table.max(axis=1)), rtol=1e-12)


@pytest.mark.parametrize("p", [0.0, 0.5, 0.8, 1.0])
def test_the_best_network_reaches_the_optimum_and_no_other_does(p):
    case = Made("random_walk", p=p, seed=1)

    def best(batch):
        d = (jnp.arange(5, dtype=jnp.int32)[None, :] - batch.s[:, -2:-1]) % 5
        law = jnp.where(d == 1, p, jnp.where(d == 4, 1 - p, 0.0))
        logits = jnp.log(jnp.maximum(law, 1e-300))
        return jnp.broadcast_to(logits[:, None, :], (len(d), 9, 5))

    metrics, optimum = case.metrics(best), case.optimal()
    np.testing.assert_allclose(metrics["loss"], optimum["loss"], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(metrics["accuracy"], optimum["accuracy"], rtol=1e-12)
    random = case.metrics()
    assert random["loss"] > optimum["loss"] and random["accuracy"] <= optimum["accuracy"] + 1e-12


def test_the_loss_is_the_cross_entropy_at_the_query():
    case = Made("random_walk", seed=2)
    logits = np.asarray(case.outputs())[:, -1]
    law = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    want = -np.mean(np.log(law[np.arange(20), case.batch.y]))
    np.testing.assert_allclose(case.loss(), want, rtol=1e-12)


@pytest.mark.parametrize(("place", "want"), [(7, 1.0), (8, 0.0), (3, 0.0)])
def test_some_head_selects_the_parent_or_none_does(place, want):
    case = Made("random_walk")
    maps = lambda batch: one_hot_maps(jnp.full(len(batch.s), place), (len(batch.s), 9), heads=2)
    metrics = case.metrics(maps=maps)
    assert metrics["parent_attention"] == pytest.approx(want, abs=1e-12)
    assert metrics["parent_selected"] == want
    missing = case.metrics(maps=without_maps)
    assert np.isnan(missing["parent_attention"]) and np.isnan(missing["parent_selected"])


def test_padded_states_positions_and_sequences_count_for_nothing():
    plain = Made("random_walk")
    padded = Made("random_walk", K=Size(7, 5), N=Size(12, 9), M=Size(14, 9), B=Size(24, 20))
    x = np.asarray(padded.inputs())
    np.testing.assert_array_equal(x[:20, :9], plain.inputs())
    outputs = jnp.pad(plain.outputs(), ((0, 4), (0, 3), (0, 2)), constant_values=5.0)
    np.testing.assert_allclose(padded.loss(outputs), plain.loss(), rtol=1e-12)
    wide = lambda batch: jnp.pad(
        plain.outputs(batch), ((0, 0), (0, 3 - (plain.inputs(batch).shape[1] - 9)), (0, 2))
    )
    big = lambda batch: jnp.pad(
        plain.maps(plain.problem.test), ((0, 0), (0, 0), (0, 0), (0, 3), (0, 3))
    )
    shown = lambda batch: wide(plain.problem.test)
    metrics, want = padded.metrics(shown, big), plain.metrics()
    for name, value in want.items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("kind", ["qa1", "qa2"])
def test_questions_are_answered_by_their_sentences(kind):
    length = {"qa1": 17, "qa2": 19}[kind]
    case = Made("random_walk", task=kind, K=19, N=length, M=length)
    assert case.optimal() == {"loss": 0.0, "accuracy": 1.0}
    sure = lambda batch: (
        400.0
        * jnp.broadcast_to(jax.nn.one_hot(batch.y, 19)[:, None, :], (len(batch.y), length, 19))
    )
    metrics = case.metrics(sure)
    assert metrics["accuracy"] == pytest.approx(1)
    assert metrics["loss"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("p", "K"), [(0.7, 6), (0.5, 4), (1.0, 5), (0.0, 3)])
def test_without_the_parent_the_best_answer_is_two_steps_from_the_state_before(p, K):
    """By enumeration of all walks, with the last state but one hidden."""
    N = 5
    hidden = {}
    for first, *steps in itertools.product(range(K), *[(1, -1)] * (N - 1)):
        states = [first]
        for step in steps:
            states.append((states[-1] + step) % K)
        chance = np.prod([p if step == 1 else 1 - p for step in steps]) / K
        law = hidden.setdefault(tuple(states[:-2]), np.zeros(K))
        law[states[-1]] += chance
    table = np.array(list(hidden.values()))
    some, prior = table > 0, table.sum(axis=1, keepdims=True)
    want = -np.sum(table[some] * np.log((table / np.where(prior > 0, prior, 1))[some]))
    case = Made("random_walk", K=K, N=N, M=N, p=p)
    loss_without = lambda word: case.task.optimal_without(word, case.problem, case.config)
    np.testing.assert_allclose(loss_without("tokens"), want, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(loss_without("prompt"), np.log(K), rtol=1e-12)


def test_fresh_walks_are_other_walks_of_the_same_law():
    case = Made("random_walk", p=0.7)
    one, second = (case.task.fresh(jax.random.key(i), case.problem, case.config) for i in (1, 2))
    assert one.s.shape == case.batch.s.shape and not np.array_equal(one.s, second.s)
    steps = (np.diff(np.asarray(one.s)[:, :-1], axis=1) % 5) == 1
    assert abs(steps.mean() - 0.7) < 4 * (0.21 / steps.size) ** 0.5


def test_edges_lead_to_the_parent_from_all_other_positions():
    case = Made("random_walk")
    edges = np.asarray(case.task.edges(case.batch, case.problem, case.config))
    want = np.zeros((9, 9), bool)
    want[:, 7] = True
    want[7, 7] = False
    np.testing.assert_array_equal(edges, np.broadcast_to(want, (20, 9, 9)))
