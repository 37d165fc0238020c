"""Test prompts of one's own may be more, and of another length, than those of training."""

import jax
import numpy as np
import pytest

from jaxtheory.theories.in_context_regression import THEORY


def prompts(count, length, seed):
    rng = np.random.default_rng(seed)
    x, query = rng.normal(size=(count, length, 3)), rng.normal(size=(count, 3))
    w = rng.normal(size=(count, 3))
    return x, np.einsum("pnd,pd->pn", x, w), query, np.einsum("pd,pd->p", query, w)


@pytest.mark.parametrize(("count", "length"), [(7, 9), (2, 3), (7, 3), (4, 5)])
def test_test_prompts_are_read_as_those_of_training_are(count, length):
    heldout = prompts(count, length, seed=1)
    problem, _, config = THEORY.given(*prompts(4, 5, seed=0), heldout, heads=2)
    _, batch, _ = THEORY.given(*heldout, heads=2)
    assert config.length.n == 5 and config.num_prompts.n == 4
    for got, want in zip(jax.tree.leaves(problem.test), jax.tree.leaves(batch), strict=True):
        np.testing.assert_array_equal(got, want)
