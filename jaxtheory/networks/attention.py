"""The place of a network at which one looks into it and changes what its heads read."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtheory.ops import passes


def attend(
    module: Any,
    maps: Float[Array, "B head query key"],
    values: Float[Array, "B key head d"],
) -> Float[Array, "B query head d"]:
    """Return what the heads of a layer read, the sum over keys of maps times values.

    A Flax module that calls this in place of the product can be looked into: its maps are sown as
    "attention", and interventions (`jaxtheory.networks.intervene`) change what its heads read. The
    layers of a network are counted in the order of these calls.

    Args:
        module: The module that calls, of Linen or NNX.
        maps: The weights of each query on each key.
        values: The values of each key.

    Returns:
        The outputs of the heads.

    Example:
        >>> import flax.linen as nn, jax, jax.numpy as jnp, jaxtheory
        >>> class Mean(nn.Module):
        ...     @nn.compact
        ...     def __call__(self, x):
        ...         maps = jnp.full((len(x), 1, x.shape[1], x.shape[1]), 1 / x.shape[1])
        ...         return jaxtheory.networks.attend(self, maps, x[:, :, None])[:, :, 0]
        >>> Mean().apply({}, jnp.arange(4.0).reshape(1, 4, 1))[0, 0]
        Array([1.5], dtype=float32)
    """
    if hasattr(module, "scope"):  # of Linen
        module.sow("intermediates", "attention", maps)
    else:
        from flax import nnx

        module.sow(nnx.Intermediate, "attention", maps)
    return passes.edited(maps, values, jnp.einsum("bhqk,bkhd->bqhd", maps, values))
