"""Binarization: exact counts, ties, the degenerate ends; and the errors that follow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.pruning import drawn

from jaxtheory.core.config import Size
from jaxtheory.theories.attention_pruning import Config, predictions
from jaxtheory.theories.attention_pruning.analyses import baselines, pruning
from jaxtheory.theories.attention_pruning.model import FactorMasks, FusedMask

RATIOS = (0.0, 0.05, 0.1, 0.29, 0.3, 0.57, 0.58, 0.7, 0.9, 0.99)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("n", [1, 10, 100, 4096])
def test_count_is_the_floor_of_the_decimal_number(n, dtype):
    """Where floats fall short of an integer (.29 * 100, .57 * 100, .58 * 100), the
    integer counts.
    """
    for ratio in RATIOS:
        assert pruning.count(jnp.asarray(ratio, dtype), n) == round(ratio * 100) * n // 100


@pytest.mark.parametrize("ratio", RATIOS)
def test_ties_are_pruned_in_row_major_order(ratio):
    """All scores equal, as at M = 1: the first floor(rho n) entries go. Negative zero ties with
    zero.
    """
    for scores in (jnp.ones((5, 4)), jnp.zeros((5, 4)).at[::2].set(-0.0)):
        keep = np.asarray(pruning.binarize(scores, ratio, jnp.ones((5, 4), bool)))
        zeros = round(ratio * 100) * 20 // 100
        assert (keep.ravel() == (np.arange(20) >= zeros)).all()


def test_padding_and_a_traced_ratio_do_not_change_what_is_kept():
    scores = jnp.round(3 * jax.random.normal(jax.random.key(0), (6, 6)))
    size = Size(9, 6)
    valid = size.mask()[:, None] & size.mask()[None, :]
    padded = jnp.pad(scores, (0, 3), constant_values=-100.0)
    keep = jax.jit(lambda r: pruning.binarize(padded, r, valid))
    for ratio in RATIOS:
        plain = pruning.binarize(scores, ratio, jnp.ones((6, 6), bool))
        got = keep(ratio)
        assert (got[:6, :6] == plain).all() and not got[6:].any() and not got[:, 6:].any()


def ones(problem):
    """The masks that leave everything in place."""
    one = jnp.ones_like(problem.weights)
    return FusedMask(one), FactorMasks(one, one)


def test_ratio_zero_returns_the_dense_weights():
    config = Config(dimension=6, length=7, pruning_ratio=0.0)
    problem = drawn(config)
    fused, factors = ones(problem)
    assert (pruning.pruned_weights(fused, problem, config) == problem.weights).all()
    assert (pruning.pruned_weights(factors, problem, config) == problem.query @ problem.key.T).all()
    assert (baselines.magnitude(problem.weights, config) == problem.weights).all()
    gram = problem.inputs[0].T @ problem.inputs[0]
    for pruner in (baselines.wanda, baselines.sparsegpt):
        assert (pruner(problem.query, gram, config) == problem.query).all()
    errors = jax.jit(lambda p: predictions.baselines(p, config))(problem)
    assert (errors["relative_error"] < 1e-12).all() and (
        errors["relative_error_heldout"] < 1e-12
    ).all()
    assert (errors["logit_factor"] == 1).all()


def test_ratio_near_one_keeps_the_largest_entry_only():
    config = Config(dimension=6, length=7, pruning_ratio=0.99)
    problem = drawn(config)
    weights = baselines.magnitude(problem.weights, config)
    assert (weights != 0).sum() == 1 and jnp.max(jnp.abs(weights)) == jnp.max(
        jnp.abs(problem.weights)
    )


def test_ranking_by_mask_or_by_masked_magnitude():
    problem = drawn(Config(dimension=4, length=3, rank=4))
    mask = jax.random.normal(jax.random.key(2), (4, 4))
    for ranking, scores in (("mask", mask), ("magnitude_mask", jnp.abs(mask * problem.weights))):
        config = Config(dimension=4, length=3, rank=4, ranking=ranking, pruning_ratio=0.25)
        weights = pruning.pruned_weights(FusedMask(mask), problem, config)
        assert (
            jnp.sort(scores.ravel()[weights.ravel() == 0]) == jnp.sort(scores.ravel())[:4]
        ).all()


def test_one_token_attends_to_itself():
    """With L = 1 every set of weights is exact."""
    config = Config(dimension=4, length=1, rank=2)
    problem = drawn(config)
    for errors in pruning.plain_errors(
        jax.random.normal(jax.random.key(0), (3, 4, 4)), problem, config
    ).values():
        assert (errors == 0).all()


@pytest.mark.parametrize("backend", ["cpu", "gpu"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_smallest_by_digits_are_those_of_a_stable_sort(dtype, backend, monkeypatch):
    """Ties, both zeros, infinities, NaN, none and all of a column, padding."""
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    rng = np.random.default_rng(5)
    select = lambda *args: pruning.smallest(*args)  # traced anew
    compiled = jax.jit(select)  # XLA takes x + 0 for x, also where x is -0
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-37, -1e-37, 3e38], dtype)
    for trial in range(20):
        scores = np.round(rng.normal(size=(23, 4)), trial % 3).astype(dtype)
        scores[rng.random(scores.shape) < 0.2] = rng.choice(odd)
        valid = rng.random(scores.shape) < (1 if trial % 2 else 0.7)
        count = rng.integers(0, valid.sum(axis=0) + 1)
        got = np.asarray(compiled(scores, count, jnp.asarray(valid)))
        for j in range(4):
            order = [i for i in np.argsort(scores[:, j] + 0.0, kind="stable") if valid[i, j]]
            assert sorted(order[: count[j]]) == list(np.flatnonzero(got[:, j]))


def test_groups_keep_their_largest():
    scores = np.random.default_rng(0).normal(size=(12, 5))
    mask = np.asarray(pruning.binarize_groups(jnp.asarray(scores), 2, 4))
    for i in range(0, 12, 4):
        for j in range(5):
            want = np.argsort(scores[i : i + 4, j])[2:]
            assert sorted(want) == list(np.flatnonzero(mask[i : i + 4, j]))
    tied = np.asarray(pruning.binarize_groups(jnp.zeros((4, 1)), 1, 4))
    assert list(tied[:, 0]) == [False, False, False, True]
