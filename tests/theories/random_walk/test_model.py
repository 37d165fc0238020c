"""Positional encodings, and what validate refuses."""

import numpy as np
import pytest

from jaxtheory.core.validation import validate
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.random_walk import Config, model


def test_encodings_are_sines_of_one_length():
    P = np.asarray(model.encodings(Config(length=97, encoding_dim=1000)))
    np.testing.assert_allclose(P @ P.T, 500.5 * np.eye(97), atol=1e-10)
    np.testing.assert_allclose(P[2, 6], np.sin(3 * 7 * np.pi / 1001), rtol=1e-13)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"encoding_dim": 96}, "encoding_dim (M) = 96"),
        ({"num_states": 2}, "num_states (K)"),
        ({"length": 1}, "length (N)"),
        ({"clockwise_probability": 1.5}, "clockwise_probability (p)"),
        ({"epsilon": 0.0}, "epsilon (eps)"),
        ({"init_scale": -1.0}, "init_scale (sigma)"),
        ({"task": "qa1"}, "num_states (K) = 6"),
        ({"task": "qa2", "num_states": 19, "length": 17}, "set length=19"),
        ({"population": True}, "clockwise_probability (p) 0 or 1"),
        ({"value": "mlp"}, "init_scale (sigma) = 0"),
        ({"loss_function": "hing"}, "loss_function (ell)"),
    ],
)
def test_refused(change, words):
    with pytest.raises(InputError) as refused:
        validate(Config(**change))
    assert words in str(refused.value)
