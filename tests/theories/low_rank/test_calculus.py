"""The kink of the gradient, and its path through three layers."""

import chex
import jax
import numpy as np
import pytest

import jaxtheory
from jaxtheory.theories.low_rank import THEORY, Config, data

KEY = jaxtheory.run_key(0, 1)
SMALL = Config(
    num_patterns=6,
    dimension=6,
    query_dim=6,
    value_dim=6,
    num_neurons=40,
    num_relevant=6,
    num_confusion=1,
    batch_size=16,
    num_samples=80,
    num_test=40,
    noise=0.05,
    init_diagonal=0.3,
)


def test_a_pruned_neuron_stays_pruned():
    """A zero row has h = 0 exactly: the strict kink gives it no gradient."""
    problem = data.problem(KEY, SMALL)
    params = THEORY.init(KEY, problem, SMALL)
    params = params._replace(output=params.output.at[3].set(0))
    g = THEORY.gradient(params, problem.train, problem, SMALL).output
    assert not np.asarray(g[3]).any() and np.asarray(g).any()
    np.testing.assert_array_equal(
        jax.grad(THEORY.loss)(params, problem.train, problem, SMALL).output[3], 0
    )


@pytest.mark.slow
def test_the_gradient_of_three_layers_is_that_of_autodiff():
    """Where a layer has others both before and behind it."""
    config = SMALL.replace(num_layers=3, num_heads=2)
    problem = data.problem(KEY, config)
    start, rng = THEORY.init(KEY, problem, config), np.random.default_rng(2)
    params = jax.tree.map(lambda x: x + 0.3 * rng.normal(size=x.shape), start)
    gradient = THEORY.gradient(params, problem.train, problem, config)
    wanted = jax.grad(THEORY.loss)(params, problem.train, problem, config)
    chex.assert_trees_all_close(gradient, wanted, rtol=1e-9, atol=1e-12)
