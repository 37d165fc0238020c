"""The task of Markov chains in context."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, without_maps

from jaxtheory.core.config import Size
from jaxtheory.ops.draws import run_key
from jaxtheory.theories import causal_graph as theory

NAME = "causal_graph"


def counted(task, batch):
    """Children of tokens in the state of the query, prompt by prompt."""
    p, S = np.asarray(task.problem.parents), 3
    n = np.zeros((len(batch.s), S))
    for row, s in zip(n, np.asarray(batch.s), strict=True):
        for i, parent in enumerate(p):
            if parent and s[parent - 1] == s[-1]:
                row[s[i]] += 1
    return n


def logits_of(task, law):
    """Outputs that are 7 before the query and log law(batch) there."""

    def outputs(batch):
        logits = np.full((*batch.s.shape, 3), 7.0)
        logits[:, -1] = np.log(law(batch))
        return jnp.asarray(logits)

    return outputs


def test_the_network_sees_the_states():
    case = Made(NAME)
    problem = theory.problem(run_key(0, 0), theory.Config(S=3, T=8, P=12))
    np.testing.assert_array_equal(case.inputs(), problem.train.s)
    np.testing.assert_array_equal(case.problem.test.s, problem.test.s)
    np.testing.assert_array_equal(case.problem.parents, problem.parents)


def test_the_loss_is_the_cross_entropy_under_the_transition():
    case = Made(NAME, seed=1)
    logits = np.asarray(case.outputs())[:, -1]
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    want = -(np.asarray(case.batch.target) * logs).sum(axis=1).mean()
    np.testing.assert_allclose(case.loss(), want, rtol=1e-6)


@pytest.mark.parametrize("graph", ["chain", "tree"])
def test_counts_are_the_best_answer(graph):
    case = Made(NAME, seed=2, graph=graph, first="uniform", alpha=0.7)
    mean = lambda batch: (n := counted(case, batch) + 0.7) / n.sum(axis=1, keepdims=True)
    metrics, best = case.metrics(logits_of(case, mean), without_maps), case.optimal()
    q = mean(case.problem.test)
    np.testing.assert_allclose(best["loss"], -(q * np.log(q)).sum(axis=1).mean(), rtol=1e-5)
    np.testing.assert_allclose(best["accuracy"], q.max(axis=1).mean(), rtol=1e-5)
    assert metrics["loss"] == pytest.approx(metrics["counts_loss"], rel=1e-5)
    law = np.asarray(case.problem.test.target)
    spread = (law * np.log(q)).sum(axis=1).std() / np.sqrt(len(q))
    assert abs(metrics["loss"] - best["loss"]) < 5 * spread
    assert metrics["loss"] < case.metrics(maps=without_maps)["loss"]


def test_a_stationary_start_has_no_known_optimum():
    assert Made(NAME).optimal() == {}


def test_attention_to_parents_and_children():
    case = Made(NAME, seed=3)
    p, s = np.asarray(case.problem.parents), np.asarray(case.problem.test.s)
    after = np.zeros(s.shape)
    for i, parent in enumerate(p):
        if parent:
            after[:, i] = s[:, parent - 1] == s[:, -1]

    def maps(batch):
        """A head on the parents, whose query is on its children; another one on position 0."""
        one = np.zeros((2, len(batch.s), 2, 8, 8))
        one[:, :, 1, :, 0] = 1
        for i, parent in enumerate(p):
            one[0, :, 0, i, max(parent - 1, 0)] = 1
        one[1, :, 0, -1] = after / np.maximum(after.sum(axis=1, keepdims=True), 1)
        return jnp.asarray(one)

    metrics = case.metrics(maps=maps)
    assert metrics["parent_attention"] == pytest.approx(1)
    assert metrics["children_attention"] == pytest.approx((after.sum(axis=1) > 0).mean(), rel=1e-5)
    assert np.isnan(case.metrics(maps=without_maps)["parent_attention"])


def test_padded_sizes_count_for_nothing():
    settings = {"first": "uniform", "graph": "pairs"}
    plain = Made(NAME, **settings)
    padded = Made(NAME, S=Size(5, 3), T=Size(10, 8), P=Size(15, 12), **settings)
    tokens = np.asarray(padded.inputs())
    assert tokens.shape == (15, 10) and not np.any(tokens[12:]) and not np.any(tokens[:, 8:])
    np.testing.assert_array_equal(tokens[:12, :8], plain.inputs())
    wide = ((0, 0), (0, 2), (0, 2))
    fill = lambda like: jnp.pad(plain.outputs(like), wide, constant_values=2.0)
    metrics = padded.metrics(lambda batch: fill(plain.problem.test), without_maps)
    for name, value in plain.metrics(maps=without_maps).items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-4, err_msg=name)
    for name, value in plain.optimal().items():
        np.testing.assert_allclose(padded.optimal()[name], value, rtol=1e-4, err_msg=name)
