"""What contract tests share: every theory with every example, drawn material, and the engine's rule
for comparing numbers.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

import jaxtheory
from jaxtheory.core.config import canonical, fields
from jaxtheory.theories import get, names

CASES = [(name, i) for name in names() for i in range(len(get(name).examples))]
# every example with the default algorithm, the first with the others
ALGORITHMS = [
    (name, i, a)
    for name, i in CASES
    for k, a in enumerate(get(name).algorithms)
    if k == 0 or i == 0
]


def config_of(name, i, dtype=np.float64):
    return jax.tree.map(jnp.asarray, canonical(get(name).examples[i], dtype))


def material(theory, config, key):
    """A problem, a batch and parameters away from special points."""
    keys = jax.random.split(key, 4)
    problem = theory.problem(keys[0], config)
    batch = theory.sample(keys[1], problem, config)
    params = theory.init(keys[2], problem, config)
    leaves, tree = jax.tree.flatten(params)
    noise = [
        0.1 * jax.random.uniform(k, x.shape, x.dtype)
        for k, x in zip(jax.random.split(keys[3], len(leaves)), leaves, strict=True)
    ]
    return (
        problem,
        batch,
        jax.tree.unflatten(tree, [x + n for x, n in zip(leaves, noise, strict=True)]),
    )


@functools.cache
def drawn(name, i):
    """Three times the material of an example, in float64: a leading axis of 3. Compiling the draws
    is what these tests cost, hence once.
    """
    with jax.enable_x64(True):
        draw = jax.vmap(lambda key: material(get(name), config_of(name, i), key))
        return jax.device_get(jax.jit(draw)(jax.random.split(jaxtheory.run_key(11, 0), 3)))


def first(tree, dtype=np.float64):
    """The first of three, real entries in a dtype."""
    return jax.tree.map(
        lambda x: jnp.asarray(x[0], dtype if np.issubdtype(x.dtype, np.floating) else x.dtype), tree
    )


def bare(theory):
    """The theory without what is looked at after training but its loss, which compiles in a
    fraction of the time.
    """
    return theory._replace(
        name=f"bare_{theory.name}",
        metrics=lambda params, problem, config: {
            "loss": theory.metrics(params, problem, config)["loss"]
        },
        analyses=lambda params, problem, config: {},
        baselines=lambda problem, config: {},
        predict=lambda problem, config, steps: {},
    )


def padding(config):
    """The config with the capacity of every size raised."""
    return config.pad(
        **{
            n: getattr(config, n).cap + 3
            for n, f in fields(type(config)).items()
            if f.kind == "size"
        }
    )


def inside(padded, plain):
    """The leading part of a padded array."""
    return padded[tuple(slice(n) for n in np.shape(plain))]


def close(a, b, rtol=1e-10):
    """|a - b| <= 1e-10 max(|b|, 1e-3), NaN equal to NaN."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    gap = np.abs(a - b) <= rtol * np.maximum(np.abs(b), 1e-3)
    return bool(np.all(gap | (np.isnan(a) & np.isnan(b))))
