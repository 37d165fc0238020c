"""Every task trains the standard Transformer: finite metrics that move."""

import jax
import numpy as np
import pytest
from helpers.on_tasks import SMALL
from helpers.some import some

import jaxtheory
from jaxtheory import tasks

WITHOUT_ATTENTION = (
    "in_context_regression",
    "task_diversity",
)  # every example counts as much for the answer


@pytest.mark.parametrize("name", some(tasks.names(), "nearest_neighbor"))
def test_a_transformer_trains_on_it(name):
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        theory = jaxtheory.networks.transformer(tasks.get(name))
        config = theory.Config(**SMALL[name], width=8, heads=2, depth=1)
        data = jaxtheory.sweep(theory, config, seeds=2, steps=3, record=[0, 3])
    task = tasks.get(name)
    problem = jax.jit(task.problem)(jaxtheory.run_key(0, 0), config)
    for metric in task.optimal(problem, config):
        assert np.all(data[metric] >= 0) and np.isfinite(data[metric]).all()
    attention = [str(x) for x in data if "attention" in str(x)]
    assert (name in WITHOUT_ATTENTION) != bool(attention)
    assert all(np.isfinite(data[x]).all() for x in attention)
    assert np.any(data.loss.isel(step=0) != data.loss.isel(step=1))
