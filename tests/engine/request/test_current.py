"""Algorithms that train a function which their theory no longer holds are refused."""

import copy

import cloudpickle
import jax
import jax.numpy as jnp
import optax
import pytest
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory import Algorithm, InputError, Theory, from_optax, run_key
from jaxtheory.engine.request.request import read

SGD = {"sgd": from_optax(THEORY, lambda config: optax.sgd(config.learning_rate))}


def loss(params, batch, problem, config):
    return 3 * THEORY.loss(params, batch, problem, config)


def gradient(params, batch, problem, config):
    return jax.grad(loss)(params, batch, problem, config)


def ask(theory, **options):
    return read(theory, Config(dimension=3), **{"steps": 1, **options})


LOSS = "the loss was replaced and the gradient is still that of the old loss; use theory.replace"
SLOTS = THEORY._asdict()


def other_init(key, problem, config):
    return THEORY.init(key, problem, config)


LATER = THEORY._replace(loss=loss)

ROUTES = {  # theory, what is said
    "loss": (LATER, LOSS),
    "both": (THEORY._replace(loss=loss, gradient=gradient), "'sgd' trains another loss"),
    "gradient": (THEORY._replace(gradient=gradient), "'sgd' trains along another gradient"),
    "init": (THEORY._replace(init=other_init), "starts from another init"),
    "constructor": (Theory(**SLOTS | {"loss": loss}), LOSS),
    "_make": (Theory._make((SLOTS | {"loss": loss}).values()), LOSS),
    "in two steps": (LATER._replace(gradient=gradient), "'sgd' trains another loss"),
    "a new algorithm": (LATER._replace(algorithms={"x": Algorithm(*SGD["sgd"])}), LOSS),
    "descent afterwards": (
        LATER._replace(algorithms={"x": from_optax(LATER, lambda config: optax.sgd(0.1))}),
        LOSS,
    ),
    "descent before": (
        THEORY._replace(loss=loss, gradient=gradient, algorithms={"x": SGD["sgd"]}),
        "'x' trains another loss",
    ),
    "among others": (
        THEORY._replace(loss=loss, gradient=gradient, algorithms=THEORY.algorithms | SGD),
        "'sgd' trains another loss",
    ),
    "other params": (
        THEORY._replace(
            loss=loss,
            gradient=gradient,
            algorithms={
                "x": SGD["sgd"]._replace(params=lambda state, problem, config: state.params)
            },
        ),
        "'x' trains another loss",
    ),
}

PLAIN = ("loss", "both", "gradient", "init", "constructor")
COPIES = [(route, carried) for route in ROUTES for carried in (None, copy.copy, copy.deepcopy)]


def sent(theory):
    """A theory that has been pickled, without what that leaves in its class: in the process of the
    class itself, cloudpickle gives it copies of its own entries, which no longer are what
    dataclasses look for.
    """
    entries = {name: x for name, x in vars(Config).items() if name not in _UNSETTABLE}
    copied = cloudpickle.loads(cloudpickle.dumps(theory))
    for name, entry in entries.items():
        setattr(Config, name, entry)
    return copied


_UNSETTABLE = {"__dict__", "__weakref__"}
# what type checks wrap, as these tests do in descent, cannot be pickled by value
COPIES += [(route, sent) for route in PLAIN]


@pytest.mark.parametrize(("route", "carried"), COPIES)
def test_what_trains_another_function_is_refused(route, carried):
    theory, words = ROUTES[route]
    with pytest.raises(InputError, match=words) as error:
        ask(carried(theory) if carried else theory)
    assert "\n" not in str(error.value) and "linear_regression" in str(error.value)


def test_simulate_sweep_plan_and_verify_refuse():
    theory, config = ROUTES["both"][0], Config(dimension=3)
    calls = (
        lambda: jaxtheory.simulate(theory, config, run_key(0, 0), steps=1),
        lambda: jaxtheory.sweep(theory, config, steps=1),
        lambda: jaxtheory.sweep(theory, config, vary={"algorithm": ["sgd"]}, steps=1),
        lambda: jaxtheory.plan(theory, config, steps=1),
        lambda: jaxtheory.verify(theory),
        lambda: jaxtheory.verify(theory, only=[]),
    )
    for call in calls:
        with pytest.raises(InputError, match=r"'sgd' trains another loss.*theory\.replace"):
            call()


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


def draws_again(key, t, state, batch, problem, config):
    """A step that does not take the batch and problem it is given."""
    mine = THEORY.problem(key, config)
    return THEORY.algorithms["sgd"].step(
        key, t, state, THEORY.sample(key, mine, config), mine, config
    )


def old_sample(key, problem, config):
    return SLOTS["sample"](key, problem, config)


@pytest.mark.parametrize(
    ("slot", "changes"),
    [
        ("problem", {"step": draws_again}),
        ("sample", {"step": draws_again}),
        ("sample", {"sample": old_sample}),
    ],
)
def test_an_algorithm_that_draws_its_own_is_refused(slot, changes):
    theory = THEORY._replace(algorithms={"own": THEORY.algorithms["sgd"]._replace(**changes)})
    ask(theory)
    with pytest.raises(InputError, match=f"'own' draws .*another {slot} than"):
        ask(theory._replace(**{slot: FREE[slot]}))


def test_the_problem_of_a_user_is_refused_where_an_algorithm_draws_its_own():
    theory = THEORY._replace(
        algorithms={"own": THEORY.algorithms["sgd"]._replace(step=draws_again)}
    )
    problem = THEORY.problem(run_key(0, 0), Config(dimension=3))
    ask(THEORY, problem=problem)
    with pytest.raises(InputError, match="'own' draws another problem"):
        ask(theory, problem=problem)
