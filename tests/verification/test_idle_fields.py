"""`verify` names fields of Config without effect, as where a constant was left in their place."""

import jax.numpy as jnp
import pytest

import jaxtheory
from jaxtheory.cli.templates import template
from jaxtheory.verification.idle_fields import find_idle_fields

LAM = 0.1


class Decayed(template.Settings):
    """The template with a weight decay."""

    decay: float = jaxtheory.traced(0.1, "lam", "weight decay", "[0, inf)")


class Evaluated(template.Settings):
    """The same decay, declared as a number that only metrics read."""

    decay: float = jaxtheory.evaluation(0.1, "lam", "weight decay", "[0, inf)")


def decayed(kind, coefficient, **slots):
    """The template with a weight decay, whose coefficient is this function of the config."""

    def gradient(params, batch, problem, config):
        slope = template.gradient(params, batch, problem, config).weights
        return template.Params(slope + coefficient(config) * params.weights)

    def loss(params, batch, problem, config):
        penalty = coefficient(config) / 2 * jnp.sum(params.weights**2)
        return template.loss(params, batch, problem, config) + penalty

    def step(key, t, state, batch, problem, config):
        slope = gradient(state, batch, problem, config).weights
        return template.Params(state.weights - config.learning_rate * slope)

    algorithms = {"sgd": jaxtheory.Algorithm(template.init, step)}
    return template.THEORY._replace(
        Config=kind,
        loss=loss,
        gradient=gradient,
        algorithms=algorithms,
        checks=(),
        predict=lambda problem, config, steps: {},
        examples=(kind(dimension=3, batch_size=2),),
        **slots,
    )


CONSTANT = decayed(Decayed, lambda config: LAM)
READ = decayed(Decayed, lambda config: config.decay)


def shown(params, problem, config):
    """A metric that reads the decay, which training does not."""
    return {"error": config.decay * jnp.sum(params.weights**2)}


def test_verify_has_a_failed_row_for_a_field_without_effect():
    rows = jaxtheory.verify(CONSTANT, seeds=1).checks
    (row,) = [row for row in rows if "decay" in row.check]
    assert row.check == "decay (lam): no slot depends on it" and not row.passed
    assert row.remark == "was a constant left in its place?"


@pytest.mark.parametrize(
    ("theory", "words", "is_fault"),
    [
        (CONSTANT._replace(metrics=shown), ["training does not depend on it"], False),
        (decayed(Evaluated, lambda config: config.decay), ["training depends on it"], True),
        (decayed(Evaluated, lambda config: LAM, metrics=shown), [], False),
        (READ, [], False),
        (template.THEORY, [], False),
    ],
)
def test_a_field_is_held_to_its_kind(theory, words, is_fault):
    fields = find_idle_fields(theory)
    assert [field.words for field in fields] == [f"decay (lam): {word}" for word in words]
    assert [bool(field.hint) for field in fields] == [is_fault] * len(words)


def test_fields_that_a_task_lends_do_not_count():
    class Mine(jaxtheory.tasks.random_walk.Config):
        """A config of a network, most of whose fields belong to the task."""

        width: int = jaxtheory.static(8, "width", "width", (8, 16))

    idle = template.THEORY._replace(Config=Mine, examples=())
    assert [field.words.partition(":")[0] for field in find_idle_fields(idle)] == ["width"]


def test_a_sweep_over_an_evaluation_field_that_trains_is_refused():
    theory = decayed(Evaluated, lambda config: config.decay)
    with pytest.raises(jaxtheory.InputError, match=r"decay \(lam\): training depends on it"):
        jaxtheory.sweep(theory, Evaluated(), vary={"decay": [0.1, 0.2]}, steps=1)
    assert jaxtheory.sweep(theory, Evaluated(), steps=1).sizes["step"] == 2
