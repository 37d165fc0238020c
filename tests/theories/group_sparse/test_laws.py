"""The step size at which the bias of descent from 0 is no longer stable, from the dense Hessian."""

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory import Size
from jaxtheory.ops import draws
from jaxtheory.theories import group_sparse as theory
from jaxtheory.theories.group_sparse import laws, model


def hessian_at_start(config):
    """The Hessian at 0 on samples that come with their mirror images, (x, y) and (-x, -y)."""
    problem = theory.problem(draws.run_key(0, 0), config)
    train = problem.train
    batch = model.Batch(
        jnp.concatenate([train.x, -train.x], axis=2),
        jnp.concatenate([train.y, -train.y]),
        jnp.concatenate([train.weight, train.weight]) / 2,
    )
    start = model.init(jax.random.key(0), problem, config)
    flat, shaped = jax.flatten_util.ravel_pytree(start)
    loss = lambda w: model.loss(shaped(w), batch, problem, config)
    bias = start._replace(v2=model.encodings(config) @ jnp.ones(config.num_groups.cap))
    return jax.hessian(loss)(flat), jax.flatten_util.ravel_pytree(bias)[0]


@pytest.mark.parametrize(("d", "D", "n"), [(2, 2, 200), (3, 4, 300), (2, 6, 500)])
def test_the_bias_is_an_eigenvector_with_the_largest_curvature(d, D, n):
    config = theory.Config(group_dim=d, num_groups=D, num_samples=n)
    H, bias = hessian_at_start(config)
    curvature = 2 / laws.predict_boundary(config)
    np.testing.assert_allclose(H @ bias, curvature * bias, atol=1e-12)
    assert np.linalg.eigvalsh(H)[-1] < 1.15 * curvature  # of so few samples
    assert np.linalg.eigvalsh(H)[-1] > curvature * (1 - 1e-12)


def test_padding_and_scale_change_nothing():
    for D in (2, 5, 12):
        for sigma in (0.1, 1.0, 30.0):
            config = theory.Config(num_groups=Size(12, D), noise_scale=sigma)
            np.testing.assert_allclose(laws.predict_boundary(config), 16 / (D * (D + 1)), 1e-14)
