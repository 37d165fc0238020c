"""The accessor of datasets: the functions of a stored run, wherever a dataset comes from."""

import subprocess
import sys

import jax
import numpy as np
import pytest

import jaxtheory
from jaxtheory import InputError
from jaxtheory.theories import low_rank
from tests.helpers.quadratic import THEORY, Config


def equal(one, two):
    leaves = zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True)
    return all(np.array_equal(a, b) for a, b in leaves)


def test_it_reads_what_the_functions_read(tmp_path):
    options = {"seeds": 2, "steps": 4, "save_params": [0, 4]}
    store = tmp_path / "store"
    swept = jaxtheory.sweep(low_rank, low_rank.Config(), **options, store=store)
    others = jaxtheory.sweep(low_rank, low_rank.Config(), **options | {"seeds": [2]})
    for data in (swept, jaxtheory.open_store(store), jaxtheory.merge([swept, others])):
        for where in ({"seed": 1}, {"seed": 1, "step": 0}):
            params = data.jaxtheory.params(**where)
            assert equal(params, jaxtheory.load_params(data, **where))
        assert equal(data.jaxtheory.problem(seed=1), jaxtheory.load_problem(data, seed=1))


def test_it_takes_a_theory_without_a_name_and_refuses_as_the_functions_do():
    data = jaxtheory.sweep(THEORY, Config(), vary={"eta": [0.1, 0.2]}, steps=2, save_params=True)
    assert data.jaxtheory.params(THEORY, eta=0.2) == data.params_value.values.ravel()[1]
    with pytest.raises(InputError, match="the dataset has no such axis"):
        data.jaxtheory.params(THEORY, q=1)
    with pytest.raises(InputError, match="the dataset has no such value"):
        data.jaxtheory.problem(THEORY, eta=0.3)


@pytest.mark.parametrize("name", ["sweep", "open_store", "merge"])
def test_it_is_registered_where_datasets_are_made_or_opened(name):
    code = f"""
import sys
import jaxtheory
assert not sys.modules.keys() & {{"xarray", "jaxtheory.engine.accessor"}}
jaxtheory.{name}
import xarray
assert xarray.Dataset().jaxtheory
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=120)
    assert done.returncode == 0
