"""`Theory.replace` rebuilds the algorithms for another loss, gradient or init, or says why not."""

import inspect
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory import Algorithm, InputError, Theory, from_optax, run_key
from jaxtheory.core import docstrings
from jaxtheory.core.from_optax import InitAndGradient
from jaxtheory.engine.request.request import read

SGD = {"sgd": from_optax(THEORY, lambda config: optax.sgd(config.learning_rate))}
MADE = THEORY._replace(algorithms=SGD)  # by descent, so that it can be rebuilt


def loss(params, batch, problem, config):
    return 3 * THEORY.loss(params, batch, problem, config)


def gradient(params, batch, problem, config):
    return jax.grad(loss)(params, batch, problem, config)


def ask(theory, **options):
    return read(theory, Config(dimension=3), **{"steps": 1, **options})


SLOTS = THEORY._asdict()


def shifted(params, batch, problem, config):
    return THEORY.loss(params, batch, problem, config) + 1


def halved(params, batch, problem, config):
    return jax.tree.map(lambda g: g / 2, THEORY.gradient(params, batch, problem, config))


def test_verify_of_a_right_gradient_names_the_algorithms_and_of_a_wrong_one_the_gradient():
    one = THEORY._replace(examples=(Config(dimension=3, batch_size=2),), checks=())
    right = lambda params, batch, problem, config: THEORY.gradient(params, batch, problem, config)
    with pytest.raises(InputError, match="trains along another gradient"):
        jaxtheory.verify(one._replace(gradient=right))
    table = jaxtheory.verify(one._replace(gradient=gradient))
    assert "factor 3" in next(row for row in table.checks if row.check == "gradient").remark
    assert not table.passed


FREE = {
    "name": "other",
    "metrics": lambda params, problem, config: {"loss": jnp.zeros(())},
    "baselines": lambda problem, config: {},
    "analyses": lambda params, problem, config: {},
    "dims": {},
    "coords": lambda config: {},
    "predict": lambda problem, config, steps: {},
    "assumptions": lambda problem, config: {},
    "checks": (),
    "examples": (),
    "sample": lambda key, problem, config: THEORY.sample(key, problem, config),
    "problem": lambda key, config: THEORY.problem(key, config),
}


def test_what_an_algorithm_reads_from_the_theory_may_be_replaced():
    for slot, value in FREE.items():
        changes = {slot: value} | ({"dims": {}} if slot == "metrics" else {})
        ask(THEORY._replace(**changes))
    assert THEORY._replace(name="other").algorithms is THEORY.algorithms


def test_replace_trains_the_new_loss_and_differentiates_it():
    theory = MADE.replace(loss=loss)
    ask(theory)
    config, key = Config(dimension=3), run_key(0, 0)
    options = {"steps": 4, "dtype": "float64"}
    got = jaxtheory.simulate(theory, config, key, **options)
    fast = config.replace(learning_rate=3 * config.learning_rate)
    want = jaxtheory.simulate(THEORY, fast, key, **options)
    np.testing.assert_allclose(got.params.weights, want.params.weights, rtol=1e-12)
    np.testing.assert_allclose(got.metrics["original_loss"], want.metrics["loss"], rtol=1e-12)
    assert (theory.checks, theory.predict(None, config, [])) == ((), {})
    assert jaxtheory.verify(theory, seeds=1).passed


def test_replace_twice_and_only_the_gradient():
    twice = MADE.replace(loss=loss).replace(loss=THEORY.loss)
    config, key = Config(dimension=3), run_key(0, 0)
    run = lambda theory: jaxtheory.simulate(theory, config, key, steps=3, dtype="float64").params
    np.testing.assert_allclose(run(twice).weights, run(THEORY).weights, rtol=1e-12)
    assert np.abs(run(MADE.replace(gradient=gradient)).weights - run(THEORY).weights).max() > 1e-3
    same = MADE.replace(loss=shifted, gradient=THEORY.gradient)
    np.testing.assert_array_equal(run(same).weights, run(MADE).weights)


