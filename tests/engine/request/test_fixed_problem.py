"""Sweeps on a given problem: the same run, and one line where the problem does not fit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.own_arrays import KEY, SMALL, own
from helpers.some import some
from helpers.worked_example import MODULE, THEORY, Config

import jaxtheory
from jaxtheory.core.config import Size
from jaxtheory.theories import get, names


@pytest.mark.parametrize("name", some(names(), "nearest_neighbor"))
def test_a_given_problem_is_the_run_on_it(name):
    """A run on the problem that it would have drawn is that run; every seed is on it."""
    theory = get(name)
    config = theory.Config(**SMALL[name])
    problem = jax.jit(theory.problem)(jax.random.fold_in(KEY, 0), config)
    options = {"steps": 3, "dtype": "float64"}
    want = jaxtheory.simulate(theory, config, KEY, **options)
    run = jaxtheory.simulate(theory, config, KEY, problem=problem, **options)
    for metric, value in want.metrics.items():
        np.testing.assert_allclose(run.metrics[metric], value, rtol=1e-10, atol=1e-13)
    rate = "step_scale" if name == "attention_pruning" else "learning_rate"
    values = [0.5 * getattr(config, rate), getattr(config, rate)]
    data = jaxtheory.sweep(
        theory, config, vary={rate: values}, seeds=2, key=3, problem=problem, **options
    )
    metric = next(iter(want.metrics))
    lane = data[metric].isel({rate: 1}).sel(seed=0).values
    np.testing.assert_allclose(lane, want.metrics[metric], rtol=1e-10, atol=1e-13)


FIXED = [
    ("random_walk", {"p": [0.2, 0.4]}, "clockwise_probability (p)"),
    ("random_walk", {"task": ["walk", "qa1"]}, "task (task)"),
    ("attention_pruning", {"d": [4, 5]}, "dimension (d)"),
    ("contextual_bigram", {"rho": [0.5, 1.0]}, "correlation (rho)"),
    ("low_rank", {"noise": [0.1, 0.2]}, "noise (sigma)"),
    ("in_context_regression", {"c": [0.1, 0.2]}, "in_weight_share (c)"),
    ("task_diversity", {"rho": [0.1, 0.2]}, "noise_variance (rho)"),
    ("causal_graph", {"alpha": [0.1, 0.2]}, "concentration (alpha)"),
    ("factual_recall", {"zeta": [0.5, 1.0]}, "zipf (zeta)"),
]


@pytest.mark.parametrize(("name", "vary", "words"), FIXED)
def test_what_the_data_depend_on_stays(name, vary, words):
    theory = get(name)
    config = theory.Config(**SMALL[name])
    if "task" in vary:
        config = config.replace(num_states=Size(19), length=Size(17), encoding_dim=Size(20))
        vary = {"task": ["walk", "qa1"]}
    problem = theory.problem(KEY, config)
    with pytest.raises(jaxtheory.InputError, match="the data depend on it") as error:
        jaxtheory.sweep(theory, config, vary=vary, problem=problem, steps=1)
    assert str(error.value).startswith(words)


def test_sizes_that_the_data_do_not_shape_vary():
    theory, _, (problem, _, config) = own("low_rank")
    data = jaxtheory.sweep(theory, config, vary={"B": [2, 5]}, problem=problem, steps=2)
    assert dict(data.sizes)["batch_size"] == 2


def test_a_problem_of_another_theory_or_size_is_a_line():
    theory, _, (problem, _, config) = own("random_walk")
    _, _, (foreign_problem, _, _) = own("group_sparse")
    with pytest.raises(jaxtheory.InputError, match=r"pass the result of random_walk\.given"):
        jaxtheory.simulate(theory, config, KEY, steps=1, problem=foreign_problem)
    longer = config.replace(length=Size(9))
    with pytest.raises(jaxtheory.InputError, match=r"problem.train.s has shape .* set length=7"):
        jaxtheory.simulate(theory, longer, KEY, steps=1, problem=problem)


class Shaped(Config):
    """A length that is a static field; that of the test samples is no field."""

    width: int = jaxtheory.static(2, "w", "width", (2, 3))


def shaped(key, config):
    return {"mean": jnp.ones(config.width), "test": jnp.ones(5)}


def start(key, problem, config):
    return MODULE.Params(jnp.zeros(config.width))


def stay(key, t, state, batch, problem, config):
    return state


def metrics(params, problem, config):
    return {"test": jnp.sum(problem["test"])}


def test_a_length_of_a_static_field_is_held_and_a_free_one_is_not():
    theory = THEORY._replace(
        Config=Shaped,
        examples=(Shaped(),),
        problem=shaped,
        sample=lambda key, problem, config: (),
        init=start,
        loss=lambda params, batch, problem, config: jnp.sum(params.weights),
        gradient=lambda params, batch, problem, config: params,
        algorithms={"none": jaxtheory.Algorithm(start, stay)},
        metrics=metrics,
        predict=lambda problem, config, steps: {},
        checks=(),
        dims={},
        coords=lambda config: {},
    )
    run = lambda **more: jaxtheory.simulate(
        theory, Shaped(), KEY, 1, problem=shaped(KEY, Shaped()) | more
    )
    assert run(test=np.ones(9)).metrics["test"][0] == 9
    with pytest.raises(jaxtheory.InputError, match=r"problem.mean has shape \(3,\).* set width=3"):
        run(mean=np.ones(3))
