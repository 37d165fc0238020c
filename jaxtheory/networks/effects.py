"""Observables of a trained network: the rise of its loss without a head, and without a token."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.core.theory import Theory
from jaxtheory.networks.interventions import ablate, cut_edges, intervene
from jaxtheory.ops.passes import Intervention
from jaxtheory.texts.errors import InputError


def head_effects(theory: Any) -> Callable[[Any, Any, Any], Float[Array, "layer head"]]:
    """Return an observable: the rise of the metric `loss` without each head.

    The head is replaced by its mean over the sequences (`jaxtheory.networks.ablate`). A head that
    the network does not use has a rise near 0.

    Args:
        theory: The theory of a network that reads by `jaxtheory.networks.attend`.

    Returns:
        A function (params, problem, config) that returns the rises, [layer, head].

    Raises:
        InputError: The theory is none of a network, or measures no loss.

    Example:
        >>> import jaxtheory
        >>> theory = jaxtheory.networks.transformer(jaxtheory.tasks.random_walk)
        >>> config = theory.Config(length=5, num_sequences=8, width=8, heads=2, depth=1)
        >>> data = jaxtheory.sweep(
        ...     theory, config, steps=2,
        ...     observe={"effect": jaxtheory.networks.head_effects(theory)},
        ...     dims={"effect": ("layer", "head")})
        >>> dict(data.effect.sizes)
        {'seed': 1, 'step': 3, 'layer': 1, 'head': 2}
    """
    return _Heads(_network(theory))


def edge_effects(theory: Any) -> Callable[[Any, Any, Any], Float[Array, " key"]]:
    """Return an observable: the rise of the metric `loss` where no other position reads a key.

    Every edge to the key from another position is cut, in all heads of all layers: there the mean
    value over the sequences is read (`jaxtheory.networks.cut_edges`). A token that the network does
    not use has a rise near 0.

    Args:
        theory: The theory of a network that reads by `jaxtheory.networks.attend`.

    Returns:
        A function (params, problem, config) that returns the rises, [key].

    Raises:
        InputError: The theory is none of a network, or measures no loss.

    Example:
        >>> import jaxtheory
        >>> theory = jaxtheory.networks.transformer(jaxtheory.tasks.random_walk)
        >>> config = theory.Config(length=5, num_sequences=8, width=8, heads=2, depth=1)
        >>> data = jaxtheory.sweep(
        ...     theory, config, steps=2,
        ...     observe={"effect": jaxtheory.networks.edge_effects(theory)},
        ...     dims={"effect": ("key",)})
        >>> dict(data.effect.sizes)
        {'seed': 1, 'step': 3, 'key': 5}
    """
    return _Edges(_network(theory))


@dataclasses.dataclass(frozen=True, eq=False)
class _Heads:
    """Rise of the loss without a head, by layer and head."""

    theory: Theory

    def __call__(self, params: Any, problem: Any, config: Any) -> Array:
        layers, heads, _, _ = _shape(self.theory, params, problem, config)
        plain = _loss(self.theory, params, problem, config)
        changed = [
            [_loss(self.theory, params, problem, config, ablate(i, j)) for j in range(heads)]
            for i in range(layers)
        ]
        return jnp.stack([jnp.stack(row) for row in changed]) - plain


@dataclasses.dataclass(frozen=True, eq=False)
class _Edges:
    """Rise of the loss where no other position reads a key, by key."""

    theory: Theory

    def __call__(self, params: Any, problem: Any, config: Any) -> Array:
        length = _shape(self.theory, params, problem, config)[3]
        from_elsewhere = ~jnp.eye(length, dtype=bool)

        def loss_without(key: Array) -> Array:
            edges = from_elsewhere & (jnp.arange(length) == key)[None, :]
            return _loss(self.theory, params, problem, config, cut_edges(edges))

        plain = _loss(self.theory, params, problem, config)
        return jax.lax.map(loss_without, jnp.arange(length)) - plain


def _network(theory: Any) -> Theory:
    """The theory; raises InputError unless it is that of a network."""
    intervene(theory)
    network: Theory = theory
    return network


def _loss(
    theory: Theory, params: Any, problem: Any, config: Any, *interventions: Intervention
) -> Array:
    """The metric `loss` of a network under interventions."""
    measures = intervene(theory, *interventions).metrics(params, problem, config)
    if "loss" not in measures:
        raise InputError(f"{theory.name} measures no loss")
    return jnp.asarray(measures["loss"])


def _shape(theory: Any, params: Any, problem: Any, config: Any) -> tuple[int, int, int, int]:
    """The numbers of layers, heads, queries and keys."""
    maps = jax.eval_shape(lambda: theory.init.attention_map(params, problem, config, None))
    layers, heads, queries, keys = maps.shape
    return layers, heads, queries, keys
