"""What validate and output weights refuse."""

import jax
import pytest

import jaxtheory
from jaxtheory.core.validation import validate
from jaxtheory.texts.errors import InputError
from jaxtheory.theories.low_rank import P1, THEORY, Config, data, model

KEY = jaxtheory.run_key(0, 0)
SMALL = Config(
    num_patterns=5,
    dimension=6,
    num_relevant=3,
    num_confusion=1,
    num_neurons=6,
    batch_size=4,
    num_samples=10,
    num_test=6,
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_confusion": 9}, ["num_confusion (nconf) = 9", "below num_relevant (nrel) = 9"]),
        ({"num_relevant": 0}, ["num_relevant (nrel) = 0", "[1, inf)"]),
        ({"num_patterns": 2}, ["num_patterns (M) = 2", "[3, inf)"]),
        ({"num_patterns": 21}, ["num_patterns (M) = 21", "[3, dimension (d)] = [3, 20]"]),
        ({"num_relevant_patterns": 21}, ["num_relevant_patterns (R) = 21", "num_patterns (M)"]),
        (
            {"task": "multiclass", "num_classes": 3},
            ["num_relevant_patterns (R) = 2", "num_classes (C) = 3"],
        ),
        (
            {"num_classes": 3, "num_relevant_patterns": 3},
            ["num_classes (C) = 3", "task=multiclass"],
        ),
        ({"batch_size": 601}, ["batch_size (B) = 601", "[1, 600]"]),
        ({"num_queries": 31}, ["num_queries (S) = 31", "[0, 30]"]),
        ({"truncation_rank": 0}, ["truncation_rank (r) = 0", "[1, inf)"]),
        ({"truncation_rank": 21}, ["truncation_rank (r) = 21", "[1, 20]"]),
        ({"num_heads": 3}, ["num_heads (H) = 3", "query_dim (m_b) = 20"]),
        ({"num_layers": 2, "value_dim": 10}, ["num_layers (nl) = 2", "value_dim (m_a) = 10"]),
        ({"noise": -0.1}, ["noise (sigma) = -0.1", "[0, inf)"]),
        ({"coherence": 1.0}, ["coherence (cos) = 1.0", "[0, 1)"]),
        ({"given": ((1.0, 0.0), (0.0, 1.0))}, ["given (U)", "shape (2, 2)", "(20, 20)"]),
        (
            {"given": ((1.0, 0, 0), (0.6, 0.8, 0), (0, 0, 1.0)), "num_patterns": 3, "dimension": 3},
            ["orthonormal", "0.6"],
        ),
        ({"given": ((1.0,), (1.0, 0.0))}, ["given (U)", "tuple of M rows"]),
    ],
)
def test_bad_input_gets_one_clear_line(change, words):
    with pytest.raises(InputError) as error:
        validate(Config(**change))
    assert "\n" not in str(error.value)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_output_weights_per_position_hold_for_one_length():
    config = P1.replace(
        num_neurons=SMALL.num_neurons, num_samples=SMALL.num_samples, num_test=SMALL.num_test
    )
    problem = jax.eval_shape(data.problem, KEY, config)
    variant = config.replace(num_relevant=jaxtheory.Size(10))
    params = jax.eval_shape(THEORY.init, KEY, problem, config)
    with pytest.raises(
        InputError, match=r"batch.tokens has shape \(6, 30, 20\), expected \(n, L, d\)"
    ):
        jax.eval_shape(lambda p, m: model.loss(p, m.test, m, variant), params, problem)
