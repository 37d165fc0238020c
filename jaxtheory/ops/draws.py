"""Random draws that do not depend on the padding of arrays.

Threefry keeps the prefix of a draw when its leading axis grows, and `split(key, n)[i]` does not
depend on n. An array with several growing axes is therefore drawn with one level of keys per axis,
the last axis in one call: entry (i, j, k) depends on the key, i, j and k only. Entries beyond a
`Size`'s value are zero. Integer draws use float32 uniforms (resolution 2^-23), whatever the dtype
of the run.
"""

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt

from jaxtheory.core.config import Size
from jaxtheory.ops import threefry
from jaxtheory.system import compilation_cache
from jaxtheory.system.backend import refuse_fork
from jaxtheory.texts.errors import InputError, brief

__all__ = [
    "base_key",
    "bernoulli",
    "distinct",
    "fixed_key",
    "integer",
    "integers",
    "masked",
    "normal",
    "number",
    "run_key",
    "stable",
    "uniform",
    "words",
]

PROBLEM, INIT, STEPS = 0, 1, 2  # the streams of a run key


def integer(value: Any) -> int | None:
    """Return a Python, NumPy or JAX integer as a Python integer, or None for anything else.

    Args:
        value: Any value. A zero-dimensional array of integers counts as an integer; True and False
            do not.

    Returns:
        The integer, or None.

    Example:
        >>> import numpy as np, jaxtheory
        >>> jaxtheory.draws.integer(np.int32(3)), jaxtheory.draws.integer(3.0)
        (3, None)
    """
    if isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool":
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def number(name: str, value: Any) -> Any:
    """Return a base key or a seed as a Python integer.

    Numbers outside [0, 2^32) are refused, because float32 and float64 would make different keys of
    the same number.

    Args:
        name: The name of the argument, which the error message begins with.
        value: An integer in [0, 2^32), or a traced integer.

    Returns:
        The integer; a traced integer is returned unchanged and unchecked.

    Raises:
        InputError: The value is not such an integer.

    Example:
        >>> import numpy as np, jaxtheory
        >>> jaxtheory.draws.number("seed", np.int64(7))
        7
    """
    if isinstance(value, jax.core.Tracer):
        return value
    as_integer = integer(value)
    if as_integer is not None and 0 <= as_integer < 2**32:
        return as_integer
    if getattr(value, "dtype", None) == np.uint32 and np.shape(value) == (2,):
        raise InputError(
            f"{name}: this is a key of jax.random.PRNGKey; use jax.random.key(...) or "
            "jaxtheory.run_key(key, seed)"
        )
    if hasattr(value, "dtype") and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        raise InputError(f"{name} is an array of keys of shape {value.shape}; give one of them")
    raise InputError(f"{name} = {brief(value)}: must be an integer in [0, 2^32)")


def run_key(k: Any, seed: Any) -> jax.Array:
    """Return the random key of one run, `fold_in(key(k), seed)`.

    The key is the same for every point of a sweep, so that all points share random numbers.

    Args:
        k: The base key, an integer in [0, 2^32), as in `sweep(key=k)` and `--key`.
        seed: The seed of the run, an integer in [0, 2^32).

    Returns:
        A typed JAX key, which `simulate` takes.

    Raises:
        InputError: k or seed is not an integer in [0, 2^32). Larger numbers would give different
            keys in float32 and float64.

    Example:
        >>> import jaxtheory
        >>> theory = jaxtheory.theories.get("random_walk")
        >>> key = jaxtheory.run_key(0, 3)  # the run with seed 3 of sweep(..., key=0)
        >>> run = jaxtheory.simulate(theory, theory.Config(), key, steps=2)
        >>> run.metrics["accuracy"].shape
        (3,)
    """
    refuse_fork()
    compilation_cache.use()
    with jax.transfer_guard("allow"):
        return jax.random.fold_in(base_key(number("key", k)), number("seed", seed))


def base_key(k: Any) -> jax.Array:
    """Return the key `jax.random.key(k)`, whatever generator and offset of seeds JAX is set to.

    Args:
        k: An integer in [0, 2^32), or a traced integer.

    Returns:
        A typed threefry2x32 key.

    Example:
        >>> import jax, jaxtheory
        >>> key = jaxtheory.draws.base_key(7)
        >>> jax.random.key_data(key).tolist()
        [0, 7]
    """
    if isinstance(k, jax.core.Tracer):
        data = jnp.stack([jnp.zeros((), jnp.uint32), k.astype(jnp.uint32)])
    else:
        data = jnp.asarray(np.array([0, k], np.uint32))
    return jax.random.wrap_key_data(data, impl="threefry2x32")


