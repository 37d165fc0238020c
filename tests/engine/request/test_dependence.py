"""The fields on which a theory's slots depend, through every kind of program that JAX nests."""

import jax
import jax.numpy as jnp
import pytest
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory.core.config import fields
from jaxtheory.engine.request.dependence import trains, unread
from jaxtheory.engine.request.settings import numerics
from jaxtheory.theories import get, names

EXAMPLE = Config(dimension=3, batch_size=2)


def idle(loss, words=("learning_rate", "noise"), among=lambda slot: slot == "loss"):
    """The named fields that a loss of (params, config) does not read."""
    changed = THEORY._replace(loss=lambda params, batch, problem, config: loss(params, config))
    with numerics("float64"):
        return unread(changed, EXAMPLE, words, ["sgd"], among)


@jax.jit
def first_of_two(a, b):
    return a * 1.0


@jax.custom_jvp
def first_by_rule(a, b):
    return a + 0.0


first_by_rule.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
NESTED = {  # programs that take both fields, and read the learning rate alone
    "jit": lambda c: first_of_two(c.learning_rate, c.noise),
    "custom rule": lambda c: first_by_rule(c.learning_rate, c.noise),
    "scan": lambda c: jax.lax.scan(
        lambda carry, _: ((carry[0] * 2, carry[1] + 1), carry[1]),
        (c.learning_rate, c.noise),
        length=2,
    )[0][0],
    "while": lambda c: jax.lax.while_loop(
        lambda carry: carry[0] < 9,
        lambda carry: (carry[0] * 2, carry[1]),
        (c.learning_rate, c.noise),
    )[0],
    "cond": lambda c: jax.lax.cond(
        True, lambda a, b: a, lambda a, b: 2 * a, c.learning_rate, c.noise
    ),
    "unused": lambda c: (c.noise * 2, c.learning_rate)[1],
}
CROSSED = {  # programs in which the noise enters after all
    "scan": lambda c: jax.lax.scan(
        lambda carry, _: ((carry[0] + carry[1], carry[2], carry[2]), None),
        (c.learning_rate, 0.0 * c.learning_rate, c.noise),
        length=3,
    )[0][0],
    "condition of while": lambda c: jax.lax.while_loop(
        lambda carry: carry[0] < c.noise, lambda carry: (carry[0] * 2,), (c.learning_rate,)
    )[0],
    "cond": lambda c: jax.lax.cond(c.noise > 1, lambda: c.learning_rate, lambda: 0.0),
}


@pytest.mark.parametrize("case", NESTED)
def test_an_operand_that_is_not_used_is_not_read(case):
    assert idle(lambda params, c: jnp.sum(params.weights) * NESTED[case](c)) == ["noise"]


@pytest.mark.parametrize("case", CROSSED)
def test_an_operand_that_enters_later_is_read(case):
    assert idle(lambda params, c: jnp.sum(params.weights) * CROSSED[case](c)) == []


def test_sizes_are_read_by_shapes():
    idle_fields = lambda slot: idle(jnp.sum, ("dimension", "batch_size"), lambda name: name == slot)
    assert idle_fields("init") == ["batch_size"] and idle_fields("sample") == []


def test_choices_are_read_where_a_program_changes():
    class Choosing(Config):
        """A static field that a slot may read."""

        power: int = jaxtheory.static(2, "k", "power", (1, 2))
        label: str = jaxtheory.static("a", "l", "label", ("a", "b"))
        only: str = jaxtheory.static("a", "o", "one choice", ("a",))

    loss = lambda params, batch, problem, c: jnp.sum(params.weights**c.power)
    theory = THEORY._replace(Config=Choosing, loss=loss)
    only = lambda slot: slot in ("loss", "coords")
    names = ("power", "label", "only", "noise")
    example = Choosing(dimension=3, batch_size=2)
    assert unread(theory, example, names, ["sgd"], only) == ["label", "noise"]
    named = theory._replace(coords=lambda config: {"coordinate": [config.label, config.noise]})
    assert unread(named, example, names, ["sgd"], only) == []


def test_an_algorithm_is_a_slot():
    with numerics("float64"):
        assert unread(THEORY, EXAMPLE, ["learning_rate"], ["sgd"], trains) == []
    assert unread(THEORY, EXAMPLE, ["learning_rate"], ["sgd"], lambda slot: slot == "init")


@pytest.mark.parametrize("name", names())
def test_slots_that_annotate_numbers_as_arrays_of_jax_are_traced(name):
    theory = get(name)
    config = theory.examples[0]
    algorithm = next(iter(theory.algorithms))
    with numerics("float64"):
        traced = [word for word, field in fields(theory.Config).items() if field.kind == "traced"]
        assert len(unread(theory, config, traced, [algorithm], trains)) < len(traced)
