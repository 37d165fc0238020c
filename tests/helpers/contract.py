"""What contract tests share: every theory with every example, drawn material, and the engine's rule for comparing numbers."""

import jax
import numpy as np

import jaxtheory
from jaxtheory.core.config import canonical, fields
from jaxtheory.theories import get, names

CASES = [(name, i) for name in names() for i in range(len(get(name).examples))]
# every example with the default algorithm, the first two with the others
ALGORITHMS = [(name, i, a) for name, i in CASES for k, a in enumerate(get(name).algorithms) if k == 0 or i < 2]


def config_of(name, i, dtype=np.float64):
    return canonical(get(name).examples[i], dtype)


def material(theory, config, key=None):
    """A problem, a batch and parameters away from special points."""
    keys = jax.random.split(jaxtheory.run_key(11, 0) if key is None else key, 4)
    problem = theory.problem(keys[0], config)
    batch = theory.sample(keys[1], problem, config)
    params = theory.init(keys[2], problem, config)
    leaves, tree = jax.tree.flatten(params)
    noise = [0.1 * jax.random.uniform(k, x.shape, x.dtype) for k, x in zip(jax.random.split(keys[3], len(leaves)), leaves, strict=True)]
    return problem, batch, jax.tree.unflatten(tree, [x + n for x, n in zip(leaves, noise, strict=True)])


def paddings(config):
    """The config with the capacity of every size raised, and with that of each size alone."""
    sizes = [n for n, f in fields(type(config)).items() if f.kind == "size"]
    raised = {n: getattr(config, n).cap + 3 for n in sizes}
    return [config.pad(**raised)] + [config.pad(**{n: c}) for n, c in raised.items()]


def inside(padded, plain):
    """The leading part of a padded array."""
    return padded[tuple(slice(n) for n in np.shape(plain))]


def close(a, b, rtol=1e-10):
    """|a - b| <= 1e-10 max(|b|, 1e-3), NaN equal to NaN."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    gap = np.abs(a - b) <= rtol * np.maximum(np.abs(b), 1e-3)
    return bool(np.all(gap | (np.isnan(a) & np.isnan(b))))


def size_values(config):
    return {n: int(getattr(config, n).n) for n, f in fields(type(config)).items() if f.kind == "size"}


def is_padded(config):
    return any(getattr(config, n).value is not None for n in size_values(config))
