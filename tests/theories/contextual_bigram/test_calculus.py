"""The gradient where a batch lacks a token."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxtheory
from jaxtheory.theories.contextual_bigram import Config, calculus, data, model
from jaxtheory.theories.contextual_bigram.model import Batch, Params

KEY = jaxtheory.run_key(0, 1)


def test_a_token_that_is_no_query_has_gradient_zero():
    config = Config(length=5, batch_size=4)
    task = jax.jit(data.problem)(KEY, config)
    batch = Batch(jnp.zeros((4, 5), jnp.uint8), jnp.array([0, 0, 2, 2]), jnp.array([0, 1, 2, 0]))
    g = calculus.gradient(
        Params(model.init(KEY, task, config).attention, task.transition), batch, task, config
    ).attention
    assert not np.asarray(g)[:, 1].any() and np.asarray(g)[:, 0].any()
