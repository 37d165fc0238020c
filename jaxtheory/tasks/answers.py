"""Shared parts of the tasks: the answer at the last position, its loss, and its attention.

A network reads all positions of a sequence and answers at the last one. Arrays count positions
from 0, so the answer of a sequence of n positions stands at n - 1.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxtheory.core.config import Size

Maps = Callable[[Any], Any]  # the attention maps of a batch: [layer, B, head, query, key], or None


def at_last(outputs: Float[Array, "B L K"], n: Any) -> Float[Array, "B K"]:
    """The outputs at position n - 1, the last one of a sequence."""
    return jnp.take(outputs, n - 1, axis=1)


def log_law(logits: Float[Array, "B K"], size: Size | int) -> Float[Array, "B K"]:
    """The logarithms of the predicted law: log softmax over the valid entries, 0 beyond them."""
    valid = Size.wrap(size).mask()[None, :]
    return jnp.where(valid, jax.nn.log_softmax(jnp.where(valid, logits, -jnp.inf), axis=1), 0)


def cross_entropy(
    logits: Float[Array, "B K"],
    label: Int[Array, " B"],
    weight: Float[Array, " B"],
    size: Size | int,
) -> Float[Array, ""]:
    """The weighted mean of -log softmax(logits)_label over the valid entries."""
    chosen = jnp.take_along_axis(log_law(logits, size), label[:, None], axis=1)[:, 0]
    return -jnp.sum(weight * chosen)


def against_law(
    logits: Float[Array, "B K"],
    law: Float[Array, "B K"],
    weight: Float[Array, " B"],
    size: Size | int,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Cross-entropy and accuracy under the true law of the answer.

    No label is drawn, so neither is better than that law allows, whatever the test set.
    """
    loss = -jnp.sum(weight * jnp.sum(law * log_law(logits, size), axis=1))
    answer = jnp.argmax(jnp.where(Size.wrap(size).mask()[None, :], logits, -jnp.inf), axis=1)
    right = jnp.take_along_axis(law, answer[:, None], axis=1)[:, 0]
    return loss, jnp.sum(weight * right)


def entropy(law: Float[Array, "*n K"]) -> Float[Array, "*n"]:
    """-sum_k law_k log law_k in nats, with 0 log 0 = 0."""
    some = law > 0
    return -jnp.sum(jnp.where(some, law * jnp.log(jnp.where(some, law, 1)), 0), axis=-1)


def of_answer(
    maps: Float[Array, "layer B head L L"], weight: Float[Array, " B"], n: Any
) -> Float[Array, "layer head L"]:
    """The attention of the last query to every position, averaged over the sequences."""
    last = jnp.take(maps, n - 1, axis=3)
    return jnp.einsum("lbhk,b->lhk", last, weight)


def on(
    maps: Float[Array, "layer B head L L"] | None,
    wanted: Bool[Array, "B L"],
    weight: Float[Array, " B"],
    n: Any,
) -> Float[Array, ""]:
    """The attention of the last query to the wanted positions, averaged over the sequences.

    It is that of the head, of any layer, that has most of it. NaN for a network without attention
    maps.
    """
    if maps is None:
        return jnp.asarray(jnp.nan)
    last = jnp.take(maps, n - 1, axis=3)
    mass = jnp.sum(jnp.where(wanted[None, :, None, :], last, 0), axis=3)
    return jnp.max(jnp.einsum("lbh,b->lh", mass, weight))
