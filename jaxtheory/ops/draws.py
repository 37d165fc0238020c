"""Random draws that do not depend on how large the arrays are.

Threefry keeps the prefix of a draw when its leading axis grows, and `split(key, n)[i]` does not
depend on n. So an array with several
growing axes is drawn with one level of keys per axis, the last axis in one call: entry (i, j, k)
depends on the key, i, j and k only. Entries beyond a `Size`'s value are zero. Integer draws use
float32 uniforms (resolution 2^-23) whatever the run's dtype.
"""

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt

from jaxtheory.core.config import Size
from jaxtheory.core.errors import InputError
from jaxtheory.ops import threefry
from jaxtheory.system import compilation_cache
from jaxtheory.system.backend import refuse_fork

PROBLEM, INIT, STEPS = 0, 1, 2  # the streams of a run key


def integer(value: Any) -> int | None:
    """The integer that a Python, NumPy or JAX integer is, of an array without axes too; None for
    anything else, True and False included.
    """
    if isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool":
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def number(name: str, value: Any) -> Any:
    """A base key or a seed as a Python integer; traced integers as they are. Raises InputError
    outside of [0, 2^32): beyond, float32 and float64 would make different keys of one number.
    """
    if isinstance(value, jax.core.Tracer):
        return value
    found = integer(value)
    if found is not None and 0 <= found < 2**32:
        return found
    if getattr(value, "dtype", None) == np.uint32 and np.shape(value) == (2,):
        raise InputError(
            f"{name}: this is a key of jax.random.PRNGKey; give jax.random.key(...) or "
            "jaxtheory.run_key(key, seed)"
        )
    if hasattr(value, "dtype") and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        raise InputError(f"{name}: an array of {value.shape} keys; give one of them")
    raise InputError(f"{name} = {value!r}: must be an integer in [0, 2^32)")


def run_key(k: Any, seed: Any) -> jax.Array:
    """The key of one run, `fold_in(key(k), seed)`: the same for every point of a sweep, so points
    share random numbers.

    Args:
        k: the base key, an integer in [0, 2^32), as `sweep(key=k)` and `--key` take it.
        seed: an integer in [0, 2^32).

    Returns:
        A typed JAX key, which `simulate` takes.

    Raises:
        InputError: for anything else, so that one number is one key in every precision.

    Example:
        >>> jaxtheory.simulate(theory, config, jaxtheory.run_key(0, 3), steps=50)
    """
    refuse_fork()
    compilation_cache.use()
    with jax.transfer_guard("allow"):
        base = jax.random.key(number("key", k), impl="threefry2x32")
        return jax.random.fold_in(base, number("seed", seed))


def masked(values: Array, *axes: Size | int) -> Array:
    """Zero the entries of (cap_1, ..., cap_m, ...) beyond each axis' value."""
    for i, axis in enumerate(axes):
        if isinstance(axis, Size) and axis.value is not None:
            mask = axis.mask().reshape((-1,) + (1,) * (values.ndim - i - 1))
            values = jnp.where(mask, values, jnp.zeros((), values.dtype))
    return values


def stable(draw: Callable, key: Array, *axes: Size | int) -> Array:
    """An array of shape (cap_1, ..., cap_m) from draw(key, shape), one key level per axis but the
    last, zero beyond each value.
    """
    caps = [axis.cap if isinstance(axis, Size) else axis for axis in axes]

    def level(k: Array, depth: int) -> Array:
        if depth == len(caps) - 1:
            return draw(k, (caps[-1],))
        return jax.vmap(lambda row: level(row, depth + 1))(jax.random.split(k, caps[depth]))

    return masked(level(key, 0), *axes)


def normal(key: Array, *axes: Size | int) -> Float[Array, "..."]:
    """Standard normal entries, default float dtype."""

    def draw(k: Array, shape: tuple[int, ...]) -> Array:
        # XLA would merge a factor that follows with the sqrt 2 in here where no mask stands between
        # them, so that the last bits of scale * normal would depend on padding.
        return jax.lax.optimization_barrier(jax.random.normal(k, shape))

    return stable(draw, key, *axes)


def uniform(key: Array, *axes: Size | int) -> Float[Array, "..."]:
    """Entries uniform on [0, 1), float32 whatever the run's dtype."""
    return stable(lambda k, shape: jax.random.uniform(k, shape, jnp.float32), key, *axes)


def bernoulli(key: Array, p: Float[Array, ""] | float, *axes: Size | int) -> Bool[Array, "..."]:
    """True with probability p (exact at p = 0 and 1, else to 2^-23), False beyond each value."""
    return masked(uniform(key, *axes) < jnp.asarray(p, jnp.float32), *axes)


def integers(key: Array, n: Int[Array, ""] | int, *axes: Size | int) -> Int[Array, "..."]:
    """Uniform integers in [0, n) as int32, n possibly traced and below 2^23."""
    scaled = (uniform(key, *axes) * jnp.asarray(n, jnp.float32)).astype(jnp.int32)
    return masked(jnp.minimum(scaled, jnp.asarray(n, jnp.int32) - 1), *axes)


def words(key: Array, rows: int, columns: int) -> UInt[Array, "rows columns"]:
    """Independent uniform uint32 words, both words of each threefry block: half the price of
    `jax.random.bits`, and one call for two axes.

    Words (i, 2j) and (i, 2j + 1) are block (j, i) of the cipher, so they do not depend on how large
    the array is.
    """
    blocks = -(-columns // 2)
    i, j = (
        jnp.broadcast_to(x, (rows, blocks))
        for x in (jnp.arange(rows)[:, None], jnp.arange(blocks)[None, :])
    )
    k0, k1 = jax.random.bits(key, (2,), jnp.uint32)
    both = threefry.cipher(k0, k1, j.astype(jnp.uint32), i.astype(jnp.uint32))
    return jnp.stack(both, axis=2).reshape(rows, -1)[:, :columns]


def distinct(key: Array, population: Size | int, count: int) -> Int[Array, " count"]:
    """`count` distinct integers in [0, n), in random order: the places of the smallest of n
    uniforms. Needs count <= n.
    """
    size = Size.wrap(population)
    order = jnp.where(size.mask(), uniform(key, size), jnp.inf)
    return jnp.argsort(order)[:count].astype(jnp.int32)
