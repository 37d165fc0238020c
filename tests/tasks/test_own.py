"""A task of one's own arrays."""

import jax
import numpy as np
import pytest

import jaxtheory
from jaxtheory import InputError, tasks
from jaxtheory.core import docstrings

TOKENS = np.array([[0, 1, 2], [2, 1, 0], [1, 1, 1], [0, 0, 3]])
VECTORS = np.arange(24.0).reshape(4, 3, 2)
KEY = jaxtheory.run_key(0, 0)


def prepare(task, B=3):
    config = task.Config(batch_size=B)
    problem = task.problem(KEY, config)
    return config, problem, task.sample(KEY, problem, config)


def outputs(task, config, batch):
    return jax.random.normal(KEY, (*batch.inputs.shape[:2], task.outputs(config)))


def test_classes_of_tokens():
    task = tasks.given("mine", TOKENS, [0, 2, 1, 2])
    config, problem, batch = prepare(task)
    assert (task.vocabulary(config), task.outputs(config)) == (4, 3)
    rows = {(*map(int, row),) for row in batch.inputs}
    assert len(rows) == 3 and rows <= {(*map(int, row),) for row in TOKENS}
    predictions = outputs(task, config, batch)
    logits = np.asarray(predictions)[:, -1]
    law = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    want = -np.mean(np.log(law[np.arange(3), batch.targets]))
    np.testing.assert_allclose(task.loss(predictions, batch, problem, config), want, rtol=1e-12)


def test_numbers_at_every_position_of_vectors():
    targets = np.linspace(0, 1, 12).reshape(4, 3)
    task = tasks.given("mine", VECTORS, targets, kind="regression")
    config, problem, batch = prepare(task, 4)
    assert task.vocabulary(config) is None and task.outputs(config) == 1
    predictions = outputs(task, config, batch)
    want = np.mean((np.asarray(predictions)[:, :, 0] - batch.targets) ** 2) / 2
    np.testing.assert_allclose(task.loss(predictions, batch, problem, config), want, rtol=1e-12)
    shown = task.metrics(lambda b: outputs(task, config, b), lambda b: None, problem, config)
    assert set(shown) == {"loss"}


def test_metrics_are_those_of_the_test_sequences():
    task = tasks.given("mine", TOKENS, [0, 2, 1, 2], test_inputs=[[3, 3, 3]], test_targets=[1])
    config, problem, _ = prepare(task)
    right = lambda batch: 50.0 * jax.nn.one_hot(batch.targets, 3)[:, None].repeat(3, 1)
    metrics = task.metrics(right, lambda batch: None, problem, config)
    assert metrics["accuracy"] == 1 and metrics["loss"] < 1e-12
    np.testing.assert_array_equal(problem.test.inputs, [[3, 3, 3]])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"kind": "ranking"}, "kind = 'ranking'"),
        ({"targets": [0, 1, 2]}, "targets"),
        ({"targets": [0, -1, 2, 1]}, "targets holds -1"),
        ({"targets": [0.5, 1, 2, 1]}, "targets holds float64, expected integers"),
        ({"inputs": TOKENS - 1}, "inputs holds -1"),
        ({"test_inputs": TOKENS}, "test_inputs and test_targets: give both, or neither"),
        ({"inputs": VECTORS * np.nan}, "must be finite"),
    ],
)
def test_arrays_that_do_not_fit_are_named(words, message):
    arguments = {"name": "mine", "inputs": TOKENS, "targets": [0, 2, 1, 2]} | words
    with pytest.raises(InputError, match=message):
        tasks.given(**arguments)


def test_a_batch_of_more_than_all_sequences_is_refused():
    task = tasks.given("mine", TOKENS, [0, 2, 1, 2])
    with pytest.raises(InputError, match=r"batch_size \(B\) = 5: must be in \[1, 4\]"):
        prepare(task, 5)


def test_tasks_are_found_by_name():
    without = {"positional_semantic"}  # its labels are pairs of vectors
    assert set(tasks.names()) == set(jaxtheory.theories.names()) - without
    for name in tasks.names():
        assert getattr(tasks, name) is tasks.get(name) and tasks.get(name).name == name
    with pytest.raises(InputError, match=r"unknown task 'random_wlk'.*random_walk"):
        tasks.get("random_wlk")


@pytest.mark.parametrize(
    ("kind", "meaning"),
    [
        ("classification", "cross-entropy of the class, nats"),
        ("regression", "1/2 mean (output - target)^2"),
    ],
)
def test_its_metrics_have_meanings(kind, meaning):
    targets = [0, 1, 1] if kind == "classification" else [0.0, 1.0, 0.5]
    task = jaxtheory.tasks.given("own", [[0, 1], [1, 1], [1, 0]], targets, kind)
    assert docstrings.meanings(docstrings.doc(task.metrics))["loss"] == meaning
