"""The task of Markov chains in context."""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.on_tasks import Made, without_maps

from jaxtheory.core.config import Size
from jaxtheory.ops.draws import run_key
from jaxtheory.tasks import chains
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
    at = padded.task.edges(padded.batch, padded.problem, padded.config)
    want = plain.task.edges(plain.batch, plain.problem, plain.config)
    np.testing.assert_array_equal(at[:12, :8, :8], want)
    assert not np.any(at[:, 8:]) and not np.any(at[:, :, 8:])
    for information in ("prompt", "tokens"):
        loss_without = [
            c.task.optimal_without(information, c.problem, c.config) for c in (padded, plain)
        ]
        np.testing.assert_allclose(*loss_without, rtol=1e-4)
    for name, value in plain.optimal().items():
        np.testing.assert_allclose(padded.optimal()[name], value, rtol=1e-4, err_msg=name)


@pytest.mark.parametrize(
    "settings",
    [{"graph": "chain"}, {"graph": "tree", "query": "graph"}, {"graph": "pairs"}, {"T": 2}],
    ids=str,
)
def test_edges_lead_to_parents(settings):
    case = Made(NAME, seed=4, **settings)
    T = case.config.length.n
    want = np.zeros((12, T, T), bool)
    for i, parent in enumerate(np.asarray(case.problem.parents)):
        if parent:
            want[:, i, parent - 1] = True
    got = case.task.edges(case.batch, case.problem, case.config)
    np.testing.assert_array_equal(got, want)


def over_orders(s, parents, alpha, S):
    """The posterior mean from counts of the query's children, averaged over all orders of the
    tokens before the query.
    """
    *before, q = s
    edges = [(i, p - 1) for i, p in enumerate(parents[:-1]) if p]
    orders = list(itertools.permutations(before))
    n = np.zeros(S)
    for x in orders:
        for i, p in edges:
            n[x[i]] += (x[p] == q) / len(orders)
    return (n + alpha) / (n + alpha).sum()


@pytest.mark.parametrize(
    "settings",
    [
        {"T": 5, "graph": "chain"},
        {"T": 5, "graph": "tree", "query": "graph", "alpha": 0.1},
        {"T": 6, "graph": "pairs", "first": "uniform", "S": 2},
        {"T": 2},
    ],
    ids=str,
)
def test_counts_without_an_order_are_means_over_all_orders(settings):
    case = Made(NAME, seed=5, **settings)
    S, alpha = case.config.num_states.n, case.config.concentration
    parents = [int(p) for p in case.problem.parents]
    law = functools.cache(lambda s: over_orders(s, parents, alpha, S))
    test = case.problem.test
    logs = np.log([law(tuple(map(int, s))) for s in np.asarray(test.s)])
    losses = -np.sum(np.asarray(test.target) * logs, axis=1)
    got = case.task.optimal_without("tokens", case.problem, case.config)
    np.testing.assert_allclose(got, np.mean(losses), rtol=1e-10)
    if settings["T"] == 2:
        np.testing.assert_allclose(got, np.log(3), rtol=1e-10)


@pytest.mark.parametrize("query", ["uniform", "graph"])
@pytest.mark.parametrize(("alpha", "gap"), [(0.05, 0.15), (0.5, 0.02), (1e4, 1e-6)])
def test_the_loss_without_parents_is_between_that_of_all_prompts_enumerated_and_of_shares(
    alpha, gap, query
):
    """Bayes given the states as a multiset and s_T, from Polya's urns for the rows of pi."""
    S, T = 2, 7
    case = Made(NAME, S=S, T=T, alpha=alpha, first="uniform", query=query, seed=6)
    joint, label = {}, np.zeros(S)
    for s in itertools.product(range(S), repeat=T):
        n, chance = np.full((S, S), alpha), 1 / S
        for i in range(1, T):
            if i == T - 1 and query == "uniform":
                chance /= S
                break
            chance *= n[s[i - 1], s[i]] / n[s[i - 1]].sum()
            n[s[i - 1], s[i]] += 1
        row = chance * n[s[-1]] / n[s[-1]].sum()
        known = (tuple(sorted(s)), s[-1])
        joint[known], label = joint.get(known, 0) + row, label + row
    bayes = -sum(np.sum(x * np.log(x / x.sum())) for x in joint.values())
    test, loss_without = case.problem.test, case.task.optimal_without
    y, s = np.asarray(test.target), np.asarray(test.s)
    shares = np.array([[np.sum(x == k) for k in range(S)] for x in s])
    by_shares = lambda a: -np.mean(np.sum(y * np.log((shares + a) / (T + S * a)), axis=1))
    logs = [np.log(joint[tuple(sorted(x)), x[-1]]) for x in map(tuple, s.tolist())]
    logs = np.array(logs) - np.logaddexp.reduce(logs, axis=1, keepdims=True)
    losses = -np.sum(y * logs, axis=1)
    error = losses.std() / math.sqrt(len(y))
    assert abs(losses.mean() - bayes) <= 4 * error  # the test prompts stand for all
    got = loss_without("tokens", case.problem, case.config)
    more = -np.sum(y * np.log(chains.unordered(case.problem, case.config)), axis=1) - losses
    np.testing.assert_allclose(got, np.mean(losses + more), rtol=1e-10)
    assert -4 * more.std() / math.sqrt(len(y)) < got - losses.mean() < gap
    assert got < min(by_shares(a) for a in np.logspace(-3, 6, 200)) + 1e-6
    np.testing.assert_allclose(label, 1 / S, rtol=1e-12)
    prompt = loss_without("prompt", case.problem, case.config)
    np.testing.assert_allclose(prompt, -np.sum(label * np.log(label)), rtol=1e-12)


def test_the_losses_without_information_can_be_swept():
    case = Made(NAME, seed=7)
    alphas = jnp.asarray([0.2, 0.5, 3.0])

    @jax.jit
    @jax.vmap
    def loss_without(alpha):
        return case.task.optimal_without("tokens", case.problem, case.config.replace(alpha=alpha))

    want = [
        case.task.optimal_without("tokens", case.problem, case.config.replace(alpha=float(a)))
        for a in alphas
    ]
    np.testing.assert_allclose(loss_without(alphas), want, rtol=1e-12)


@pytest.mark.parametrize("graph", ["chain", "tree"])
def test_fresh_prompts_have_the_law_of_the_training_prompts(graph):
    case = Made(NAME, P=3000, graph=graph, seed=8)
    one, second = (case.task.fresh(run_key(9, s), case.problem, case.config) for s in (0, 1))
    assert not np.array_equal(one.s, second.s) and not np.array_equal(one.s, case.batch.s)
    place = [(i, int(p) - 1) for i, p in enumerate(case.problem.parents) if p]

    def statistics(batch):
        s, y = np.asarray(batch.s), np.asarray(batch.target)
        assert s.shape == (3000, 8) and s.dtype == np.int32
        same = [s[:, i] == s[:, p] for i, p in place]
        columns = np.stack([*same, *(s == 0).T, *y.T, *(y**2).T], axis=1).astype(float)
        return columns.mean(axis=0), columns.var(axis=0) / 3000

    (mean, error), (mean_trained, error_trained) = statistics(one), statistics(case.batch)
    assert np.all(abs(mean - mean_trained) <= 4 * np.sqrt(error + error_trained))
    drawn = Made(NAME, P=3000, graph=graph, prompts="fresh", seed=8)
    again = drawn.task.sample(run_key(9, 0), drawn.problem, drawn.config)
    np.testing.assert_array_equal(again.s, one.s)
