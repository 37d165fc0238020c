"""`verify` has a row for draws that are the same for all seeds."""

import jax
import numpy as np
import pytest
from helpers.some import some
from helpers.worked_example import MODULE, THEORY, Config

import jaxtheory
from jaxtheory.cli.templates import template, template_flax
from jaxtheory.theories import get, names
from jaxtheory.verification.constant_keys import find_constant_draws

EXAMPLE = Config(dimension=3, batch_size=2)
KEPT = jax.random.key(5)
SGD = THEORY.algorithms["sgd"]


def noise(key, like):
    return like + jax.random.normal(key, like.shape, like.dtype)


def problem(key, config):
    drawn = THEORY.problem(key, config)
    return jax.tree.map(lambda x: noise(KEPT, x), drawn)


def sample(key, problem, config):
    batch = THEORY.sample(key, problem, config)
    return MODULE.Batch(batch.inputs, noise(jax.random.key(0), batch.labels))


def sample_with_numpy(key, problem, config):
    batch = THEORY.sample(key, problem, config)
    labels = np.random.default_rng(0).normal(size=batch.labels.shape)
    return MODULE.Batch(batch.inputs, batch.labels + labels)


def init(key, problem, config):
    return jax.tree.map(lambda w: noise(KEPT, w), THEORY.init(key, problem, config))


def loss(params, batch, problem, config):
    dropped = jax.tree.map(lambda w: noise(KEPT, w), params)
    return THEORY.loss(dropped, batch, problem, config)


def step(key, t, state, batch, problem, config):
    slope = THEORY.gradient(state, batch, problem, config)
    return jax.tree.map(
        lambda w, g: w - noise(jax.random.fold_in(KEPT, t), g).astype(w.dtype), state, slope
    )


def keyed_init(key, problem, config):
    return THEORY.init(key, problem, config), KEPT


def keyed_step(key, t, state, batch, problem, config):
    params, own = state
    slope = THEORY.gradient(params, batch, problem, config)
    moved = jax.tree.map(lambda w, g: w - 0.1 * noise(own, g), params, slope)
    return moved, jax.random.split(own)[0]


def algorithm(step, init=SGD.init, **parts):
    return {"algorithms": {"own": jaxtheory.Algorithm(init, step, **parts)}}


KEYED = algorithm(keyed_step, keyed_init, params=lambda state, problem, config: state[0])
WRONG = {
    "problem": {"problem": problem},
    "sample": {"sample": sample},
    "sample with numpy": {"sample": sample_with_numpy},
    "init": {"init": init, "algorithms": {}},
    "loss": {"loss": loss, "algorithms": {}},
    "algorithm own.step": algorithm(step),
    "algorithm own.step from the state": KEYED,
}


@pytest.mark.parametrize("case", WRONG)
def test_a_draw_that_ignores_the_run_is_named(case):
    theory = THEORY._replace(examples=(EXAMPLE,), **WRONG[case])
    (draw,) = find_constant_draws(theory)
    assert draw.slot == " ".join(case.split(" ")[: 2 if "own" in case else 1])
    assert "(test_constant_keys.py, line" in draw.why


def test_verify_has_a_row_for_it():
    wrong = THEORY._replace(examples=(EXAMPLE,), checks=(), sample=sample)
    table = jaxtheory.verify(wrong, seeds=1)
    (row,) = [row for row in table.checks if row.check.startswith("constant keys")]
    assert row.check == "constant keys: sample" and not row.passed and not table.passed
    assert "the same for all seeds; draw from `key`, or from jaxtheory.draws.fixed" in row.remark
    right = jaxtheory.verify(wrong._replace(sample=THEORY.sample), seeds=1)
    (row,) = [row for row in right.checks if row.check == "constant keys"]
    assert row.passed


def declared(key, problem, config):
    """A fixed training set."""
    return THEORY.sample(jaxtheory.draws.fixed_key(0), problem, config)


def stored(key, problem, config):
    """A training set that the problem holds, drawn from its key."""
    return jax.tree.map(lambda x: 2 * x, THEORY.sample(key, problem, config))


@pytest.mark.parametrize("rule", [declared, stored])
def test_what_is_declared_or_belongs_to_the_run_is_not(rule):
    assert find_constant_draws(THEORY._replace(examples=(EXAMPLE,), sample=rule)) == []


@pytest.mark.parametrize("name", some(names(), "random_walk"))
def test_no_alarm_in_the_theories(name):
    theory = get(name)
    first = dict(list(theory.algorithms.items())[:2])
    assert (
        find_constant_draws(theory._replace(examples=theory.examples[:1], algorithms=first)) == []
    )


@pytest.mark.parametrize("theory", [THEORY, template.THEORY, template_flax.THEORY])
def test_no_alarm_in_files(theory):
    assert find_constant_draws(theory) == []
