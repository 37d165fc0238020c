"""What validate refuses."""

import pytest

from jaxtheory.core.validation import validate
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.nearest_neighbor import Config


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dimension": 1}, "dimension (d)"),
        ({"context": 0}, "context (N)"),
        ({"num_prompts": 0}, "num_prompts (B)"),
        ({"num_test": 0}, "num_test (M)"),
        ({"separation": 4.5}, "separation (delta)"),
        ({"separation": -0.1}, "separation (delta)"),
        ({"mask": -1.0}, "mask (sigma)"),
        ({"initial_alignment": -1.0}, "initial_alignment (xi0)"),
        ({"learning_rate": 0.0}, "learning_rate (eta)"),
        ({"labels": "uniform"}, "labels (labels)"),
    ],
)
def test_refused(change, words):
    with pytest.raises(InputError) as refused:
        validate(Config(**change))
    assert words in str(refused.value) and "\n" not in str(refused.value)
