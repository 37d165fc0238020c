"""Parameters, a batch and a problem that checks share, from one draw each."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxtheory.theories.low_rank import data, model
from jaxtheory.theories.low_rank.model import Batch, Config, Params, Problem

PAPER = "arXiv 2406.17167"
MANY = 4000
BATCHES = 300


def plain(config: Config) -> bool:
    """True for the first example.

    It is the one for checks to which heads, classes and other forms of A add nothing.
    """
    return config.num_heads == 1 and config.output == "shared" and config.task == "binary"


def shown(config: Config) -> Problem:
    """A problem for laws that depend on the patterns alone."""
    nothing = Batch(*(jnp.zeros(()),) * 4)
    return Problem(nothing, nothing, data.patterns(config), *(jnp.zeros(()),) * 4)


def setting(key: Array, config: Config) -> tuple[Params, Batch, Problem]:
    """Parameters away from their start, a batch and a problem, from one uniform draw.

    One draw compiles fast. Sizes are unpadded.
    """
    M, C, d, m, m_a, N, T, B = (
        getattr(config, name).cap
        for name in (
            "num_patterns",
            "num_classes",
            "dimension",
            "num_neurons",
            "value_dim",
            "num_samples",
            "num_test",
            "batch_size",
        )
    )
    L, q, H, layers = (
        model.length(config).cap,
        model.head_dim(config).cap,
        config.num_heads,
        config.num_layers,
    )
    signs = (C if config.task == "multiclass" else 1, m, L if config.output == "per_token" else 1)
    shapes = [(N + T, L, d), (N + T,), (N + T, L), signs, (m, m_a), (m,), (d,)]
    shapes += [(layers, H, q, d), (layers, H, q, d), (layers, H, m_a, d), (m, m_a)]
    ends = np.cumsum([np.prod(shape) for shape in shapes])
    parts = [
        part.reshape(s)
        for part, s in zip(
            jnp.split(jax.random.uniform(key, (ends[-1],)), ends[:-1]), shapes, strict=True
        )
    ]
    tokens, label, pattern, sign, normal, shuffle, v = parts[:7]
    U = data.patterns(config)
    label, pattern = (label * C).astype(jnp.int32), (pattern * M).astype(jnp.int32)
    tokens = U[pattern] + tokens - 0.5
    sets = [
        Batch(tokens[at], label[at], pattern[at], jnp.full(n, 1 / n))
        for n, at in ((N, slice(N)), (T, slice(N, None)), (B, slice(B)))
    ]
    # a reflection
    basis = jnp.eye(d) - 2 * v[:, None] * v[None, :] / jnp.sum(v**2) if H > 1 else jnp.eye(d)
    problem = Problem(
        sets[0], sets[1], U, jnp.where(sign < 0.5, -1.0, 1.0), 2 * normal - 1, basis, shuffle
    )
    params = Params(
        *(
            w + 1.4 * (u - 0.5)
            for w, u in zip(model.initial(problem, config), parts[7:], strict=True)
        )
    )
    return params, sets[2], problem
