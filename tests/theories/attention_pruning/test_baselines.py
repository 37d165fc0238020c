"""SparseGPT against per-row optimal brain surgery with explicit inverses, its invariants, and dead
inputs.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.some import some

from jaxtheory.texts.errors import InputError
from jaxtheory.theories.attention_pruning import Config
from jaxtheory.theories.attention_pruning.analyses import baselines, linear


def case(seed, d=8, tokens=12, ratio=0.5):
    """Random weights and inputs, and their Gram matrix."""
    W, X = np.random.default_rng(seed).normal(size=(2, max(d, tokens), d))
    W, X = W[:d], X[:tokens]
    return W, X.T @ X, Config(dimension=d, length=tokens, pruning_ratio=ratio)


def damped(gram):
    """H as SparseGPT sees it."""
    H = gram + np.diag(np.diagonal(gram) == 0)
    return H + 0.01 * np.mean(np.diagonal(H)) * np.eye(len(H))


def by_rows(W, H, ratio, block):
    """Each output by itself: remove its masked inputs one after the other, each time with the
    inverse of H on the inputs that remain.
    """
    d = len(W)
    W = W.copy()
    for start in range(0, d, block):
        rows = range(start, min(start + block, d))
        scores = np.array([W[j] ** 2 / np.linalg.inv(H[j:, j:])[0, 0] for j in rows])
        order = np.argsort(scores.ravel(), kind="stable")
        prune = np.zeros(scores.size, bool)
        prune[order[: int(np.floor(ratio * scores.size + 1e-9))]] = True
        prune = prune.reshape(scores.shape)
        for output in range(W.shape[1]):
            for j, is_pruned in zip(rows, prune[:, output], strict=True):
                if is_pruned:
                    inverse = np.linalg.inv(H[j:, j:])
                    W[j:, output] -= W[j, output] * inverse[:, 0] / inverse[0, 0]
                    W[j, output] = 0
    return W


@pytest.mark.parametrize("block", some([1, 2, 3, 128], 1, 3))
@pytest.mark.parametrize("ratio", some([0.0, 0.3, 0.5, 0.9], 0.5))
def test_sparsegpt_is_row_by_row_optimal_brain_surgery(block, ratio):
    for seed in range(3):
        for tokens in (5, 12):  # fewer tokens than inputs: H is singular but for the damping
            W, gram, config = case(seed, tokens=tokens, ratio=ratio)
            got = jax.jit(
                lambda W, gram, config=config: baselines.sparsegpt(
                    W, gram, config, block_size=block
                )
            )(W, gram)
            np.testing.assert_allclose(
                got, by_rows(W, damped(gram), ratio, block), rtol=1e-9, atol=1e-11
            )


def test_kept_weights_minimize_the_damped_error_given_the_earlier_ones():
    """At input j the weights from j on solve the quadratic in which the earlier ones are fixed and
    the later ones free.
    """
    W, gram, config = case(7)
    H, got = damped(gram), np.asarray(baselines.sparsegpt(W, gram, config))
    for j in range(len(W)):
        best = W[j:] - np.linalg.solve(
            H[j:, j:], H[j:, :j] @ (got[:j] - W[:j])
        )  # argmin over inputs >= j
        support = got[j] != 0
        np.testing.assert_allclose(got[j][support], best[0][support], rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_no_better_than_the_joint_optimum_on_its_mask(seed):
    W, gram, config = case(seed)
    H, got = damped(gram), np.asarray(baselines.sparsegpt(W, gram, config))
    joint = np.zeros_like(W)
    for output in range(W.shape[1]):
        support = got[:, output] != 0
        joint[support, output] = np.linalg.solve(
            H[np.ix_(support, support)], H[support] @ W[:, output]
        )
    error = lambda V: np.trace((V - W).T @ H @ (V - W))
    assert error(joint) <= error(got) * (1 + 1e-9)


def test_dead_inputs_go_first():
    """X_:3 = 0: SparseGPT zeroes that row whatever rho; Wanda scores it 0."""
    W, X = np.random.default_rng(0).normal(size=(2, 8, 8))
    X[:, 3] = 0
    config = Config(dimension=8, length=8, pruning_ratio=0.2)
    got = np.asarray(baselines.sparsegpt(W, X.T @ X, config))
    assert (got[3] == 0).all() and (got == 0).sum() == np.floor(0.2 * 64)
    pruned = np.asarray(baselines.wanda(W, X.T @ X, config))
    assert (pruned[3] == 0).all() and ((pruned == 0).sum(axis=0) == 1).all()


def test_singular_gram_without_damping_is_refused():
    W, gram, config = case(0, tokens=3)
    with pytest.raises(InputError, match="damping"):
        baselines.sparsegpt(W, gram, config, damping=0.0)
    inside = jax.jit(lambda W, gram: baselines.sparsegpt(W, gram, config, damping=0.0))(W, gram)
    inside = np.asarray(inside)
    assert np.isnan(inside).any() and not np.isfinite(inside[inside != 0]).any()


def test_wanda_prunes_by_column_and_counts_exactly():
    W, gram, config = case(3, ratio=0.3)
    pruned = np.asarray(baselines.wanda(jnp.asarray(W), jnp.asarray(gram), config))
    assert ((pruned == 0).sum(axis=0) == 2).all()
    assert (pruned[pruned != 0] == W[pruned != 0]).all()


@pytest.mark.parametrize(("keep", "group"), [(2, 4), (1, 4), (3, 3), (1, 2)])
def test_sparsegpt_chooses_groups_when_it_reaches_them(keep, group):
    """Output by output with explicit inverses: of every M inputs the N of largest w^2 / [H^-1]_jj
    are kept, on the weights as updated so far.
    """
    W, gram, _ = case(4, d=12)
    H, want = damped(gram), W.copy()
    for start in range(0, 12, group):
        rows = range(start, start + group)
        curvature = np.array([1 / np.linalg.inv(H[j:, j:])[0, 0] for j in rows])
        order = np.argsort(want[start : start + group] ** 2 * curvature[:, None], axis=0)
        for output in range(12):
            for j in sorted(order[: group - keep, output] + start):
                inverse = np.linalg.inv(H[j:, j:])
                want[j:, output] -= want[j, output] * inverse[:, 0] / inverse[0, 0]
                want[j, output] = 0
    rule = linear.Rule(0.0, (keep, group))
    got = linear.sparsegpt(W, gram, rule, jnp.ones(W.shape, bool))
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


def test_sparsegpt_updates_a_mask_that_is_given():
    W, gram, config = case(6, d=10)
    got = np.asarray(baselines.sparsegpt(W, gram, config))
    valid = jnp.ones(W.shape, bool)
    rule = linear.Rule(0.5)
    again = linear.sparsegpt(W, gram, rule, valid, mask=jnp.asarray(got != 0), block_size=3)
    np.testing.assert_allclose(again, got, rtol=1e-9, atol=1e-12)
    none = linear.sparsegpt(W, gram, rule, valid, mask=valid)
    np.testing.assert_allclose(none, W, rtol=1e-12)
