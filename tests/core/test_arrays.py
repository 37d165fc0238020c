"""Your own arrays: the numbers of the theory's own data, sizes read from shapes, and one line
where something does not fit.
"""

import jax
import numpy as np
import pytest
from helpers.own_arrays import KEY, own
from helpers.some import some

import jaxtheory
from jaxtheory import InputError
from jaxtheory.core.config import Size
from jaxtheory.theories import get, names


@pytest.mark.parametrize("name", some(names(), "random_walk"))
def test_the_same_numbers(name):
    theory, (params, batch, problem, config), (own_problem, own_batch, own_config) = own(name)
    for function in map(jax.jit, (theory.loss, theory.gradient)):
        want = function(params, batch, problem, config)
        got = function(params, own_batch, own_problem, own_config)
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    want, got = (
        jax.jit(theory.metrics)(params, *arguments)
        for arguments in ((problem, config), (own_problem, own_config))
    )
    for metric in want:
        np.testing.assert_allclose(
            got[metric], want[metric], rtol=1e-11, atol=1e-13, err_msg=metric
        )


LEAST = {
    "random_walk": ("test_sequences", "test_labels"),
    "attention_pruning": ("heldout", "attends"),
    "contextual_bigram": ("transition", "context"),
    "nearest_neighbor": ("test_examples", "test_queries", "test_labels"),
    "group_sparse": ("test_features", "test_labels", "truth"),
    "low_rank": ("test_tokens", "test_labels", "test_pattern", "patterns", "pattern"),
    "in_context_regression": ("test",),
    "causal_graph": ("test",),
    "task_diversity": ("tasks",),
    "factual_recall": ("test_counts",),
    "positional_semantic": ("direction",),
}


@pytest.mark.parametrize("name", some(names(), "random_walk"))
def test_a_loss_needs_no_more(name):
    theory, (params, batch, problem, config), own_parts = own(name, **dict.fromkeys(LEAST[name]))
    own_problem, own_batch, own_config = own_parts
    loss = jax.jit(theory.loss)
    got = loss(params, own_batch, own_problem, own_config)
    np.testing.assert_allclose(got, loss(params, batch, problem, config), rtol=1e-12)
    metrics = jax.jit(theory.metrics)(params, own_problem, own_config)
    assert any(np.any(np.isnan(value)) for value in metrics.values())


@pytest.mark.parametrize("function", ["loss", "gradient"])
@pytest.mark.parametrize("name", names())
def test_a_wrong_shape_is_a_line_inside_jit(name, function):
    theory, _, (problem, batch, config) = own(name)
    params = theory.init(KEY, problem, config)
    word = {
        "random_walk": "length",
        "attention_pruning": "num_sequences",
        "contextual_bigram": "batch_size",
        "nearest_neighbor": "dimension",
        "group_sparse": "num_groups",
        "low_rank": "num_neurons",
        "in_context_regression": "heads",
        "causal_graph": "num_states",
        "task_diversity": "dimension",
        "factual_recall": "num_subjects",
        "positional_semantic": "dimension",
    }[name]
    size = getattr(config, word)
    wrong = config.replace(**{word: Size(size.cap - 1)})
    with pytest.raises(jaxtheory.InputError) as error:
        jax.jit(getattr(theory, function))(params, batch, problem, wrong)
    assert f"set {word}={size.cap}" in str(error.value) and "\n" not in str(error.value)


RANDOM = np.random.default_rng(0)
WALKS = RANDOM.integers(0, 5, (6, 8))
UNIT = lambda *shape: (z := RANDOM.normal(size=shape)) / np.linalg.norm(z, axis=-1, keepdims=True)
PROMPTS = {
    "examples": UNIT(5, 3, 2),
    "labels": UNIT(5, 3),
    "queries": UNIT(5, 2),
    "query_labels": UNIT(5),
}
EVEN = np.full((2, 2), 0.5)
PAIRS = {"tokens": UNIT(4, 2, 3), "targets": UNIT(4, 2) ** 2, "position": UNIT(3)}
CHAINS = {"tokens": np.array([[0, 1, 1, 0], [1, 0, 0, 1]]), "transitions": np.stack([EVEN] * 2)}

