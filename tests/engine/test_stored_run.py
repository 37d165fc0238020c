"""Parameters and problems of single runs of a dataset."""

import json

import jax
import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory.theories import group_sparse, low_rank, random_walk
from tests.helpers.quadratic import THEORY, Config

WALKS = {"vary": {"p": [0.5, 0.7], "K": [4, 5]}, "seeds": [2, 7], "steps": 6, "dtype": "float64"}


def test_parameters_are_those_of_the_run_alone():
    config = random_walk.Config(length=13)
    data = jaxtheory.sweep(random_walk, config, **WALKS, save_params=True, key=3)
    for p, K, seed in ((0.5, 4, 7), (0.7, 5, 2)):
        got = jaxtheory.load_params(data, p=p, K=K, seed=seed)
        own = config.replace(clockwise_probability=p, num_states=K)
        key = jaxtheory.run_key(3, seed)
        want = jaxtheory.simulate(random_walk, own, key, 6, dtype="float64").params
        assert jax.tree.structure(got) == jax.tree.structure(want)
        for one, two in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)


def test_parameters_fit_the_loss_and_a_start():
    data = jaxtheory.sweep(low_rank, low_rank.Config(), seeds=2, steps=6, save_params=[0, 3])
    late = jaxtheory.load_params(data, seed=1)
    early = jaxtheory.load_params(data, seed=1, step=0)
    problem = jaxtheory.load_problem(data, seed=1)
    config = low_rank.Config()
    batch = low_rank.sample(jax.random.key(0), problem, config)
    assert np.isfinite(low_rank.loss(late, batch, problem, config))
    assert np.abs(late.query - early.query).max() > 0
    start = jaxtheory.simulate(
        low_rank, config, jaxtheory.run_key(0, 1), 0, start=late, problem=problem
    )
    np.testing.assert_array_equal(start.params.query, late.query)


@pytest.mark.parametrize("theory", [low_rank, group_sparse])
def test_a_problem_is_drawn_again_bit_for_bit(theory):
    data = jaxtheory.sweep(theory, theory.Config(), seeds=[5], steps=1, key=9)
    again = jaxtheory.load_problem(data)
    run = jaxtheory.simulate(theory, theory.Config(), jaxtheory.run_key(9, 5), 1)
    for one, two in zip(jax.tree.leaves(again), jax.tree.leaves(run.problem), strict=True):
        np.testing.assert_array_equal(one, two)


def test_zipped_axes_and_algorithms_are_chosen_by_any_of_their_names():
    data = jaxtheory.sweep(
        THEORY,
        Config(),
        zip={"setting": ["slow", "fast"], "eta": [0.1, 0.2], "steps": [2, 4]},
        steps=4,
        save_params=True,
    )
    slow, fast = data.params_value.values.ravel()
    assert jaxtheory.load_params(data, THEORY, setting="slow") == slow
    assert jaxtheory.load_params(data, THEORY, eta=0.2) == fast


def test_a_diverged_run_has_no_weights():
    data = jaxtheory.sweep(THEORY, Config(eta=1e200), steps=9, save_params=True)
    with pytest.raises(jaxtheory.InputError, match="it diverged at step"):
        jaxtheory.load_params(data, THEORY)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"p": 0.5, "K": 4}, "seed: choose one of the 2 values [2, 7]"),
        ({"p": 0.5, "seed": 2}, "num_states (K): choose one of the 2 values [4, 5]"),
        ({"p": 0.6, "K": 4, "seed": 2}, "p = 0.6: the dataset has no such value"),
        ({"q": 0.6}, "q: the dataset has no such axis"),
        ({"p": 0.5, "K": 4, "seed": 2, "step": 3}, "keeps the weights of step 6 only"),
    ],
)
def test_a_wrong_choice_is_one_sentence(where, message):
    config = random_walk.Config(length=13)
    data = jaxtheory.sweep(random_walk, config, **WALKS, save_params=True)
    with pytest.raises(jaxtheory.InputError) as error:
        jaxtheory.load_params(data, **where)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_dataset_without_weights_or_with_other_problems():
    data = jaxtheory.sweep(THEORY, Config(), steps=2)
    with pytest.raises(jaxtheory.InputError, match="the dataset has no weights; pass save_params"):
        jaxtheory.load_params(data, THEORY)
    with pytest.raises(jaxtheory.InputError, match="data must be the dataset of a sweep"):
        jaxtheory.load_params(data.distance.to_dataset(), THEORY)
    with pytest.raises(jaxtheory.InputError, match="theory is low_rank, but"):
        jaxtheory.load_params(data, low_rank)
    fixed = THEORY.problem(jax.random.key(1), Config())
    custom = jaxtheory.sweep(THEORY, Config(), steps=2, problem=fixed)
    with pytest.raises(jaxtheory.InputError, match="it was fixed by problem="):
        jaxtheory.load_problem(custom, THEORY)
    single = jaxtheory.sweep(THEORY, Config(), steps=2, key=jaxtheory.run_key(0, 3))
    with pytest.raises(jaxtheory.InputError, match="the key of one run"):
        jaxtheory.load_problem(single, THEORY)


OWN = "from jaxtheory.cli.templates.template import THEORY\nTHEORY = THEORY._replace(name='own')\n"


def test_a_dataset_names_the_file_of_its_theory(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(OWN)
    theory = jaxtheory.theories.load(file).THEORY
    options = {"seeds": 2, "steps": 2, "save_params": True, "store": tmp_path / "store"}
    data = jaxtheory.sweep(theory, theory.Config(), **options)
    stored = xr.open_zarr(tmp_path / "store" / "data.zarr")
    for dataset in (data, stored):
        record = json.loads(dataset.attrs["theory_file"])
        assert record["file"] == str(file) and len(record["sha256"]) == 64
        assert jaxtheory.load_params(dataset, seed=1).weights.shape == (10,)
        assert jaxtheory.load_problem(dataset, seed=1).mean.shape == (10,)
    file.write_text(OWN + "\n")
    with pytest.raises(jaxtheory.InputError, match=r"own\.py, which has changed since .* theory="):
        jaxtheory.load_params(stored, seed=1)
    assert jaxtheory.load_params(stored, theory, seed=1).weights.shape == (10,)


def test_a_dataset_of_a_theory_that_ships_names_no_file():
    data = jaxtheory.sweep(random_walk, random_walk.Config(), seeds=2, steps=2)
    assert "theory_file" not in data.attrs


def test_the_name_in_a_dataset_is_not_executed_as_a_file(tmp_path):
    (tmp_path / "evil.py").write_text("raise SystemExit('executed')")
    data = jaxtheory.sweep(random_walk, random_walk.Config(), seeds=2, steps=2)
    data.attrs["theory"] = str(tmp_path / "evil.py")
    with pytest.raises(jaxtheory.InputError, match="neither ships nor is installed"):
        jaxtheory.load_params(data, seed=1)
