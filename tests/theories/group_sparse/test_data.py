"""The data: the three laws, the margin, partitions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.ops.draws import run_key
from jaxtheory.theories.group_sparse import Config, data

KEY = run_key(0, 0)
draw = jax.jit(data.problem)
SMALL = Config(group_dim=3, num_groups=4, num_samples=40, downstream_samples=30)


@pytest.mark.parametrize(("features", "largest"), [("uniform", 3**0.5), ("rademacher", 1.0)])
def test_the_features_of_both_tasks(features, largest):
    problem = draw(KEY, SMALL.replace(features=features, noise_scale=2.0))
    x = np.abs(problem.downstream_test.x)
    assert x.max() <= 2 * largest and abs((x**2).mean() - 4) < 0.2
    assert features == "uniform" or np.all(x == 2)
    assert np.abs(problem.train.x).max() > 2 * 3**0.5  # pre-training stays Gaussian
    np.testing.assert_array_equal(
        problem.train.x, draw(KEY, SMALL.replace(noise_scale=2.0)).train.x
    )


def test_only_the_relevant_group_moves_by_the_margin():
    config = SMALL.replace(margin=1.5)
    problem = draw(KEY, config)
    v, before = np.asarray(problem.downstream_truth), problem.downstream
    after = data.moved(before, problem, config)
    other_groups = [0, 2, 3]
    np.testing.assert_array_equal(after.x[:, other_groups], before.x[:, other_groups])
    was, now = v @ np.asarray(before.x[:, 1]), v @ np.asarray(after.x[:, 1])
    np.testing.assert_allclose(now, was + 1.5 * np.sign(was), rtol=1e-12)
    np.testing.assert_array_equal(after.y, np.sign(was))


def test_the_label_of_zero_is_one():
    batch = data.labeled(jnp.zeros((2, 3, 4)), 4, jnp.asarray([1.0, 0.0]), SMALL)
    np.testing.assert_array_equal(batch.y, 1)


def test_a_partition_is_the_reshaped_problem():
    """Coordinates 0..5 of the flat vector in the groups (4, 0), (1, 5), (3, 2); contiguous groups
    are (0, 1), (2, 3), (4, 5).
    """
    config = Config(group_dim=2, num_groups=3, num_samples=8, relevant_group=1)
    flat = np.asarray(draw(KEY, config).train.x).transpose(1, 0, 2).reshape(6, 8)
    problem = draw(KEY, config.replace(partition=((4, 0), (1, 5), (3, 2))))
    np.testing.assert_array_equal(problem.train.x, np.stack([flat[[4, 1, 3]], flat[[0, 5, 2]]]))
    np.testing.assert_array_equal(
        problem.train.y, np.sign(np.asarray(problem.truth) @ flat[[4, 0]])
    )
