"""Threefry 2x32 in runs of eight rounds: the bits of JAX's `threefry2x32` keys for half of the time
on a CPU.

There JAX compiles the cipher as a loop of four rounds whose rotations are read from arrays. Here
the rotations stand in the code. Written out in full it would run faster still, but XLA fuses what
follows with it and copies it into every use, which can take minutes to compile; a loop is not
fused. Keys of this implementation are used within the engine; whatever draws with `jax.random`
draws the same from them.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.random import define_prng_impl
from jaxtyping import Array, Key, UInt

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_WORD = jnp.uint32
_PLACES = 2**32  # that one word counts


@jax.jit
def cipher(
    k0: UInt[Array, "..."], k1: UInt[Array, "..."], x0: UInt[Array, "..."], x1: UInt[Array, "..."]
) -> tuple[UInt[Array, "..."], UInt[Array, "..."]]:
    """The two words (x0, x1) enciphered with the key (k0, k1) in 20 rounds; shapes broadcast.

    A round: x0 += x1, x1 = rotl(x1, r) ^ x0. First the key is added, after each four rounds the
    next two of (k0, k1, k0 ^ k1 ^ parity) in turn, and to x1 the number of the four.
    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
    """
    k2 = k0 ^ k1 ^ _WORD(_PARITY)

    def eight(i: Array, carry: Any) -> Any:
        (x0, x1), (a, b, c) = carry
        number = 2 * i.astype(_WORD)
        x0, x1 = _four(x0, x1, _ROTATIONS[1], a, b, number + _WORD(2))
        return _four(x0, x1, _ROTATIONS[0], b, c, number + _WORD(3)), (c, a, b)

    start = _four(x0 + k0, x1 + k1, _ROTATIONS[0], k1, k2, _WORD(1))
    (x0, x1), _ = jax.lax.fori_loop(0, 2, eight, (start, (k2, k0, k1)))
    return x0, x1


def _four(
    x0: Array, x1: Array, rotations: tuple[int, ...], a: Array, b: Array, number: Any
) -> tuple[Array, Array]:
    """Four rounds, and what is added after them."""
    for r in rotations:
        x0 = x0 + x1
        x1 = ((x1 << _WORD(r)) | (x1 >> _WORD(32 - r))) ^ x0
    return x0 + a, x1 + b + number


def _counted(key: UInt[Array, "2"], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The enciphered places 0, 1, 2, ... of an array, as numbers of 64 bits in two words."""
    size = math.prod(shape)
    if size >= _PLACES:
        both = jax.random.split(jax.random.wrap_key_data(key, impl="threefry2x32"), shape)
        return tuple(jnp.moveaxis(jax.random.key_data(both), -1, 0))
    low = jax.lax.iota(_WORD, size).reshape(shape)
    first, second = cipher(key[0], key[1], jnp.zeros_like(low), low)
    return first, second


def _seed(seed: Array) -> UInt[Array, "2"]:
    return jax.random.key_data(jax.random.key(seed, impl="threefry2x32"))


def _split(key: UInt[Array, "2"], shape: tuple[int, ...]) -> UInt[Array, "*shape 2"]:
    return jnp.stack(_counted(key, shape), axis=-1)


def _bits(key: UInt[Array, "2"], width: int, shape: tuple[int, ...]) -> UInt[Array, "*shape"]:
    high, low = _counted(key, shape)
    if width == 64:
        return (high.astype(jnp.uint64) << jnp.uint64(32)) | low.astype(jnp.uint64)
    return (high ^ low).astype(f"uint{width}")


def _fold_in(key: UInt[Array, "2"], number: Any) -> UInt[Array, "2"]:
    low = jnp.asarray(number).astype(_WORD)
    return jnp.stack(cipher(key[0], key[1], jnp.zeros_like(low), low))


_IMPL: Any = define_prng_impl(
    key_shape=(2,),
    seed=_seed,
    split=_split,
    random_bits=_bits,
    fold_in=_fold_in,
    name="threefry2x32_eight",
    tag="fry8",
)


def by_eight(keys: Key[Array, "..."]) -> Key[Array, "..."]:
    """The same keys in this implementation, where they are JAX's `threefry2x32`; others as they
    are. Both draw alike where JAX draws by place (jax_threefry_partitionable).
    """
    if jax.random.key_impl(keys) != "threefry2x32":
        return keys
    return jax.random.wrap_key_data(jax.random.key_data(keys), impl=_IMPL)
