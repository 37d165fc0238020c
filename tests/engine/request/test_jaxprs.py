"""Equal parts of a function are computed once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

from jaxtheory.core.config import canonical, leaf_names
from jaxtheory.engine.request.jaxprs import _merged, cse, reads


def equations(function, *args):
    """How many equations of each primitive are left."""
    names = [e.primitive.name for e in _merged(jax.make_jaxpr(function)(*args)).jaxpr.eqns]
    return {name: names.count(name) for name in names}


def test_equal_equations_are_merged_with_all_that_follows():
    twice = lambda x: jnp.sin(x) * 2 + jnp.exp(jnp.sin(x) * 2)
    assert equations(twice, 1.0) == {"sin": 1, "mul": 1, "exp": 1, "add": 1}
    shared = lambda x: (x @ x, (x @ x).T, jnp.arange(3.0) + jnp.arange(3.0))
    counts = equations(shared, jnp.ones((3, 3)))
    assert (counts["dot_general"], counts["iota"]) == (1, 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1.0,  # a literal of another value
        lambda x: x + jnp.float32(0),  # of another type
        lambda x: x * 0.0,
        lambda x: 0.0 + x,
    ],
)
def test_what_differs_stays(function):
    one, two = _merged(jax.make_jaxpr(lambda x: (x + 0.0, function(x)))(1.0)).jaxpr.outvars
    assert one is not two


def test_zeros_of_either_sign_differ():
    quotients = cse(lambda: (jnp.float64(1) / jnp.float64(0.0), jnp.float64(1) / jnp.float64(-0.0)))
    assert quotients == (np.inf, -np.inf)
    f = lambda x: (x * 0.0, x * -0.0)
    assert equations(f, 1.0) == {"mul": 2}


def test_axes_and_keys_count():
    x = jnp.ones((3, 3))
    assert equations(lambda x: (x.sum(0), x.sum(1), x.sum(0)), x) == {"reduce_sum": 2}
    draw = lambda key: (jax.random.normal(key), jax.random.normal(jax.random.fold_in(key, 1)))
    one, two = cse(lambda: draw(jax.random.key(3)))
    assert one != two
    assert (one, two) == draw(jax.random.key(3))


def test_effects_stay():
    said = []

    def loud(x):
        jax.debug.callback(lambda: said.append(1))
        jax.debug.callback(lambda: said.append(1))
        return x + 1

    assert jax.jit(lambda x: cse(lambda: loud(x)))(1) == 2
    jax.effects_barrier()
    assert len(said) == 2


def test_a_result_may_be_an_argument_a_constant_or_repeated():
    x = jnp.arange(3.0)
    constant = np.arange(2)
    a, b, c, d, e = cse(lambda: (x, constant, 2.5, x + 1, x + 1))
    np.testing.assert_array_equal(a, x)
    np.testing.assert_array_equal(b, constant)
    assert c == 2.5
    np.testing.assert_array_equal(d, e)


def test_within_vmap_scan_and_grad():
    def f(x, y):
        return cse(lambda: {"a": jnp.sin(x * y) + jnp.cos(x * y), "b": (x * y) ** 2})

    plain = lambda x, y: {"a": jnp.sin(x * y) + jnp.cos(x * y), "b": (x * y) ** 2}
    x, y = jnp.linspace(0.0, 1, 4), jnp.linspace(1.0, 2, 3)
    over = lambda f: jax.vmap(lambda x: jax.vmap(lambda y: f(x, y))(y))(x)
    scanned = lambda f: jax.lax.scan(lambda c, x: (c + f(x, c)["b"], f(x, c)["a"]), 1.0, x)
    slope = lambda f: jax.grad(lambda x: f(x, 2.0)["a"])(0.3)
    for use in (over, scanned, slope):
        for got, want in zip(*map(jax.tree.leaves, (use(f), use(plain))), strict=True):
            np.testing.assert_array_equal(got, want)


def test_functions_called_within_are_one_equation():
    inner = jax.jit(lambda x: jnp.sin(x) * 3)
    assert equations(lambda x: inner(x) + inner(x), 1.0) == {"jit": 1, "add": 1}
    chosen = lambda x: jax.lax.cond(x > 0, jnp.sin, jnp.cos, x)
    assert cse(lambda: chosen(1.0) + chosen(1.0)) == 2 * np.sin(1.0)


def test_reads_finds_exactly_what_matters():
    config = canonical(Config(), np.float64)
    names = leaf_names(config)
    key = jax.random.key(0)
    problem = jax.eval_shape(THEORY.problem, key, config)
    assert reads(THEORY.problem, config, names, key) == set()
    assert reads(THEORY.sample, config, names, key, problem) == {"noise"}
