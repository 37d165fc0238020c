"""The sharpness at the dense attention and the step size that it allows, from dense Hessians."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.ops import draws
from jaxtheory.theories import attention_pruning as theory
from jaxtheory.theories.attention_pruning import laws, model
from jaxtheory.theories.attention_pruning.model import Batch, FusedMask


def largest(problem, config, mask):
    """The largest eigenvalue of the dense Hessian at a mask."""
    loss = lambda M: model.loss(
        FusedMask(M.reshape(mask.shape)), Batch(problem.inputs), problem, config
    )
    return np.linalg.eigvalsh(jax.hessian(loss)(mask.ravel()))[-1]


@pytest.mark.parametrize("tau", [0.5, 3.0, 30.0])
@pytest.mark.parametrize("sizes", [(5, 4, 1), (4, 6, 3)])
def test_the_sharpness_is_that_of_the_dense_hessian_at_ones(tau, sizes):
    d, L, S = sizes
    config = theory.Config(
        dimension=d, length=L, num_sequences=S, logit_scale=tau, regularization=0.02
    )
    problem = theory.problem(draws.run_key(1, 2), config)
    want = largest(problem, config, jnp.ones((d, d)))
    np.testing.assert_allclose(laws.dense_sharpness(problem, config), want, rtol=2e-3)
    np.testing.assert_allclose(
        laws.predict_boundary(problem, config), 2 * (1 + config.momentum) / want, rtol=2e-3
    )


def test_every_mask_that_reproduces_the_attention_has_it():
    """Weights that are 0 leave their mask free."""
    config = theory.Config(dimension=5, length=4, logit_scale=2.0, regularization=0.01)
    problem = theory.problem(draws.run_key(1, 2), config)
    problem = problem._replace(weights=problem.weights.at[:2].set(0.0))
    mask = jnp.ones((5, 5)).at[:2].set(7.0)
    want = largest(problem, config, mask)
    np.testing.assert_allclose(laws.dense_sharpness(problem, config), want, rtol=2e-3)


def test_one_token_leaves_the_penalty_alone():
    config = theory.Config(dimension=3, length=1, momentum=0.0, regularization=0.25)
    problem = theory.problem(draws.run_key(0, 0), config)
    np.testing.assert_allclose(laws.predict_boundary(problem, config), 8.0, rtol=1e-12)


def test_descent_settles_below_it_and_not_above():
    """From near M = 1, in the quadratic: 10 % below the step shrinks a disturbance, above not."""
    config = theory.Config(dimension=6, length=5, momentum=0.0, logit_scale=3.0, regularization=0.1)
    problem = theory.problem(draws.run_key(3, 0), config)
    loss = lambda M: model.attention_loss(FusedMask(M), Batch(problem.inputs), problem, config)
    disturbed = jnp.ones((6, 6)) + 1e-6 * draws.normal(jax.random.key(0), 6, 6)

    def after(eta):
        penalty = lambda M: config.regularization / 2 * jnp.sum((M - 1) ** 2)  # around M = 1
        slope = jax.grad(lambda M: loss(M) + penalty(M))
        move = lambda _, M: M - eta * slope(M)
        return float(jnp.max(abs(jax.lax.fori_loop(0, 200, move, disturbed) - 1)))

    edge = laws.predict_boundary(problem, config)
    assert after(0.95 * edge) < 1e-7 and after(1.05 * edge) > 1e-5