def test_replace_of_the_init_is_taken_by_algorithms_that_start_from_it():
    own = Algorithm(THEORY.init, THEORY.algorithms["sgd"].step)
    start = lambda key, problem, config: jax.tree.map(
        lambda w: w + 2, THEORY.init(key, problem, config)
    )
    theory = THEORY._replace(algorithms={"own": own} | SGD).replace(init=start)
    for name in ("own", "sgd"):
        run = jaxtheory.simulate(
            theory, Config(dimension=3), run_key(0, 0), steps=0, algorithm=name
        )
        np.testing.assert_array_equal(run.params.weights, 2.0)


def test_what_cannot_be_rebuilt_is_dropped_and_says_so():
    theory = THEORY._replace(algorithms=THEORY.algorithms | {"made": MADE.algorithms["sgd"]})
    new = theory.replace(loss=loss)
    assert list(new.algorithms) == ["made"]
    for later in (new, new._replace(name="other"), new.replace(name="other")):
        with pytest.raises(
            InputError, match="no longer has the algorithm 'sgd': it was made for another loss"
        ):
            ask(later, algorithm="sgd")
    ask(new._replace(algorithms={"sgd": from_optax(new, lambda config: optax.sgd(0.1))}))


def test_a_direction_that_is_not_the_gradient_is_not_rebuilt_without_its_rescaling():
    slope = InitAndGradient(THEORY.init, halved)
    names = THEORY.algorithms | {"half": from_optax(slope, lambda config: optax.sgd(0.1))}
    with pytest.raises(InputError, match="none of its algorithms"):
        Theory(**SLOTS | {"algorithms": names}).replace(loss=loss)


WRONG = {
    "a theory has no slot 'lose'; did you mean 'loss'": {"lose": loss},
    "loss is a int, expected a function": {"loss": 3},
    "none of its algorithms .sgd. can be rebuilt for another loss and gradient; pass one that can"
    ", as in theory.replace.loss=..., algorithms=.*jaxtheory.from_optax": {"loss": loss},
}


@pytest.mark.parametrize("words", WRONG)
def test_what_replace_cannot_do_is_refused(words):
    with pytest.raises(InputError, match=words) as error:
        THEORY.replace(**WRONG[words])
    assert "\n" not in str(error.value)


def test_an_algorithm_of_the_old_theory_is_rebuilt_where_it_is_given():
    ask(THEORY.replace(loss=loss, algorithms=SGD))
    own = Algorithm(THEORY.init, lambda key, t, state, batch, problem, config: state)
    assert list(THEORY.replace(loss=loss, algorithms={"own": own}).algorithms) == ["own"]


def test_names_of_the_old_loss_say_so():
    theory = MADE.replace(loss=loss)
    said = docstrings.variables(theory)
    assert "original_loss" in said and "original_rounded_loss" in said and "loss" not in said
    data = jaxtheory.sweep(theory, Config(dimension=3), steps=1)
    assert set(data.data_vars) == {
        *("original_loss", "original_rounded_loss", "weights", "diverged_at")
    }
    assert data.original_loss.attrs["long_name"] == "|w - w*|^2/2 + sigma^2/2"
    assert docstrings.variables(theory.replace(loss=THEORY.loss)) == said
    mended = MADE._replace(loss=loss).replace(loss=loss)
    assert docstrings.variables(mended) == said
    ask(mended)
    own = MADE.replace(loss=loss, metrics=FREE["metrics"], dims={})
    assert "loss" in jaxtheory.sweep(own, Config(dimension=3), steps=1)


def test_the_record_is_still_one_of_named_slots():
    assert Theory._fields[:2] == ("name", "Config") and len(THEORY) == len(Theory._fields)
    assert [*inspect.signature(Theory).parameters] == [*Theory._fields]
    assert Theory(*THEORY) == Theory._make(THEORY) == THEORY
    assert hash(SGD["sgd"]) == hash(tuple(SGD["sgd"]))


def test_a_start_on_another_problem_says_what_is_drawn_anew():
    config, key = Config(dimension=3), run_key(0, 0)
    first = jaxtheory.simulate(THEORY, config, key, steps=2)
    with pytest.warns(
        UserWarning, match="drawn from the key.*time restarts at 0.*pass problem=run.problem"
    ):
        jaxtheory.simulate(THEORY, config, run_key(0, 1), steps=2, start=first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jaxtheory.simulate(THEORY, config, key, steps=2, start=first)
        new_key = run_key(0, 1)
        jaxtheory.simulate(THEORY, config, new_key, steps=2, start=first, problem=first.problem)
