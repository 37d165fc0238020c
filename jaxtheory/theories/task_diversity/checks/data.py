"""Checks of the data: statistics of a prompt, tasks, noise."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Check, Compared, check
from jaxtheory.ops import linalg
from jaxtheory.theories.task_diversity import data, model
from jaxtheory.theories.task_diversity.checks import literal, material
from jaxtheory.theories.task_diversity.model import Config


@check("batch: example by example", material.PAPER, "equal")
def batch_by_example(key: Array, config: Config) -> Compared:
    """The statistics of each prompt, added example by example."""
    if not material.is_unpadded(config):
        return None
    x, y, query, label = prompts = material.raw(key, config)
    unit = jnp.ones(x.shape[2])
    rows = jnp.stack([literal.features(x[p], y[p], unit)[0] for p in range(len(x))])
    want = model.Batch(rows[:, :-1], rows[:, -1], query, label, jnp.full(len(x), 1 / len(x)))
    return data.batch(prompts, config), want


@check("on_sphere: norms", material.PAPER, "equal")
def tasks_on_sphere(key: Array, config: Config) -> Compared:
    """All tasks have |w|^2 = d."""
    w = data.on_sphere(key, config.num_tasks, config)
    d = jnp.asarray(Size.wrap(config.dimension).real, float)
    return jnp.sum(w**2, axis=1), d * Size.wrap(config.num_tasks).mask().astype(float)


def tasks_by_elimination(key: Array, config: Config) -> Compared:
    """Without noise and with as many examples as features, w is read off a prompt.

    It gives the label, and it is one of the tasks where these are finite, another for each prompt
    where not.
    """
    if not material.is_unpadded(config):
        return None
    d = Size.wrap(config.dimension).cap
    config = config.replace(length=3 * d, noise_variance=0.0, num_prompts=20)
    (x, y, query, label), tasks = data.raw(key, config)
    w = jax.vmap(lambda x, y: linalg.solve(x.T @ x, x.T @ y))(x, y)
    error = jnp.max(jnp.abs(jnp.sum(w * query, axis=1) - label))
    candidates = tasks if config.tasks == "finite" else w
    distances = jnp.sqrt(jnp.sum((w[:, None] - candidates[None, :]) ** 2, axis=2))
    if config.tasks == "finite":
        return jnp.stack([error, jnp.max(jnp.min(distances, axis=1))]), jnp.full(2, 1e-3)
    close = jnp.sum((distances < 1e-3).astype(float)) - 20 if d > 1 else jnp.zeros(())
    return jnp.stack([error, close]), jnp.asarray([1e-3, 4.5])  # two pairs may be close by chance


def draws_by_variance(key: Array, config: Config) -> Compared:
    """Variances of x, of the query and of label noise, and how often each task comes.

    d = 1 is left out, since tasks may be equal there.
    """
    if not material.is_unpadded(config) or Size.wrap(config.dimension).cap == 1:
        return None
    n, d, k = 3000, Size.wrap(config.dimension).cap, Size.wrap(config.num_tasks).cap
    config = config.replace(num_prompts=n, tasks="finite")
    tasks = data.on_sphere(jax.random.split(key, 3)[0], k, config)
    (x, y, query, label), _ = data.raw(key, config)
    fit = jnp.einsum("nld,kd->nkl", x, tasks)
    quiet = config.replace(noise_variance=0.0)
    (_, same, _, last), _ = data.raw(key, quiet)
    at = jnp.argmin(jnp.sum((same[:, None] - fit) ** 2, axis=2), axis=1)
    rows = jnp.concatenate(
        [
            d * jnp.mean(x**2, axis=(1, 2))[:, None],
            d * jnp.mean(query**2, axis=1)[:, None],
            jnp.mean((y - same) ** 2, axis=1)[:, None],
            ((label - last) ** 2)[:, None],
            (at[:, None] == jnp.arange(k)[None, :]).astype(float),
        ],
        axis=1,
    )
    rho = jnp.asarray(config.noise_variance, float)
    want = jnp.concatenate([jnp.ones(2), jnp.stack([rho, rho]), jnp.full(k, 1 / k)])
    return jnp.mean(rows, axis=0), want, jnp.std(rows, axis=0) / n**0.5 + 1e-12


CHECKS = (
    *(
        check
        for function in ("prompts", "raw")
        for check in (
            Check(
                f"{function}: tasks by elimination", material.PAPER, "bound", tasks_by_elimination
            ),
            Check(f"{function}: variances and shares", material.PAPER, "sample", draws_by_variance),
        )
    ),
)
