"""A task is checked when it is made, with one line for each wrong slot."""

import pickle

import pytest

import jaxtheory
from jaxtheory import InputError
from jaxtheory.core.task import Task
from jaxtheory.theories import random_walk


def problem(_key, _config):
    return ()


def sample(_key, _problem, _config):
    return ()


def inputs(batch, _problem, _config):
    return batch


def loss(outputs, _batch, _problem, _config):
    return outputs.mean()


def outputs(_config):
    return 1


SLOTS = {
    "name": "mine",
    "Config": random_walk.Config,
    "problem": problem,
    "sample": sample,
    "inputs": inputs,
    "loss": loss,
    "outputs": outputs,
}


def test_the_optional_slots_say_nothing():
    task = Task(**SLOTS)
    config = task.Config()
    assert task.vocabulary(config) is None
    assert task.metrics(None, None, (), config) == {} == task.optimal((), config) == task.dims
    assert jaxtheory.Task is Task


def test_a_copy_is_a_task_and_a_task_can_be_pickled():
    task = Task(**SLOTS)
    assert type(task._replace(name="other")) is Task
    assert pickle.loads(pickle.dumps(task)) == task


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"name": ""}, "name = '': the name of a task must be a non-empty string"),
        ({"Config": dict}, r"mine.Config = <class 'dict'>: must be a subclass"),
        ({"outputs": 3}, r"mine.outputs is a int, expected a function \(config\)"),
        ({"loss": inputs}, r"mine.loss: argument 1 is 'batch', expected 'outputs'"),
        ({"inputs": outputs}, r"mine.inputs: argument 1 is '_config', expected 'batch'"),
        ({"dims": {"a": "lag"}}, r"mine.dims = {'a': 'lag'}: must map metrics to tuples"),
    ],
)
def test_a_wrong_slot_is_named(broken, message):
    with pytest.raises(InputError, match=message):
        Task(**SLOTS | broken)


def test_each_wrong_slot_has_a_line():
    with pytest.raises(InputError) as error:
        Task(**SLOTS | {"outputs": 3, "loss": inputs})
    assert len(str(error.value).splitlines()) == 2


def test_a_missing_slot_is_named():
    with pytest.raises(InputError, match="Task: missing a required argument: 'outputs'"):
        Task(**{slot: value for slot, value in SLOTS.items() if slot != "outputs"})
    with pytest.raises(InputError, match="Task has no 'metric'; did you mean 'metrics'"):
        Task(**SLOTS, metric=outputs)
