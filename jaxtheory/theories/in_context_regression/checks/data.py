"""Checks of the data: eigenvalues, statistics of a prompt, and the start."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.core.config import Size
from jaxtheory.core.theory import Compared, check
from jaxtheory.ops import linalg
from jaxtheory.theories.in_context_regression import data, model
from jaxtheory.theories.in_context_regression.checks import literal, material
from jaxtheory.theories.in_context_regression.model import Config, Literal


@check("eigenvalues: one by one", material.PAPER, "equal")
def eigenvalues_listed(key: Array, config: Config) -> Compared:
    """The eigenvalues one by one."""
    if not material.is_unpadded(config):
        return None
    return model.eigenvalues(config), literal.spectrum(config)


@check("batch: token by token", material.PAPER, "equal")
def batch_by_example(key: Array, config: Config) -> Compared:
    """S of each prompt, added token by token."""
    if not material.is_unpadded(config):
        return None
    x, y, query, label = material.raw(key, config)
    P, N, _ = x.shape
    S = []
    for p in range(P):
        tokens = [jnp.append(y[p, n], x[p, n]) for n in range(N)] + [jnp.append(0.0, query[p])]
        S.append(sum(jnp.outer(z, z) for z in tokens) / N)
    got = data.batch(x, y, query, label, P, N)
    return got, model.Batch(jnp.stack(S), query, label, jnp.full(P, 1 / P))


@check("prompts: tasks by elimination", material.PAPER, "bound")
def prompts_are_linear(key: Array, config: Config) -> Compared:
    """With as many examples as features the task is read off S, and it gives the label.

    A share c of the prompts has the fixed task.
    """
    if not material.is_unpadded(config):
        return None
    D = Size.wrap(config.dimension).cap
    config = config.replace(length=2 * D)
    task = jnp.arange(1.0, D + 1)
    batch = data.batch(*data.prompts(key, 200, task, config)[:4], 200, 2 * D)
    S = batch.S[:, 1:, 1:] - batch.x[:, :, None] * batch.x[:, None, :] / (2 * D)
    w = jax.vmap(linalg.solve)(S, batch.S[:, 0, 1:])
    fixed = jnp.mean((jnp.max(jnp.abs(w - task[None, :]), axis=1) < 1e-3).astype(float))
    share = jnp.asarray(config.in_weight_share, float)
    error = jnp.max(jnp.abs(jnp.sum(w * batch.x, axis=1) - batch.y))
    spread = jnp.sqrt(share * (1 - share) / 200)
    got = jnp.stack([error, jnp.abs(fixed - share)])
    return got, jnp.stack([jnp.asarray(1e-3), 5 * spread + 1e-12])


@check("init: aligned, by entry", "derived", "equal")
def start_by_entry(key: Array, config: Config) -> Compared:
    """The aligned start, entry by entry."""
    config = config.replace(start="aligned")
    if not material.is_unpadded(config):
        return None
    H, R, D = (Size.wrap(n).cap for n in (config.heads, config.rank, config.dimension))
    sigma = config.initial_scale
    problem, _ = material.setting(key, config)
    params = model.init(key, problem, config)
    if config.form == "separate":
        K = np.zeros((H, R, D))
        for h in range(H):
            for r in range(R):
                K[h, r, (h * R + r) % D] = 1
        factor = sigma * jnp.asarray(K)
        return params, model.Separate(sigma * jnp.ones(H), factor, factor)
    U = jnp.broadcast_to(sigma * jnp.eye(D) / D**0.5, (H, D, D))
    if isinstance(params, Literal):
        v = jnp.concatenate([sigma * jnp.ones((H, 1)), jnp.zeros((H, D))], axis=1)
        return params, Literal(v, jnp.concatenate([jnp.zeros((H, 1, D)), U], axis=1))
    return params, model.Merged(sigma * jnp.ones(H), U)


@check("init: scale of the random start", "derived", "sample")
def start_scale(key: Array, config: Config) -> Compared:
    """The squares of the random start, in the mean over 400 draws."""
    config = config.replace(start="random")
    if not material.is_unpadded(config):
        return None
    D, sigma = Size.wrap(config.dimension).cap, config.initial_scale
    problem, _ = material.setting(key, config)
    draw = lambda key: jax.tree.leaves(model.init(key, problem, config))
    first, *matrices = jax.vmap(draw)(jax.random.split(key, 400))
    v = first[:, :, :1] if config.form == "literal" else first[:, :, None]
    matrices = [x[:, :, 1:] if config.form == "literal" else x for x in matrices]
    squares = [v.reshape(400, -1) ** 2 / sigma**2]
    squares += [x.reshape(400, -1) ** 2 / sigma**2 * D for x in matrices]
    rows = jnp.stack([jnp.mean(x, axis=1) for x in squares], axis=1)
    return jnp.mean(rows, axis=0), jnp.ones(len(squares)), jnp.std(rows, axis=0) / 20
