"""`simulate`: one run."""

from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory import InputError, run_key, simulate
from jaxtheory.theories import get

WALK, KEY = get("random_walk"), jaxtheory.run_key(0, 0)
SMALL = WALK.Config(num_states=5, length=17)


def test_a_config_of_another_theory_is_refused():
    with pytest.raises(InputError, match="pass a Config of linear_regression"):
        simulate(THEORY, jaxtheory.theories.get("random_walk").Config(), run_key(0, 0), steps=1)
    with pytest.raises(InputError, match="run_key"):
        simulate(THEORY, Config(), 0, steps=1)


def test_steps_may_be_given_by_position():
    run = jaxtheory.simulate(WALK, SMALL, KEY, 3)
    assert run.steps.tolist() == [0, 1, 2, 3]


class Problem(NamedTuple):
    """A typed key, and what is drawn from it."""

    key: Any
    of_run: Any


class State(NamedTuple):
    """The weights, and the keys of the next step."""

    params: Any
    keys: Any


def keyed_theory():
    """The worked example, whose problem and state hold typed keys."""

    def step(key, t, state, batch, problem, config):
        moved = sgd.step(key, t, state.params, batch, problem.of_run, config)
        noise = jax.random.normal(state.keys[0], (3,))
        keys = jax.random.split(state.keys[1], 2)
        return State(jax.tree.map(lambda w: w + 0.01 * noise.astype(w.dtype), moved), keys)

    sgd = THEORY.algorithms["sgd"]
    return THEORY._replace(
        problem=lambda key, config: Problem(
            jax.random.fold_in(key, 1), THEORY.problem(key, config)
        ),
        sample=lambda key, problem, config: THEORY.sample(
            jax.random.fold_in(problem.key, 2), problem.of_run, config
        ),
        init=lambda key, problem, config: THEORY.init(key, problem.of_run, config),
        loss=lambda params, batch, problem, config: THEORY.loss(
            params, batch, problem.of_run, config
        ),
        gradient=lambda params, batch, problem, config: THEORY.gradient(
            params, batch, problem.of_run, config
        ),
        metrics=lambda params, problem, config: THEORY.metrics(params, problem.of_run, config),
        analyses=lambda params, problem, config: {},
        baselines=lambda problem, config: {},
        predict=lambda problem, config, steps: {},
        assumptions=lambda problem, config: {},
        dims={},
        algorithms={
            "keyed": jaxtheory.Algorithm(
                lambda key, problem, config: State(
                    THEORY.init(key, problem.of_run, config), jax.random.split(key, 2)
                ),
                step,
                lambda state, problem, config: state.params,
            )
        },
    )


def test_typed_keys_in_a_state_and_a_problem_are_carried():
    theory, config = keyed_theory(), Config(dimension=3, batch_size=2)
    options = {"steps": 4, "record": 2}
    run = simulate(theory, config, KEY, **options)
    data = jaxtheory.sweep(theory, config, seeds=2, **options)
    np.testing.assert_allclose(run.metrics["loss"], data.loss.isel(seed=0), rtol=1e-6)
    assert float(data.loss[0, -1]) != float(data.loss[1, -1])
    assert all(
        jax.numpy.issubdtype(x.dtype, jax.dtypes.prng_key)
        for x in (run.state.keys, run.problem.key)
    )
    longer = simulate(theory, config, KEY, steps=8, record=2, resume=run)
    full_run = simulate(theory, config, KEY, steps=8, record=2)
    np.testing.assert_array_equal(longer.metrics["loss"], full_run.metrics["loss"])
    again = simulate(theory, config, KEY, problem=run.problem, **options)
    np.testing.assert_array_equal(again.metrics["loss"], run.metrics["loss"])
    later = jaxtheory.sweep(theory, config, seeds=1, start=run, **options)
    single = simulate(theory, config, KEY, start=run, **options)
    np.testing.assert_allclose(later.loss.isel(seed=0), single.metrics["loss"], rtol=1e-6)
    assert single.metrics["loss"][0] == pytest.approx(run.metrics["loss"][-1], rel=1e-6)
    variant = simulate(theory, config, run_key(0, 1), **options)
    with pytest.raises(InputError, match="resume: the run was made with another key"):
        simulate(theory, config, KEY, steps=8, record=2, resume=variant)
