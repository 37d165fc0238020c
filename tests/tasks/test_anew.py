"""Tasks whose samples are drawn anew."""

import jax
import numpy as np
import pytest
from helpers.on_tasks import Made

import jaxtheory
from jaxtheory import InputError, tasks


@pytest.mark.parametrize("name", tasks.names())
def test_samples_of_a_fresh_task_are_of_the_same_type_and_differ(name):
    case = Made(name)
    task = tasks.fresh(case.task)
    batches = [task.sample(jax.random.key(i), case.problem, case.config) for i in (0, 0, 1)]
    shapes = [jax.tree.map(lambda x: (x.shape, x.dtype), batch) for batch in (case.batch, *batches)]
    assert all(one == shapes[0] for one in shapes)
    one, again, second = (jax.tree.leaves(batch) for batch in batches)
    assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(one, second, strict=True))


def test_a_task_without_fresh_samples_is_refused():
    task = tasks.random_walk._replace(fresh=None)
    with pytest.raises(InputError, match="random_walk does not say how to draw samples anew"):
        tasks.fresh(task)
    with pytest.raises(InputError, match=r"task is a str, expected a jaxtheory\.Task"):
        jaxtheory.tasks.fresh("random_walk")
