"""Solutions of token selection that figures write in closed form, against `max_margin`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory.theories import causal_graph, group_sparse
from jaxtheory.theories.causal_graph import model
from sweeps.causal_graph import graph_margin
from sweeps.group_sparse import groups_margin
from sweeps.nearest_neighbor import neighbor_margin


@pytest.fixture(scope="module")
def graph():
    """A config and a problem of causal_graph on a tree, in float64."""
    config = causal_graph.Config(num_states=3, length=6, num_prompts=50, graph="tree")
    with jax.enable_x64(True):
        yield config, causal_graph.problem(jax.random.key(3), config)


def test_rows_of_the_graph_select_the_parent(graph):
    config, problem = graph
    parents = np.asarray(problem.parents)
    with jax.enable_x64(True):
        got = np.asarray(graph_margin.solution(problem, config))
    assert (parents > 0).any()
    for i, p in enumerate(parents):
        want = np.zeros(len(parents))
        if p:
            want[: i + 1] = jaxtheory.max_margin(np.eye(i + 1)[None], [[1.0]], [p - 1])[:, 0]
        np.testing.assert_allclose(got[i], want, atol=1e-12)


def test_gaps_are_what_a_little_attention_to_another_token_costs(graph):
    config, problem = graph
    with jax.enable_x64(True):
        params = model.Params(jnp.zeros((6, 6)), 0.7 * jnp.eye(3))
        hard = jnp.where(graph_margin.at_parent(problem), 0.0, -graph_margin.SURE)
        A1 = jnp.where((problem.parents > 0)[:, None], hard, 0.0)
        loss = lambda A1: model.loss(params._replace(A1=A1), problem.train, problem, config)
        got, used = graph_margin.gaps(params, problem, config), graph_margin.rivals(problem, config)
        little = 1e-6
        for i, j in np.argwhere(np.asarray(used)):
            cost = (loss(A1.at[i, j].set(jnp.log(little))) - loss(A1)) / little
            assert float(got[i, j]) == pytest.approx(float(cost), rel=1e-4, abs=1e-8)
        assert not np.asarray(got)[~np.asarray(used)].any()


def test_the_law_of_the_graph_is_the_cosine_of_its_margins():
    """`law` adds up margins; here A1 is formed from them."""
    rng = np.random.default_rng(0)
    D, eta, t = np.zeros((4, 4)), 100.0, 50
    A, S = np.zeros((4, 4)), np.zeros((4, 4))
    for i, p in ((1, 0), (2, 0), (3, 2)):
        for j in set(range(i + 1)) - {p}:
            D[i, j] = rng.uniform(0.01, 1)
            A[i, j] = -np.log(eta * (i + 1) * D[i, j] * t)
        A[i, : i + 1] -= A[i, : i + 1].mean()
        S[i, : i + 1] = (np.arange(i + 1) == p) - 1 / (i + 1)
    data = dataset(D, eta, t)
    want = np.sum(A * S) / np.linalg.norm(A) / np.linalg.norm(S)
    assert graph_margin.law(data).item() == pytest.approx(want, rel=1e-12)


def dataset(gaps, eta, t):
    """What `law` reads of a dataset."""
    return xr.Dataset(
        {"gaps": (("step", "token", "attended"), gaps[None])},
        coords={"step": [t], "learning_rate": eta},
    )


def test_a_symmetric_prompt_of_the_nearest_neighbor():
    """Two constraints, both tight: W is their least-squares solution."""
    q = np.array([1.0, 0.0, 0.0])
    tokens = np.array([[q, [0.0, 1.0, 0.0], q]])
    S = neighbor_margin.solution(tokens)
    margins = [(np.append(a, 0) - b) @ S @ [1, 0, 0, 1] for a, b in _pairs(q)]
    assert margins == pytest.approx([1, 1])
    least = np.linalg.lstsq(_rows(q), np.ones(2))[0].reshape(4, 4)
    np.testing.assert_allclose(S, least, atol=1e-9)


def _pairs(q):
    """The nearest example, with the other example and the query."""
    return [(q, np.array([0.0, 1.0, 0.0, 0.0])), (q, np.append(q, 1.0))]


def _rows(q):
    """The constraints of the prompt on the entries of W."""
    return np.array([np.outer(np.append(a, 0) - b, [1, 0, 0, 1]).ravel() for a, b in _pairs(q)])


def test_off_structure_keeps_what_two_parameters_leave():
    W = np.arange(25.0).reshape(5, 5)
    off = neighbor_margin.off_structure(W)
    d = 3
    assert off[-1, -1] == 0 and np.trace(off[:d, :d]) == pytest.approx(0)
    structure = W - off
    np.testing.assert_allclose(structure, np.diag(np.diag(structure)))
    assert np.ptp(np.diag(structure)[:d]) == pytest.approx(0) and structure[d, d] == 0


def test_positions_select_the_group():
    """The solution on positions alone, for each query, is the closed form."""
    config = group_sparse.Config(num_groups=4, relevant_group=3)
    with jax.enable_x64(True):
        S = np.asarray(groups_margin.solution(config))
    D = 4
    P = np.sin(np.outer(np.arange(1, D + 1), np.arange(1, D + 1)) * np.pi / (D + 1))
    want = jaxtheory.max_margin(np.broadcast_to(P.T, (D, D, D)), P.T, np.full(D, 2))
    np.testing.assert_allclose(S, want, atol=1e-9)
