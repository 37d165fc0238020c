"""Random sequences and parameters that compile fast, and the choice of configs for each check."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.theories.random_walk import data
from jaxtheory.theories.random_walk.model import Batch, Config, Literal

PAPER = "Towards Understanding Transformers in Learning Random Walks (arXiv 2511.23239)"


def case(key: Array, config: Config) -> tuple[Batch, Literal]:
    """Random tokens, positive values, and an attention neither saturated nor flat, from one draw.

    With positive values the log is defined.
    """
    K, N, B, m, M = (
        getattr(config, name)
        for name in ("num_states", "length", "num_sequences", "hidden_width", "encoding_dim")
    )
    linear, D = config.value == "linear", K.cap + M.cap
    shapes = [
        (B.cap, N.cap),
        (B.cap,),
        (K.cap if linear else m.cap, K.cap),
        (D, D),
        (0 if linear else K.cap, m.cap),
    ]
    ends = np.cumsum([np.prod(shape) for shape in shapes])
    parts = jnp.split(jax.random.uniform(key, (ends[-1],)), ends[:-1])
    s, y, V, W, A = (part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
    s, y = ((x * K.real).astype(jnp.int32) for x in (s, y))
    return data.make_batch(s, y, B, config), Literal(V, W - 0.5, None if linear else A - 0.1)


def flat(tree: object) -> Float[Array, " n"]:
    """All entries of a pytree in one array, so that they are compared on one scale."""
    return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(tree)])


def padded(config: Config) -> bool:
    """True if some size is padded."""
    return any(
        getattr(config, name).value is not None
        for name in ("num_states", "length", "encoding_dim", "num_sequences")
    )


def layer(config: Config) -> bool:
    """True for configs on which the layer is checked.

    Left out are data laws (the tokens are random here), a third loss (it enters only through its
    slope) and contexts of one token.
    """
    again = config.task != "walk" or config.population or config.loss_function == "hinge"
    return not again and config.length.cap > 2


def circle(config: Config) -> bool:
    """True for configs on which formulas of sizes, p and the loss are checked.

    They do not depend on the layer, so one suffices.
    """
    return config.task == "walk" and not config.population and config.value == "linear"
