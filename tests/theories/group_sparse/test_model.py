"""Encodings under padding, and what validate refuses."""

import numpy as np
import pytest

from jaxtheory.core.validation import validate
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.group_sparse import Config, model

SMALL = Config(group_dim=3, num_groups=4, num_samples=40, downstream_samples=30)


def test_encodings_are_sines_of_one_length_for_the_true_number_of_groups():
    P = np.asarray(model.encodings(SMALL.pad(num_groups=7)))
    assert not P[4:].any() and not P[:, 4:].any()
    np.testing.assert_allclose(P[:4, :4] @ P[:4, :4], 2.5 * np.eye(4), atol=1e-14)
    np.testing.assert_allclose(P[1, 2], np.sin(6 * np.pi / 5), rtol=1e-14)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"group_dim": 1}, "group_dim (d)"),
        ({"num_groups": 1}, "num_groups (D)"),
        ({"relevant_group": 0}, "relevant_group (jstar)"),
        (
            {"relevant_group": 7},
            "relevant_group (jstar) = 7 exceeds num_groups (D) = 6: choose one of 1..6",
        ),
        ({"num_samples": 0}, "num_samples (n)"),
        ({"downstream_samples": 0}, "downstream_samples (m)"),
        ({"noise_scale": 0.0}, "noise_scale (sigma_x)"),
        ({"learning_rate": -1.0}, "learning_rate (eta)"),
        ({"margin": -0.1}, "margin (gamma)"),
        ({"pretraining_steps": -1}, "pretraining_steps (tau)"),
        ({"features": "gauss"}, "features"),
        ({"attention": "free"}, "attention"),
        ({"partition": "random"}, "partition = 'random': give 'contiguous'"),
        (
            {"group_dim": 2, "num_groups": 2, "partition": ((0, 1), (2, 2))},
            "that hold each of 0..3 once",
        ),
        (
            {"group_dim": 2, "num_groups": 2, "partition": ((0, 1, 2, 3),)},
            "2 tuples of group_dim (d) = 2 coordinates",
        ),
    ],
)
def test_refused(change, words):
    with pytest.raises(InputError) as refused:
        validate(Config(**change))
    assert words in str(refused.value) and "\n" not in str(refused.value)
