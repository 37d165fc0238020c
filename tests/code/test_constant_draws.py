"""Draws from constant keys are found in programs, through calls, loops and derivatives."""

import jax
import jax.numpy as jnp
import pytest

from jaxtheory import draws
from jaxtheory.code.constant_draws import CONSTANT, OF_RUN, attach_origins, follow

KEPT = jax.random.key(7)
RAW = jax.random.PRNGKey(7)


def normal(key, t=0):
    return jax.random.normal(jax.random.fold_in(key, t))


def scanned(key, x):
    return jax.lax.scan(lambda c, t: (c + normal(key, t), None), x, jnp.arange(3))[0]


def looped(key, x):
    return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + normal(key)), (0, x))


def chosen(key, x):
    return jax.lax.cond(x > 0, lambda x: x + normal(key), lambda x: x, x)


@jax.custom_vjp
def ruled(x):
    return x * normal(KEPT)


ruled.defvjp(lambda x: (ruled(x), None), lambda _, g: (g,))

CONSTANTS = {
    "call": lambda x: x + normal(jax.random.key(0)),
    "global": lambda x: x + normal(KEPT),
    "raw": lambda x: x + normal(RAW),
    "rbg": lambda x: x + jax.random.uniform(jax.random.key(0, impl="rbg")),
    "gamma": lambda x: x + jax.random.gamma(KEPT, 2.0),
    "permuted": lambda x: jax.random.permutation(KEPT, jnp.arange(3.0)) * x,
    "jit": jax.jit(lambda x: x + normal(KEPT)),
    "scan": lambda x: scanned(KEPT, x),
    "while": lambda x: looped(KEPT, x),
    "cond": lambda x: chosen(KEPT, x),
    "rule": ruled,
    "gradient": jax.grad(lambda x: x * normal(KEPT)),
    "checkpoint": jax.checkpoint(lambda x: x * normal(KEPT)),
    "vmap": lambda x: jax.vmap(normal)(jax.random.split(KEPT, 3)) + x,
}


@pytest.mark.parametrize("case", CONSTANTS)
def test_a_draw_from_a_constant_key_is_found_with_its_line(case):
    places = follow(CONSTANTS[case], attach_origins(1.0, OF_RUN)).draws
    assert len(places) == 1 and next(iter(places)).startswith(" (test_constant_draws.py, line ")


RUNS = {
    "call": lambda key, x: x + normal(key),
    "scan": scanned,
    "while": looped,
    "cond": chosen,
    "raw": lambda key, x: x + normal(jax.random.key_data(key)),
    "split in a loop": lambda key, x: jax.lax.fori_loop(
        0, 3, lambda _, c: (jax.random.split(c[0])[0], c[1] + normal(c[0])), (key, x)
    )[1],
    "no result": lambda key, x: (normal(KEPT), x)[1],
    "declared": lambda key, x: x + normal(draws.fixed_key(3)),
    "declared by a number": lambda key, x: x + normal(draws.fixed_key(jnp.asarray(x, int))),
}


@pytest.mark.parametrize("case", RUNS)
def test_a_draw_from_the_key_of_the_run_or_a_declared_one_is_not(case):
    args = attach_origins(jax.random.key(0), OF_RUN), attach_origins(1.0, CONSTANT)
    assert follow(RUNS[case], *args).draws == frozenset()


def test_what_a_loop_carries_keeps_where_it_comes_from():
    def mixed(key, x):
        return jax.lax.fori_loop(0, 2, lambda _, c: (c[1], normal(key) + c[1], c[2]), (x, x, x))

    args = attach_origins(jax.random.key(0), OF_RUN), attach_origins(1.0, CONSTANT)
    assert [origin.run for origin in follow(mixed, *args).origins] == [True, True, False]


def test_a_fixed_key_is_that_of_its_number():
    one, base = draws.fixed_key(5), draws.base_key(5)
    assert (jax.random.key_data(one) == jax.random.key_data(base)).all()
    with pytest.raises(ValueError, match=r"k = -1: must be an integer in \[0, 2\^32\)"):
        draws.fixed_key(-1)
