"""Interventions: what a network computes where a part of it is replaced.

A correlation, such as a large attention to a token, does not say that the network uses it. Here a
part is replaced by its mean over the sequences, or by that of another run, and the loss tells.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool

from jaxtheory.core.theory import Theory
from jaxtheory.ops.passes import Call, Edit, Intervention
from jaxtheory.texts.errors import InputError


def ablate(layer: int, head: int, *, to: str = "mean") -> Intervention:
    """Replace the output of a head.

    Args:
        layer: The number of the layer, from 0.
        head: The number of the head in it, from 0.
        to: "mean" for its mean over the sequences of the batch, at each position; "zero" for zero.

    Returns:
        An intervention.

    Raises:
        InputError: `to` is another word; or, when the network is called, it has no such layer or
            head.

    Example:
        >>> import jaxtheory
        >>> theory = jaxtheory.networks.transformer(jaxtheory.tasks.random_walk)
        >>> without = jaxtheory.networks.intervene(theory, jaxtheory.networks.ablate(0, 1))
        >>> without.name
        'random_walk_transformer'
    """
    if to not in ("mean", "zero"):
        raise InputError(f"to = {to!r}: must be 'mean' or 'zero'")

    def intervention(_call: Call) -> Edit:
        def change(_at: int, _maps: Array, _values: Array, heads: Array) -> Array:
            _require_head(head, heads)
            one = heads[:, :, head]
            mean = jnp.mean(one, axis=0, keepdims=True) if to == "mean" else jnp.zeros_like(one)
            return heads.at[:, :, head].set(jnp.broadcast_to(mean, one.shape))

        return Edit(layer, change)

    return intervention


def cut_edges(edges: Any, *, layer: int | None = None, head: int | None = None) -> Intervention:
    """Cut edges from queries to keys: what is read there becomes the mean over the sequences.

    A head still attends to the key as before, but reads the mean value at that place in place of
    the value of its own sequence, so that it learns nothing about the sequence from it.

    Args:
        edges: True where the edge is cut: an array [query, key] or [B, query, key], or a function
            (batch, problem, config) that returns one.
        layer: The layer; all of them if None.
        head: The head; all of them if None.

    Returns:
        An intervention.

    Raises:
        InputError: When the network is called: the edges have another shape than its maps, or there
            is no such layer or head.

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> to_parent = jnp.zeros((13, 13), bool).at[-1, -2].set(True)
        >>> theory = jaxtheory.networks.transformer(jaxtheory.tasks.random_walk)
        >>> without = jaxtheory.networks.intervene(
        ...     theory, jaxtheory.networks.cut_edges(to_parent))
    """

    def intervention(call: Call) -> Edit:
        given = edges(call.batch, call.problem, call.config) if callable(edges) else edges

        def change(_at: int, maps: Array, values: Array, heads: Array) -> Array:
            cut = _edges_as(given, maps)
            if head is not None:
                _require_head(head, heads)
                cut = cut & (jnp.arange(maps.shape[1]) == head)[None, :, None, None]
            own = values - jnp.mean(values, axis=0, keepdims=True)
            return heads - jnp.einsum("bhqk,bkhd->bqhd", jnp.where(cut, maps, 0), own)

        return Edit(layer, change)

    return intervention


def patch(source: Callable, *, layer: int | None = None, head: int | None = None) -> Intervention:
    """Replace the outputs of heads by those of another run of the network.

    Args:
        source: A function (params, batch, problem, config) that returns the parameters and the
            batch of the other run: other parameters, or the same on other inputs.
        layer: The layer; all of them if None.
        head: The head; all of them if None.

    Returns:
        An intervention.

    Raises:
        InputError: When the network is called: it has no such layer or head.

    Example:
        >>> import jax, jaxtheory
        >>> reversed_inputs = lambda params, batch, problem, config: (
        ...     params, jax.tree.map(lambda x: x[::-1], batch))
        >>> theory = jaxtheory.networks.transformer(jaxtheory.tasks.random_walk)
        >>> patched = jaxtheory.networks.intervene(
        ...     theory, jaxtheory.networks.patch(reversed_inputs, layer=0))
    """

    def intervention(call: Call) -> Edit:
        heads_of_run = call.heads(*source(call.params, call.batch, call.problem, call.config))

        def change(at: int, _maps: Array, _values: Array, heads: Array) -> Array:
            if head is None:
                return heads_of_run[at]
            _require_head(head, heads)
            return heads.at[:, :, head].set(heads_of_run[at][:, :, head])

        return Edit(layer, change)

    return intervention


def intervene(theory: Theory, *interventions: Intervention) -> Theory:
    """Return the theory of a network in which parts are replaced.

    Its parameters are those of the network, so that `metrics`, `loss` and observables tell what the
    trained network does under the interventions. They are made in the given order.

    Args:
        theory: The theory of a network that reads by `jaxtheory.networks.attend`, as
            `jaxtheory.networks.transformer` does.
        interventions: What `ablate`, `cut_edges` and `patch` return.

    Returns:
        A theory of the same name.

    Raises:
        InputError: The theory is none of a network.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory import networks
        >>> theory = networks.transformer(jaxtheory.tasks.random_walk)
        >>> config = theory.Config(length=5, num_sequences=8, width=8, heads=2, depth=1)
        >>> without = networks.intervene(theory, networks.ablate(0, 1))
        >>> data = jaxtheory.sweep(
        ...     theory, config, steps=2,
        ...     observe={"loss_without": lambda params, problem, config: without.metrics(
        ...         params, problem, config)["loss"]})
        >>> dict(data.loss_without.sizes)
        {'seed': 1, 'step': 3}
    """
    again = getattr(getattr(theory, "init", None), "under", None)
    if again is None:
        name = getattr(theory, "name", type(theory).__name__)
        raise InputError(f"{name} is not the theory of a network of jaxtheory.from_flax")
    changed: Theory = again(interventions)._replace(dims=theory.dims)
    return changed


def _edges_as(edges: Any, maps: Array) -> Bool[Array, "B 1 query key"]:
    """The edges in the form of the maps."""
    cut = jnp.asarray(edges, bool)
    shape = (len(maps), *maps.shape[2:])
    if cut.shape not in (shape, shape[1:]):
        raise InputError(
            f"edges of shape {cut.shape}: must be (query, key) or (B, query, key), here "
            f"{shape[1:]} or {shape}"
        )
    return jnp.broadcast_to(cut, shape)[:, None]


def _require_head(head: int, heads: Array) -> None:
    """Raise InputError if a layer has no such head."""
    if not 0 <= head < heads.shape[2]:
        raise InputError(f"head = {head}: the layer has the heads 0 to {heads.shape[2] - 1}")