def fixed_key(k: Any) -> jax.Array:
    """Return the key `base_key(k)`, declared as one whose draws are meant to be equal in all runs.

    Random numbers of a theory come from the key that its function gets. `verify` reports draws from
    any other key, and `from_flax` and `from_optax` refuse them, because they are the same for all
    seeds. Draw from this key what is meant to be the same, such as a fixed test set or fixed random
    features. It must be made within the function that draws.

    Args:
        k: An integer in [0, 2^32), or a traced integer, such as a field of the config.

    Returns:
        A typed threefry2x32 key.

    Raises:
        InputError: k is not an integer in [0, 2^32).

    Example:
        >>> import jax, jaxtheory
        >>> def problem(key, config):
        ...     test = jax.random.normal(jaxtheory.draws.fixed_key(0), (3,))
        ...     return jax.random.normal(key, (5,)), test
        >>> one, other = (problem(jaxtheory.run_key(0, seed), None) for seed in (0, 1))
        >>> bool((one[0] == other[0]).any()), bool((one[1] == other[1]).all())
        (False, True)
    """
    k = number("k", k)
    key: jax.Array = _declared_constant_key(k if isinstance(k, jax.core.Tracer) else np.uint32(k))
    return key


@jax.jit
def _declared_constant_key(k: Array) -> Array:  # `code.constant_draws` knows the name
    return base_key(k)


def masked(values: Array, *axes: Size | int) -> Array:
    """Set the entries of an array beyond the sizes of its leading axes to zero.

    Args:
        values: An array of shape (cap_1, ..., cap_m, ...).
        *axes: The m sizes of the leading axes. An int, or a `Size` that is not padded, leaves its
            axis unchanged.

    Returns:
        The array, of the same shape and dtype.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> jaxtheory.draws.masked(jnp.array([1.0, 2.0, 3.0]), jaxtheory.Size(3, 2)).tolist()
        [1.0, 2.0, 0.0]
    """
    for i, axis in enumerate(axes):
        if isinstance(axis, Size) and axis.value is not None:
            mask = axis.mask().reshape((-1,) + (1,) * (values.ndim - i - 1))
            values = jnp.where(mask, values, jnp.zeros((), values.dtype))
    return values


def stable(draw: Callable, key: Array, *axes: Size | int) -> Array:
    """Draw an array whose entries do not depend on its capacities.

    Every axis but the last has one level of keys; the last axis is drawn in one call. Entries
    beyond a size are zero.

    Args:
        draw: A function draw(key, shape) that returns an array of that shape, such as
            `jax.random.normal`; the prefix of a longer draw must be the shorter draw.
        key: A typed JAX key.
        *axes: The m sizes of the axes, at least one.

    Returns:
        An array of shape (cap_1, ..., cap_m).

    Example:
        >>> import jax, jaxtheory
        >>> key, draw = jax.random.key(0), jax.random.exponential
        >>> small = jaxtheory.draws.stable(draw, key, 2, 3)
        >>> large = jaxtheory.draws.stable(draw, key, 5, 7)
        >>> bool((large[:2, :3] == small).all())
        True
    """
    caps = [axis.cap if isinstance(axis, Size) else axis for axis in axes]

    def level(k: Array, depth: int) -> Array:
        if depth == len(caps) - 1:
            return draw(k, (caps[-1],))
        return jax.vmap(lambda row: level(row, depth + 1))(jax.random.split(k, caps[depth]))

    return masked(level(key, 0), *axes)


def normal(key: Array, *axes: Size | int) -> Float[Array, "..."]:
    """Draw standard normal entries in the default float dtype.

    Args:
        key: A typed JAX key.
        *axes: The sizes of the axes, at least one.

    Returns:
        An array of shape (cap_1, ..., cap_m), zero beyond each size.

    Example:
        >>> import jax, jaxtheory
        >>> jaxtheory.draws.normal(jax.random.key(0), 3, jaxtheory.Size(4, 2))[:, 2:].any().item()
        False
    """

    def draw(k: Array, shape: tuple[int, ...]) -> Array:
        # Without a barrier or a mask in between, XLA would merge a factor that follows with the
        # sqrt 2 inside, and the last bits of scale * normal would depend on padding.
        return jax.lax.optimization_barrier(jax.random.normal(k, shape))

    return stable(draw, key, *axes)


