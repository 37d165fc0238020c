"""Attention masks and weights as they are drawn."""

import jax
import numpy as np
import pytest

from jaxtheory.core.config import Size
from jaxtheory.theories.attention_pruning import Config, data


@pytest.mark.parametrize("kind", ["causal", "full", "block"])
def test_attention_masks(kind):
    mask = np.asarray(data.attention_mask(Config(length=Size(9, 6), attention=kind)))
    assert not mask[6:].any() and not mask[:, 6:].any()
    inner = mask[:6, :6]
    assert (
        inner
        == {
            "causal": np.tri(6),
            "full": np.ones((6, 6)),
            "block": np.kron(np.eye(2), np.ones((4, 4)))[:6, :6],
        }[kind]
    ).all()


def test_weights_have_the_given_rank_and_scale():
    problem = jax.jit(
        lambda tau: data.problem(
            jax.random.key(4), Config(dimension=12, length=3, rank=3, logit_scale=tau)
        )
    )
    literal, smooth = problem(100.0), problem(12.5)
    for W in (literal.query, literal.key):
        spectrum = np.linalg.svd(W, compute_uv=False)
        assert spectrum[2] > 0.1 and spectrum[3] < 1e-12
    np.testing.assert_allclose(smooth.weights, literal.weights / 8, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        literal.weights, literal.query @ literal.key.T, rtol=1e-12, atol=1e-12
    )
    assert (literal.uniform >= 0).all() and (literal.uniform <= 1).all()