BAD = [
    ("random_walk", {"sequences": WALKS, "labels": WALKS[:5, 0]}, "labels has shape (5,)"),
    ("random_walk", {"sequences": WALKS[0], "labels": WALKS[0]}, "sequences has shape (8,)"),
    ("random_walk", {"sequences": WALKS * 1.0, "labels": WALKS[:, 0]}, "expected integers"),
    ("random_walk", {"sequences": WALKS, "labels": WALKS[:, 0], "N": 5}, "length (N) = 5"),
    ("random_walk", {"sequences": WALKS, "labels": WALKS[:, 0], "K": 4}, "num_states (K) = 4"),
    ("random_walk", {"sequences": WALKS, "labels": WALKS[:, 0], "eta": -1}, "learning_rate"),
    ("random_walk", {"sequences": WALKS, "labels": WALKS[:, 0], "etta": 1}, "unknown field"),
    ("random_walk", {"sequences": WALKS, "labels": list("abcdef")}, "labels holds"),
    ("attention_pruning", {"inputs": np.ones((3, 4), int)}, "inputs holds int64, expected floats"),
    ("attention_pruning", {"inputs": np.full((3, 4), np.nan)}, "all entries must be finite"),
    ("attention_pruning", {"query": np.ones((5, 2))}, "query has shape (5, 2), expected (d, k)"),
    ("attention_pruning", {"key": np.ones((4, 6)), "query": np.ones((4, 6))}, "at most d = 4"),
    ("attention_pruning", {"attends": np.ones((3, 3))}, "expected booleans"),
    ("contextual_bigram", {"transition": np.eye(3)}, "give all of them"),
    ("contextual_bigram", {}, "give transition and context"),
    (
        "contextual_bigram",
        {"transition": np.full((2, 2), 0.5), "context": np.eye(2) * [1, 0]},
        "sum to 1",
    ),
    ("random_walk", {"sequences": WALKS[:0], "labels": WALKS[:0, 0]}, "at least one entry"),
    ("contextual_bigram", {"transition": np.eye(2), "context": np.eye(2)}, "reducible"),
    ("contextual_bigram", {"transition": np.ones((2, 2)), "context": np.eye(2)}, "transpose"),
    (
        "nearest_neighbor",
        {"examples": 2 * UNIT(5, 3, 2), "queries": UNIT(5, 2)},
        "differ from it by up to",
    ),
    ("nearest_neighbor", {"examples": UNIT(5, 3, 2), "queries": UNIT(5, 3)}, "(B, d) = (5, 2)"),
    ("group_sparse", {"features": UNIT(5, 3, 2), "labels": np.arange(5)}, "must be +1 or -1"),
    ("low_rank", {"tokens": UNIT(5, 3, 4), "labels": np.arange(5) % 2, "nrel": 2}, "num_relevant"),
    ("low_rank", {"tokens": UNIT(5, 3, 4), "labels": np.arange(5) % 2 - 1}, "labels are -1 to 0"),
    ("low_rank", {"tokens": UNIT(5, 3, 4), "labels": [0] * 5, "query": UNIT(2, 4)}, "all four"),
    (
        "in_context_regression",
        PROMPTS | {"queries": UNIT(5, 3)},
        "queries has shape (5, 3), expected (P, D) = (5, 2)",
    ),
    ("in_context_regression", PROMPTS | {"test": UNIT(5, 2)}, "test: give (examples, labels,"),
    (
        "in_context_regression",
        PROMPTS | {"test": (UNIT(4, 3, 3), UNIT(4, 3), UNIT(4, 3), UNIT(4))},
        "test examples: D = 3, but examples have D = 2",
    ),
    ("causal_graph", CHAINS | {"tokens": np.full((2, 4), 2)}, "in [0, num_states (S)) = [0, 2)"),
    ("causal_graph", CHAINS | {"transitions": np.full((2, 2, 2), 0.4)}, "rows must sum to 1"),
    ("causal_graph", CHAINS | {"transitions": np.stack([EVEN, np.eye(2)])}, "matrix 1 has more"),
    ("causal_graph", CHAINS | {"parents": [1, 1, 2, 3]}, "p(i) must be 0, or one of 1..i-1"),
    ("causal_graph", CHAINS | {"graph": "tree"}, "parents: give them"),
    ("causal_graph", CHAINS | {"test": np.zeros((2, 4), int)}, "give (tokens, transitions)"),
    ("task_diversity", PROMPTS | {"tasks": UNIT(4, 3)}, "tasks has shape (4, 3)"),
    ("task_diversity", PROMPTS | {"labels": UNIT(5, 4)}, "labels has shape (5, 4)"),
    ("task_diversity", PROMPTS | {"length": 4}, "length"),
    ("factual_recall", {"facts": [[0, -1]]}, "counted from 0"),
    ("factual_recall", {"facts": [[0, 2]], "D": 2}, "in [0, num_answers (D)) = [0, 2)"),
    ("factual_recall", {"facts": [[0, 2]], "embedding": "random"}, "needs both"),
    ("positional_semantic", PAIRS | {"targets": UNIT(4, 2) + 2}, "must be in [0, 1]"),
    ("positional_semantic", PAIRS | {"position": UNIT(4)}, "position has shape (4,)"),
    (
        "causal_graph",
        CHAINS | {"test": (np.zeros((3, 5), int), np.stack([EVEN] * 3))},
        "test tokens: T = 5, but tokens have T = 4",
    ),
]

PRUNING = {"inputs": np.ones((3, 4)), "query": np.ones((4, 2)), "key": np.ones((4, 2))}


@pytest.mark.parametrize(("name", "arguments", "words"), BAD)
def test_bad_arrays_are_one_line(name, arguments, words):
    arguments = (PRUNING if name == "attention_pruning" else {}) | arguments
    with pytest.raises(jaxtheory.InputError) as error:
        get(name).given(**arguments)
    assert words in str(error.value) and "\n" not in str(error.value)


TOKENS, LABELS = np.random.default_rng(0).normal(size=(6, 4, 5)), np.arange(6) % 2
START = [np.eye(5)] * 3 + [np.ones((4, 5))]


def test_a_field_with_the_name_of_an_array_can_be_set():
    build = get("low_rank").given
    by_position = build(TOKENS, LABELS, *START, output="per_token", labels="random")
    assert by_position[2].output == "per_token" and by_position[2].labels == "random"
    by_name = dict(zip(("query", "key", "value", "output"), START, strict=True))
    assert build(TOKENS, labels=LABELS, **by_name)[2].output == "shared"
    assert build(TOKENS, LABELS, output="per_token")[2].output == "per_token"
    features = np.random.default_rng(1).normal(size=(4, 3, 2))
    config = get("group_sparse").given(features, [1, -1, 1, -1], features="uniform")[2]
    assert config.features == "uniform"
    with pytest.raises(InputError, match="labels: this array is missing"):
        build(TOKENS, output="per_token")
