"""The cipher Threefry 2x32; `jaxtheory.draws.words` uses both words of each of its blocks.

On CPU, JAX compiles its own cipher as a loop of four rounds whose rotations are read from arrays.
Here the rotations are constants and the loop body has eight rounds, which takes half the time. A
fully unrolled cipher would be faster still, but XLA would fuse it with its consumers and copy it
into every use, which can take minutes to compile. A loop is not fused.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, UInt

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_WORD = jnp.uint32


@jax.jit
def cipher(
    k0: UInt[Array, "..."], k1: UInt[Array, "..."], x0: UInt[Array, "..."], x1: UInt[Array, "..."]
) -> tuple[UInt[Array, "..."], UInt[Array, "..."]]:
    """Encipher the two words (x0, x1) with the key (k0, k1) in 20 rounds; shapes broadcast.

    A round is x0 += x1, x1 = rotl(x1, r) ^ x0. The key is added first. After every four rounds, the
    next two of (k0, k1, k0 ^ k1 ^ parity) are added in turn, and the number of these four rounds is
    added to x1.
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
    """Apply four rounds and add the key words and the round number."""
    for r in rotations:
        x0 = x0 + x1
        x1 = ((x1 << _WORD(r)) | (x1 >> _WORD(32 - r))) ^ x0
    return x0 + a, x1 + b + number
