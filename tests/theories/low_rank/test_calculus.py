"""The kink of the gradient."""

import jax
import numpy as np

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
    made = data.problem(KEY, SMALL)
    params = THEORY.init(KEY, made, SMALL)
    params = params._replace(output=params.output.at[3].set(0))
    g = THEORY.gradient(params, made.train, made, SMALL).output
    assert not np.asarray(g[3]).any() and np.asarray(g).any()
    np.testing.assert_array_equal(
        jax.grad(THEORY.loss)(params, made.train, made, SMALL).output[3], 0
    )