def uniform(key: Array, *axes: Size | int) -> Float[Array, "..."]:
    """Draw entries uniform on [0, 1), in float32 whatever the dtype of the run.

    Args:
        key: A typed JAX key.
        *axes: The sizes of the axes, at least one.

    Returns:
        A float32 array of shape (cap_1, ..., cap_m), zero beyond each size.

    Example:
        >>> import jax, jaxtheory
        >>> jaxtheory.draws.uniform(jax.random.key(0), 3).dtype
        dtype('float32')
    """
    return stable(lambda k, shape: jax.random.uniform(k, shape, jnp.float32), key, *axes)


def bernoulli(key: Array, p: Float[Array, ""] | float, *axes: Size | int) -> Bool[Array, "..."]:
    """Draw booleans that are True with probability p.

    Args:
        key: A typed JAX key.
        p: A probability in [0, 1], exact at 0 and 1 and otherwise with a resolution of 2^-23.
        *axes: The sizes of the axes, at least one.

    Returns:
        Booleans of shape (cap_1, ..., cap_m), False beyond each size.

    Example:
        >>> import jax, jaxtheory
        >>> jaxtheory.draws.bernoulli(jax.random.key(0), 1.0, jaxtheory.Size(3, 2)).tolist()
        [True, True, False]
    """
    return masked(uniform(key, *axes) < jnp.asarray(p, jnp.float32), *axes)


def integers(key: Array, n: Int[Array, ""] | int, *axes: Size | int) -> Int[Array, "..."]:
    """Draw uniform integers in [0, n).

    Args:
        key: A typed JAX key.
        n: The number of values, possibly traced, in [1, 2^23).
        *axes: The sizes of the axes, at least one.

    Returns:
        An int32 array of shape (cap_1, ..., cap_m), zero beyond each size.

    Example:
        >>> import jax, jaxtheory
        >>> rolls = jaxtheory.draws.integers(jax.random.key(0), 6, 100)
        >>> sorted({int(roll) for roll in rolls})
        [0, 1, 2, 3, 4, 5]
    """
    scaled = (uniform(key, *axes) * jnp.asarray(n, jnp.float32)).astype(jnp.int32)
    return masked(jnp.minimum(scaled, jnp.asarray(n, jnp.int32) - 1), *axes)


def words(key: Array, rows: int, columns: int) -> UInt[Array, "rows columns"]:
    """Draw independent uniform 32-bit words at half the cost of `jax.random.bits`.

    Both words of each threefry block are used, and one call serves two axes. Words (i, 2j) and
    (i, 2j + 1) are block (j, i) of the cipher, so they do not depend on the size of the array.

    Args:
        key: A typed JAX key.
        rows: The number of rows.
        columns: The number of columns.

    Returns:
        A uint32 array of shape (rows, columns).

    Example:
        >>> import jax, jaxtheory
        >>> key = jax.random.key(0)
        >>> small, large = jaxtheory.draws.words(key, 2, 3), jaxtheory.draws.words(key, 4, 8)
        >>> bool((large[:2, :3] == small).all())
        True
    """
    blocks = -(-columns // 2)
    i, j = (
        jnp.broadcast_to(x, (rows, blocks))
        for x in (jnp.arange(rows)[:, None], jnp.arange(blocks)[None, :])
    )
    k0, k1 = jax.random.bits(key, (2,), jnp.uint32)
    pair = threefry.cipher(k0, k1, j.astype(jnp.uint32), i.astype(jnp.uint32))
    return jnp.stack(pair, axis=2).reshape(rows, -1)[:, :columns]


def distinct(key: Array, population: Size | int, count: int) -> Int[Array, " count"]:
    """Draw distinct integers in [0, n) in random order: the indices of the smallest of n uniforms.

    Args:
        key: A typed JAX key.
        population: n, possibly padded.
        count: The number of integers, at most n.

    Returns:
        An int32 array of shape (count,).

    Example:
        >>> import jax, jaxtheory
        >>> sorted(jaxtheory.draws.distinct(jax.random.key(0), 4, 4).tolist())
        [0, 1, 2, 3]
    """
    size = Size.wrap(population)
    order = jnp.where(size.mask(), uniform(key, size), jnp.inf)
    return jnp.argsort(order)[:count].astype(jnp.int32)


def __dir__() -> list[str]:
    return sorted(__all__)
