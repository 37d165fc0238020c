"""What validate refuses."""

import pytest

from jaxtheory.core.validation import validate
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.contextual_bigram import Config

GIVEN = ((0.1, 0.6, 0.0), (0.9, 0.0, 0.5), (0.0, 0.4, 0.5))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sparsity": 9, "length": 8}, ["sparsity (Q) = 9", "at most length (T) = 8"]),
        ({"sparsity": 8, "length": 8}, ["K_Q = 0", "lower Q or set weights=unequal"]),
        ({"l1": -1e-5}, ["l1 (lambda) = -1e-05", "[0, inf)"]),
        ({"batch_size": 0}, ["batch_size (B) = 0", "[1, inf)"]),
        ({"num_states": 1}, ["num_states (N) = 1", "[2, inf)"]),
        ({"stationary_floor": 0.4}, ["stationary_floor (mu0) = 0.4", "[0, 0.333333)"]),
        (
            {"num_states": 2, "stationary_floor": 0.1, "correlation": 0.5},
            ["correlation (rho) = 0.5", "two tokens"],
        ),
        ({"threshold": 1.0}, ["threshold (theta) = 1.0", "(0, 1)"]),
        ({"given": ((0.3, 0.3), (0.7, 0.7)), "num_states": 2}, ["given (P)", "trivial", "K_P = 0"]),
        (
            {"given": ((1.0, 0.0, 0.2), (0.0, 1.0, 0.3), (0.0, 0.0, 0.5))},
            ["given (P)", "reducible"],
        ),
        (
            {"given": ((0.99999, 0.9), (0.00001, 0.1)), "num_states": 2},
            ["given (P)", "min mu = 1.1"],
        ),
        ({"given": tuple(zip(*GIVEN, strict=True))}, ["given (P)", "sums", "transpose"]),
        (
            {"given": GIVEN, "num_states": 4, "stationary_floor": 0.1},
            ["given (P)", "shape (3, 3)", "num_states=3"],
        ),
        ({"given": [[0.5]]}, ["given (P)", "hashable"]),
        ({"given": ((0.5,), (0.5, 1.0))}, ["given (P)", "tuple of N rows"]),
        ({"prox": "three"}, ["prox", "'two_case'"]),
    ],
)
def test_bad_input_gets_one_clear_line(change, words):
    with pytest.raises(InputError) as error:
        validate(Config(**change))
    assert "\n" not in str(error.value)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_the_presets_and_a_periodic_chain_are_valid():
    validate(Config())
    validate(
        Config(
            given=((0.0, 1.0), (1.0, 0.0)), num_states=2, weights="unequal", length=4, sparsity=4
        )
    )
