"""The scores of the lags and the p at which the parent is no longer the best, from matrices."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory import Size
from jaxtheory.theories.random_walk import Config, laws


def scores(K, N, p):
    """sum_k (Pi^l)_{0k} sum_m (Pi^m)_{0k}, by powers of the transition matrix."""
    Pi = p * np.roll(np.eye(K), 1, axis=1) + (1 - p) * np.roll(np.eye(K), -1, axis=1)
    rows = np.array([np.linalg.matrix_power(Pi, l)[0] for l in range(1, N)])
    return rows @ rows.sum(axis=0)


@pytest.mark.parametrize(("K", "N"), [(3, 2), (4, 9), (5, 12), (20, 41)])
@pytest.mark.parametrize("p", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_scores_are_those_of_the_transition_matrix(K, N, p):
    config = Config(num_states=K, length=N)
    lag_scores = laws.lag_scores(jnp.asarray(p), config)
    np.testing.assert_allclose(lag_scores, scores(K, N, p), rtol=1e-12)


def test_padding_changes_nothing():
    p = jnp.asarray(0.7)
    padded = Config(num_states=Size(9, 5), length=Size(20, 12), encoding_dim=Size(1000, 1000))
    lag_scores = laws.lag_scores(p, padded)
    np.testing.assert_allclose(lag_scores[:11], scores(5, 12, 0.7), rtol=1e-12)
    assert np.isneginf(lag_scores[11:]).all()
    wide = Config(num_states=Size(24, 20), length=Size(120, 101))
    plain = Config(num_states=20, length=101)
    np.testing.assert_allclose(laws.predict_boundary(wide), laws.predict_boundary(plain), 1e-12)


@pytest.mark.parametrize("K", [18, 20, 24, 32, 40])
def test_the_boundary_is_the_first_root_of_the_margin(K):
    def margin(p):
        lag_scores = scores(K, 101, p)
        return lag_scores[0] - lag_scores[1:].max()

    p = float(laws.predict_boundary(Config(num_states=K, length=101)))
    assert margin(p - 1e-7) > 0 > margin(p + 1e-7)
    assert all(margin(q) > 0 for q in np.linspace(0.5, p - 1e-3, 40))
    assert 0.6 < p < 0.74


def test_small_circles_keep_the_parent_and_ties_are_no_loss():
    for K in (3, 4, 5, 6, 8, 12, 16):
        assert not laws.predict_boundary(Config(num_states=K, length=97)) < 0.96
    assert np.isnan(laws.predict_boundary(Config(num_states=4, length=49)))
    assert abs(laws.parent_margin(jnp.asarray(0.5), Config(num_states=4, length=33))) < 1e-12
    assert np.isnan(laws.predict_boundary(Config(num_states=6, length=2)))  # the parent alone
