"""The least time that an algorithm can take on this machine: what it must move and do, over rates
that are measured here.

    floor = max(bytes / copy bandwidth,
                operations / matmul rate + exponentials / rate of exp + words / rate of threefry)

Rates are those of all cores side by side. Copying is measured at the size of the arrays that the
algorithm goes through again and again, which the caches may hold. On an accelerator everything is
measured there, and with arrays that fill it. Counts are lower bounds, so that no program can be
faster by doing the same better; one that does something else can.
"""

import functools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory import draws
from jaxtheory.system.backend import workers

SQUARE = 1024  # of the matrices whose product is timed
FULL = 8 * SQUARE  # the same on an accelerator
CHAIN = 16  # exponentials of a value in registers, on an accelerator
LARGEST = 2**28  # bytes that are copied at most
SECONDS = 0.2  # a rate is measured for so long, and so often, and the best is taken
TIMES = 3
LOOP = 200
clock = time.perf_counter  # with which rates are measured


class Work(NamedTuple):
    """What a sweep must do: floating-point operations, bytes read and written, `resident` bytes of
    the arrays that it goes through again and again, exponentials, and random words of 32 bits.
    """

    flops: float
    moved: float
    resident: float
    exps: float = 0
    words: float = 0


def rate(call: Callable[[int], Any], amount: float, count: int) -> float:
    """Amount per second of call(k), k < count, in as many threads at once; the best of TIMES."""

    def repeat(k: int) -> int:
        done, end = 0, clock() + SECONDS
        while clock() < end:
            call(k)
            done += 1
        return done

    best = 0.0
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(call, range(count)))
        for _ in range(TIMES):
            begun = clock()
            done = sum(pool.map(repeat, range(count)))
            best = max(best, done * amount / (clock() - begun))
    return best


def host() -> bool:
    return jax.default_backend() == "cpu"


def cores() -> int:
    return workers() if host() else 1


def looped(function: Callable, *shape: int) -> Callable[[int], Any]:
    """LOOP applications of a function on the device, each to the result of the one before."""
    run = jax.jit(lambda x: jax.lax.fori_loop(0, LOOP, lambda _, x: function(x), x))
    x = jnp.ones(shape, jnp.float32)
    return lambda _: jax.block_until_ready(run(x))


def queued(function: Callable, x: Any, times: int) -> Callable[[int], Any]:
    """A function of x on the device, `times` times before the host waits."""
    run = jax.jit(function)
    return lambda _: jax.block_until_ready([run(x) for _ in range(times)][-1])


@functools.cache
def copying(size: int) -> float:
    """Bytes read and written a second, copying arrays of `size` bytes altogether."""
    if not host():
        x = jax.random.normal(jax.random.key(0), (LARGEST // 4,))
        return rate(queued(lambda x: x + 1, x, 10), 10 * 2 * LARGEST, 1)
    count = cores()
    arrays = [(np.ones(size // count // 8), np.ones(size // count // 8)) for _ in range(count)]
    again = max(1, 2**20 // size)

    def copy(k: int) -> None:
        for _ in range(again):
            np.copyto(*arrays[k])

    return rate(copy, 2.0 * again * arrays[0][0].nbytes, count)


@functools.cache
def multiplying(dtype: str = "float32") -> float:
    """Operations a second of a product of two square matrices."""
    if not host():
        a = jax.random.normal(jax.random.key(0), (FULL, FULL)).astype(dtype)
        precision = "highest" if dtype == "float32" else "default"
        product = lambda a: jnp.matmul(a, a, precision=precision)
        return rate(queued(product, a, 5), 5 * 2 * FULL**3, 1)
    a = jnp.ones((SQUARE, SQUARE), jnp.float32)
    run = jax.jit(lambda a: jnp.matmul(a, a, precision="highest"))
    return rate(lambda _: jax.block_until_ready(run(a)), 2 * SQUARE**3, cores())


@functools.cache
def exponentials() -> float:
    """Values a second of a float32 exp in the cache."""
    n, chain = (2**13, 1) if host() else (2**24, CHAIN)

    def iterate(x: Any) -> Any:
        for _ in range(chain):
            x = jnp.exp(-x)
        return x

    return rate(looped(iterate, n), LOOP * n * chain, cores())


@functools.cache
def words() -> float:
    """Random words of 32 bits a second, drawn as `draws.words` does."""
    rows, columns = (16, 512) if host() else (4096, 1024)
    key = jax.random.key(0)

    def more(total: Any) -> Any:
        drawn = draws.words(jax.random.fold_in(key, total[0].astype(jnp.int32)), rows, columns)
        return total + jax.lax.reduce(drawn, jnp.uint32(0), jax.lax.bitwise_xor, (0, 1)).astype(
            jnp.float32
        )

    return rate(looped(more, 1), LOOP * rows * columns, cores())


def seconds(work: Work) -> float:
    """The floor of some work."""
    size = 2 ** int(np.ceil(np.log2(min(max(work.resident, 2**15), LARGEST))))
    doing = work.flops / multiplying()
    doing += work.exps / exponentials() if work.exps else 0
    doing += work.words / words() if work.words else 0
    return max(work.moved / copying(size), doing)


def measured() -> dict[str, float]:
    """The rates, for the page."""
    if not host():
        return {
            "copying 256 MiB, GB/s": copying(LARGEST) / 1e9,
            "float32 matmul, Top/s": multiplying() / 1e12,
            "bfloat16 matmul, Top/s": multiplying("bfloat16") / 1e12,
            "float32 exp, G/s": exponentials() / 1e9,
            "threefry words, G/s": words() / 1e9,
        }
    return {
        "copying 32 KiB, GB/s": copying(2**15) / 1e9,
        "copying 1 MiB, GB/s": copying(2**20) / 1e9,
        "copying 256 MiB, GB/s": copying(2**28) / 1e9,
        "float32 matmul, Gop/s": multiplying() / 1e9,
        "float32 exp, G/s": exponentials() / 1e9,
        "threefry words, G/s": words() / 1e9,
    }
