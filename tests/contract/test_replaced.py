"""Your loss, gradient, init or sample in each theory: the rebuilt algorithms do what a plain loop
with `jax.grad` does, and those that go on with the old functions are refused.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.some import some

import jaxtheory
from jaxtheory import InputError, draws
from jaxtheory.core.replaced import Origin
from jaxtheory.engine.request.request import read
from jaxtheory.theories import get, names
from jaxtheory.theories.contextual_bigram import calculus as bigram
from jaxtheory.theories.contextual_bigram.laws import dynamics, population
from jaxtheory.theories.random_walk import model as walk

STANDARD = ("sgd", "momentum", "adam", "sign", "sgd_cosine")
KEY, STEPS = jaxtheory.run_key(5, 2), 3


def own(theory):
    """Other functions for the slots of a theory."""

    def loss(params, batch, problem, config):
        more = sum(jnp.sum(jnp.sin(x) + x**2) for x in jax.tree.leaves(params))
        return theory.loss(params, batch, problem, config) + 0.05 * more

    def init(key, problem, config):
        start = theory.init(key, problem, config)
        return jax.tree.map(
            lambda x: x + 0.05 * jnp.cos(jnp.arange(x.size).reshape(x.shape)), start
        )

    def sample(key, problem, config):
        return theory.sample(jax.random.fold_in(key, 7), problem, config)

    gradient = functools.partial(jax.jit(jax.grad(loss)))
    double_gradient = lambda params, batch, problem, config: jax.tree.map(
        lambda g: 2 * g, gradient(params, batch, problem, config)
    )
    return {"loss": loss, "gradient": double_gradient, "init": init, "sample": sample}


def direction(name, g, problem, config):
    """Along which a step at the theory's rate is one of the literal parameters."""
    if name == "random_walk":
        rate_u, rate_w = walk.rates(config)
        return g._replace(u=rate_u * g.u, w=rate_w * g.w)
    if name == "nearest_neighbor":
        return g._replace(xi1=g.xi1 / config.dimension.real)
    if name == "contextual_bigram":
        g, K = bigram.preconditioned(g, problem, config), population.signals(problem, config)
        return type(g)(g.attention / K[0], g.value / K[1])
    return g


def rate(name, t, config):
    if name == "attention_pruning":
        return config.step_scale / config.regularization
    return dynamics.rate(t, config) if name == "contextual_bigram" else config.learning_rate


def project(name, params, config):
    if name == "attention_pruning" and config.clip:
        return jax.tree.map(lambda x: jnp.clip(x, 0, 1), params)
    if name == "contextual_bigram":
        return params._replace(attention=bigram.projected(params.attention, config))
    return params


def by_hand(name, problem, config, slots, algorithm):
    """STEPS steps by the rule of an algorithm along slots["gradient"]."""
    steps = jax.random.fold_in(KEY, draws.STEPS)
    params = slots["init"](jax.random.fold_in(KEY, draws.INIT), problem, config)
    m = v = jax.tree.map(jnp.zeros_like, params)
    beta = config.momentum
    for t in range(STEPS):
        batch = slots["sample"](
            jax.random.fold_in(jax.random.fold_in(steps, t), 0), problem, config
        )
        raw = slots["gradient"](params, batch, problem, config)
        g, eta = direction(name, raw, problem, config), rate(name, t, config)
        if algorithm == "sgd_cosine":
            eta = eta * (1 + math.cos(math.pi * min(t / config.decay_steps, 1))) / 2
        if algorithm == "momentum":
            m = g = jax.tree.map(lambda m, g: beta * m + g, m, g)
        if algorithm == "sign":
            g = jax.tree.map(jnp.sign, g)
        if algorithm == "adam":
            m = jax.tree.map(lambda m, g: beta * m + (1 - beta) * g, m, g)
            v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, v, g)
            g = jax.tree.map(
                lambda m, v, t=t: (
                    m / (1 - beta ** (t + 1)) / (jnp.sqrt(v / (1 - 0.999 ** (t + 1))) + 1e-8)
                ),
                m,
                v,
            )
        params = project(name, jax.tree.map(lambda p, g, eta=eta: p - eta * g, params, g), config)
    return params


CASES = [("loss", name, "sgd") for name in names()]
CASES += [("loss", "low_rank", algorithm) for algorithm in STANDARD[1:]]
CASES += [("gradient", "random_walk", "sgd"), ("init", "low_rank", "sgd")]
ALL = [
    *(("loss", name, algorithm) for name in names() for algorithm in STANDARD),
    *((s, name, "sgd") for s in ("both", "gradient", "init", "sample") for name in names()),
]


@pytest.mark.parametrize(("slot", "name", "algorithm"), some(ALL, *CASES))
def test_what_is_trained_is_what_was_put_in(slot, name, algorithm):
    theory, config = get(name), get(name).examples[0]
    mine = own(theory)
    slots = {s: mine[s] for s in (("loss", "gradient") if slot == "both" else (slot,))}
    run = jaxtheory.simulate(
        theory.replace(**slots), config, KEY, steps=STEPS, algorithm=algorithm, dtype="float64"
    )
    with jax.enable_x64(True):
        problem = jax.tree.map(jnp.asarray, run.problem)
        functions = {s: getattr(theory, s) for s in Origin._fields} | slots
        if slot == "loss":
            functions["gradient"] = jax.jit(jax.grad(mine["loss"]))
        want = by_hand(name, problem, config, functions, algorithm)
    for got, right in zip(*map(jax.tree.leaves, (run.params, want)), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("name", names())
def test_the_default_is_rebuilt(name):
    theory = get(name)
    new = theory.replace(loss=own(theory)["loss"])
    assert tuple(new.algorithms) == STANDARD
    assert {*new.dropped} == {*theory.algorithms} - {*STANDARD}
    read(new, theory.examples[0], steps=1)


@pytest.mark.parametrize("name", names())
def test_every_algorithm_that_trains_the_old_functions_is_refused(name):
    theory, config = get(name), get(name).examples[0]
    mine = own(theory)
    for slots in (("loss",), ("loss", "gradient"), ("gradient",), ("init",), ("sample",)):
        new = theory._replace(**{slot: mine[slot] for slot in slots})
        for algorithm, rule in theory.algorithms.items():
            if slots == ("sample",) and rule.sample is None:
                continue
            with pytest.raises(InputError, match=rf"^{name}: .*theory\.replace\({slots[0]}=") as e:
                read(new, config, steps=1, algorithm=algorithm)
            assert "\n" not in str(e.value)


def test_masks_whose_state_holds_a_target_bring_its_batch():
    theory = get("attention_pruning")
    own = {name for name, rule in theory.algorithms.items() if rule.sample is not None}
    assert own == {"gradient_descent", "two_mask", "smooth"}
