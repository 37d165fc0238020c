"""The data: the three laws, the margin, partitions, padding, and what validate refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.core.config import InputError, validate
from jaxtheory.core.draws import run_key
from jaxtheory.theories.group_sparse import Config, encodings, problem
from jaxtheory.theories.group_sparse.model import labelled, moved

KEY = run_key(0, 0)
draw = jax.jit(problem)
SMALL = Config(group_dim=3, num_groups=4, num_samples=40, downstream_samples=30)


@pytest.mark.parametrize(("features", "largest"), [("uniform", 3**0.5), ("rademacher", 1.0)])
def test_the_features_of_both_tasks(features, largest):
    data = draw(KEY, SMALL.replace(features=features, noise_scale=2.0))
    x = np.abs(data.downstream_test.x)
    assert x.max() <= 2 * largest and abs((x**2).mean() - 4) < 0.2
    assert features == "uniform" or np.all(x == 2)
    assert np.abs(data.train.x).max() > 2 * 3**0.5  # pre-training stays Gaussian
    np.testing.assert_array_equal(data.train.x, draw(KEY, SMALL.replace(noise_scale=2.0)).train.x)


def test_only_the_relevant_group_moves_by_the_margin():
    config = SMALL.replace(margin=1.5)
    data = draw(KEY, config)
    v, before = np.asarray(data.downstream_truth), data.downstream
    after = moved(before, data, config)
    others = [0, 2, 3]
    np.testing.assert_array_equal(after.x[:, others], before.x[:, others])
    was, now = v @ np.asarray(before.x[:, 1]), v @ np.asarray(after.x[:, 1])
    np.testing.assert_allclose(now, was + 1.5 * np.sign(was), rtol=1e-12)
    np.testing.assert_array_equal(after.y, np.sign(was))


def test_the_label_of_zero_is_one():
    batch = labelled(jnp.zeros((2, 3, 4)), 4, jnp.asarray([1.0, 0.0]), SMALL)
    np.testing.assert_array_equal(batch.y, 1)


def test_a_partition_is_the_reshaped_problem():
    """Coordinates 0..5 of the flat vector in the groups (4, 0), (1, 5), (3, 2); contiguous groups are (0, 1), (2, 3), (4, 5)."""
    config = Config(group_dim=2, num_groups=3, num_samples=8, relevant_group=1)
    flat = np.asarray(draw(KEY, config).train.x).transpose(1, 0, 2).reshape(6, 8)
    data = draw(KEY, config.replace(partition=((4, 0), (1, 5), (3, 2))))
    np.testing.assert_array_equal(data.train.x, np.stack([flat[[4, 1, 3]], flat[[0, 5, 2]]]))
    np.testing.assert_array_equal(data.train.y, np.sign(np.asarray(data.truth) @ flat[[4, 0]]))


def test_encodings_are_sines_of_one_length_for_the_true_number_of_groups():
    P = np.asarray(encodings(SMALL.pad(num_groups=7)))
    assert not P[4:].any() and not P[:, 4:].any()
    np.testing.assert_allclose(P[:4, :4] @ P[:4, :4], 2.5 * np.eye(4), atol=1e-14)
    np.testing.assert_allclose(P[1, 2], np.sin(6 * np.pi / 5), rtol=1e-14)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"group_dim": 1}, "group_dim (d)"),
        ({"num_groups": 1}, "num_groups (D)"),
        ({"relevant_group": 0}, "relevant_group (jstar)"),
        ({"relevant_group": 7}, "relevant_group (jstar) = 7 exceeds num_groups (D) = 6: choose one of 1..6"),
        ({"num_samples": 0}, "num_samples (n)"),
        ({"downstream_samples": 0}, "downstream_samples (m)"),
        ({"noise_scale": 0.0}, "noise_scale (sigma_x)"),
        ({"learning_rate": -1.0}, "learning_rate (eta)"),
        ({"margin": -0.1}, "margin (gamma)"),
        ({"pretraining_steps": -1}, "pretraining_steps (tau)"),
        ({"features": "gauss"}, "features"),
        ({"attention": "free"}, "attention"),
        ({"partition": "random"}, "partition = 'random': give 'contiguous'"),
        ({"group_dim": 2, "num_groups": 2, "partition": ((0, 1), (2, 2))}, "that hold each of 0..3 once"),
        ({"group_dim": 2, "num_groups": 2, "partition": ((0, 1, 2, 3),)}, "2 tuples of group_dim (d) = 2 coordinates"),
    ],
)
def test_refused(change, words):
    with pytest.raises(InputError) as refused:
        validate(Config(**change))
    assert words in str(refused.value) and "\n" not in str(refused.value)
