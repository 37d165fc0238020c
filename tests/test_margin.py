"""Max-margin token selection against all active sets, SLSQP, closed forms and gradient descent."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

import jaxtheory
from jaxtheory import InputError, max_margin, observables


def rows_of(keys, queries, optimal):
    """The constraints rows @ vec(W) >= 1."""
    return np.array(
        [
            np.outer(x[o] - x[j], z).ravel()
            for x, z, o in zip(keys, queries, optimal, strict=True)
            for j in range(len(x))
            if j != o
        ]
    )


def drawn(seed, samples, tokens, d, e):
    """Separable data: a hidden matrix chooses the tokens."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(samples, tokens, d)), rng.normal(size=(samples, e))
    W = rng.normal(size=(d, e))
    return x, z, np.argmax(np.einsum("ijd,de,ie->ij", x, W, z), axis=1)


def by_active_sets(rows):
    """The smallest w with rows @ w >= 1 among those of equality on a set of rows."""
    candidates = []
    for n in range(1, len(rows) + 1):
        for active in map(list, itertools.combinations(range(len(rows)), n)):
            w = np.linalg.lstsq(rows[active], np.ones(n))[0]
            if np.all(rows @ w >= 1 - 1e-9):
                candidates.append(w)
    return min(candidates, key=np.linalg.norm) if candidates else None


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_best_of_all_active_sets(seed):
    keys, queries, optimal = drawn(seed, samples=3, tokens=4, d=3, e=2)
    want = by_active_sets(rows_of(keys, queries, optimal))
    got = max_margin(keys, queries, optimal)
    np.testing.assert_allclose(got.ravel(), want, rtol=1e-8, atol=1e-9 * np.linalg.norm(want))


@pytest.mark.parametrize("seed", range(3))
def test_slsqp_finds_it_too(seed):
    keys, queries, optimal = drawn(seed, samples=20, tokens=6, d=4, e=3)
    rows, W = rows_of(keys, queries, optimal), max_margin(keys, queries, optimal)
    assert np.min(rows @ W.ravel()) == pytest.approx(1, abs=1e-8)
    solution = minimize(
        lambda w: w @ w,
        2 * W.ravel() + 0.1,
        jac=lambda w: 2 * w,
        constraints={"type": "ineq", "fun": lambda w: rows @ w - 1, "jac": lambda w: rows},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert (rows @ solution.x).min() > 1 - 1e-6
    np.testing.assert_allclose(W.ravel(), solution.x, rtol=1e-4, atol=1e-5 * np.linalg.norm(W))


def test_many_constraints_meet_the_conditions_of_optimality():
    """W is a nonnegative combination of constraints that hold with equality."""
    keys, queries, optimal = drawn(0, samples=400, tokens=9, d=4, e=4)
    rows, W = rows_of(keys, queries, optimal), max_margin(keys, queries, optimal).ravel()
    margins = rows @ W
    assert margins.min() > 1 - 1e-8
    tight = rows[margins < 1 + 1e-6]
    multipliers = np.linalg.lstsq(tight.T, W)[0]
    np.testing.assert_allclose(tight.T @ multipliers, W, rtol=1e-6)
    assert multipliers.min() > 0


def test_one_constraint():
    """W = a b^T / (|a|^2 |b|^2) for the one constraint a^T W b >= 1."""
    a, b = np.array([3.0, -1.0, 2.0]), np.array([0.5, 4.0])
    W = max_margin([[a, np.zeros(3)]], [b], [0])
    np.testing.assert_allclose(W, np.outer(a, b) / (a @ a) / (b @ b), rtol=1e-12)


@pytest.mark.parametrize("angle", [1e-3, 1e-6])
def test_nearly_parallel_queries_are_told_apart(angle):
    """Two queries z = (1, +-angle) ask for two tokens: +-2 e_1^T W z >= 1, by hand."""
    keys = [[[1.0, 0.0], [-1.0, 0.0]]] * 2
    W = max_margin(keys, [[1.0, angle], [1.0, -angle]], [0, 1])
    np.testing.assert_allclose(W, [[0, 1 / (2 * angle)], [0, 0]], rtol=1e-5, atol=1e-5 / angle)


@pytest.mark.parametrize("step", [1e-4, 1e-7])
def test_a_constraint_that_is_violated_by_little_counts(step):
    """More constraints than are added at once: 98 ask W_1 >= 1, and the last two, violated by
    step / 2 then, W_1 +- step W_2 >= 1 + step / 2.
    """
    tokens = np.concatenate([np.tile([1.0, 0.0], (98, 1)), [[1, step], [1, -step]]])
    tokens[98:] /= 1 + step / 2
    keys = np.concatenate([np.zeros((1, 2)), -tokens])[None]
    W = max_margin(keys, [[1.0]], [0])
    np.testing.assert_allclose(W[:, 0], [1 + step / 2, 0], rtol=1e-9, atol=1e-9)
    assert (tokens @ W[:, 0]).min() >= 1 - 1e-9


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_scaled_tokens_scale_it_back(scale):
    keys, queries, optimal = drawn(1, samples=4, tokens=3, d=3, e=3)
    W = max_margin(keys, queries, optimal)
    np.testing.assert_allclose(max_margin(scale * keys, queries, optimal), W / scale, rtol=1e-6)


def test_a_position_among_orthogonal_ones():
    """The direction of walks: (e_o - 1/n) p^T for orthonormal positions and one query p."""
    n, o, p = 6, 4, np.array([1.0, 2.0])
    W = max_margin(np.eye(n)[None], [p], [o])
    np.testing.assert_allclose(W, np.outer(np.eye(n)[o] - 1 / n, p) / (p @ p), atol=1e-12)


@pytest.mark.parametrize(
    "keys", [[[[1.0], [2.0]], [[2.0], [1.0]]], [[[1.0], [1.0]], [[2.0], [1.0]]]]
)
def test_tokens_that_no_matrix_selects_give_nan(keys):
    W = max_margin(keys, [[1.0], [1.0]], [0, 0])
    assert W.shape == (1, 1) and np.isnan(W).all()
    cosine = observables.margin_direction(W)({"W": np.ones((1, 1))}, None, None)
    assert np.isnan(cosine)


def test_a_single_token_needs_no_matrix():
    assert max_margin([[[1.0, 2.0]]], [[1.0]], [0]).tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"keys": np.ones((2, 3))}, "expected"),
        ({"queries": np.ones((3, 2))}, "expected"),
        ({"queries": np.ones((2, 0))}, "nothing to select"),
        ({"optimal": [0, 3]}, r"integers in \[0, 3\)"),
        ({"optimal": [0.0, 1.0]}, "integers"),
        ({"keys": np.full((2, 3, 4), np.nan)}, "finite"),
    ],
)
def test_what_it_refuses(change, words):
    arguments = {"keys": np.ones((2, 3, 4)), "queries": np.ones((2, 2)), "optimal": [0, 1]} | change
    with pytest.raises(InputError, match=words) as error:
        max_margin(**arguments)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("seed", range(3))
