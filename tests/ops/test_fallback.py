"""A dear value where a cheap one does not do."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.engine.planning.cost import _counted
from jaxtheory.ops.fallback import fallback

CALLS = []


def dear(x, y):
    jax.debug.callback(lambda: CALLS.append(1))
    return {"sum": x + y["a"], "product": x * y["a"]}


def chosen(x, y):
    cheap = {"sum": jnp.zeros(()), "product": jnp.ones(())}
    return fallback(x < 2, cheap, dear, x, {"a": y})


def called(function, *args):
    CALLS.clear()
    outputs = jax.block_until_ready(jax.jit(function)(*args))
    jax.effects_barrier()
    return outputs, len(CALLS)


def test_the_function_is_called_where_it_is_needed():
    outputs, calls = called(chosen, jnp.asarray(3.0), jnp.asarray(5.0))
    assert (outputs["sum"], outputs["product"], calls) == (8, 15, 1)
    outputs, calls = called(chosen, jnp.asarray(1.0), jnp.asarray(5.0))
    assert (outputs["sum"], outputs["product"], calls) == (0, 1, 0)


def test_lanes_that_do_not_need_it_keep_their_value():
    x, y = jnp.asarray([1.0, 3.0, 0.0]), jnp.asarray([5.0, 5.0, 5.0])
    outputs, calls = called(jax.vmap(chosen), x, y)
    np.testing.assert_array_equal(outputs["sum"], [0, 8, 0])
    np.testing.assert_array_equal(outputs["product"], [1, 15, 1])
    assert calls > 0
    assert called(jax.vmap(chosen), x.at[1].set(1), y)[1] == 0


def test_an_infinite_argument_does_no_harm():
    outputs, _ = called(chosen, jnp.asarray(np.inf), jnp.asarray(5.0))
    assert outputs["sum"] == np.inf


def test_a_plan_does_not_count_it():
    """But other loops, whose condition is one equation as well."""
    x = jnp.ones(1000)
    product = lambda x: jnp.sin(x) * x
    free = _counted(lambda x: fallback(x[0] < 2, x, product, x), x)
    loop = _counted(lambda n, x: jax.lax.fori_loop(0, n, lambda _, x: product(x), x), 3, x)
    assert (free.slow, loop.slow) == (0, 1000)
