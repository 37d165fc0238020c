"""The bounds under shift at special points."""

import jax.numpy as jnp
import numpy as np

from jaxtheory.theories.nearest_neighbor import Config, data, model
from jaxtheory.theories.nearest_neighbor.laws import bounds
from jaxtheory.theories.nearest_neighbor.model import Reduced


def test_the_bound_knows_queries_far_from_every_example():
    config = Config(dimension=2, context=2)
    x = jnp.array([[[-1.0, 0.0], [-0.8, -0.6]]])
    prompts = data.make_prompts(x, jnp.array([[0.0, 1.0]]), jnp.array([[1.0, -1.0]]), 1, config)
    params, delta = (
        Reduced(jnp.asarray(9.0), jnp.asarray(9.0)),
        1.2,
    )  # |x - q|^2 = 2 and 3.2; the query's logit equals the nearest's
    s = model.attend(params, prompts, config)
    error = abs(float(s[0, 0] - s[1, 0]) - 1)
    assert 0.4 < error <= float(bounds.bound(params, prompts, delta, config)[0])
    at_query = prompts._replace(t=jnp.ones_like(prompts.t))
    assert error > 10 * float(bounds.bound(params, at_query, delta, config)[0])
    assert np.isclose(
        float(bounds.shift_bound(params, delta, config)),
        np.exp(-10.8) + (np.exp(-5.4) + np.exp(-9)) ** 2,
    )