def test_descent_on_the_log_of_the_optimal_attention_goes_there(seed):
    """Cross-entropy of separable linear scores: descent converges to max margin (1710.10345)."""
    keys, queries, optimal = drawn(seed, samples=2, tokens=3, d=3, e=2)
    rows, S = rows_of(keys, queries, optimal), max_margin(keys, queries, optimal).ravel()
    w, cosines = np.zeros(rows.shape[1]), []
    for t in range(30001):
        if t in (300, 3000, 30000):
            cosines.append(w @ S / np.linalg.norm(w) / np.linalg.norm(S))
        odds = np.exp(-(rows @ w)).reshape(2, 2)
        share = odds / (1 + odds.sum(axis=1, keepdims=True))
        w += 0.3 * share.ravel() @ rows
    assert cosines == sorted(cosines) and cosines[-1] > 0.98


class TestMarginDirection:
    """The observable in sweeps, by the name of an array and by a function."""

    def test_is_recorded_along_training(self):
        theory = jaxtheory.theories.get("group_sparse")
        config = theory.Config()
        shape = theory.init(
            jaxtheory.run_key(0, 0), theory.problem(jaxtheory.run_key(0, 0), config), config
        )
        name, first = next(
            (n, getattr(shape, n)) for n in shape._fields if np.ndim(getattr(shape, n)) == 2
        )
        S = np.random.default_rng(0).normal(size=first.shape)
        data = jaxtheory.sweep(
            theory,
            config,
            steps=3,
            dtype="float64",
            save_params=True,
            observe={
                "named": observables.margin_direction(S, name),
                "made": observables.margin_direction(
                    S, lambda params, problem, config: 2 * getattr(params, name)
                ),
            },
        )
        W = data[f"params_{name}"].values[0]
        want = np.sum(W * S) / np.linalg.norm(W) / np.linalg.norm(S)
        assert data.named.values[0, -1] == pytest.approx(want, rel=1e-9)
        np.testing.assert_allclose(data.named, data.made, rtol=1e-9)

    def test_refuses_other_shapes(self):
        with pytest.raises(InputError, match="must be a matrix"):
            observables.margin_direction([1.0, 2.0])
        with pytest.raises(InputError, match="shape"):
            observables.margin_direction(np.eye(2))({"W": np.eye(3)}, None, None)
        with pytest.raises(InputError, match="no array"):
            observables.margin_direction(np.eye(2), "V")({"W": np.eye(2)}, None, None)

    def test_is_zero_at_zero(self):
        assert observables.margin_direction(np.eye(2))({"W": np.zeros((2, 2))}, None, None) == 0
