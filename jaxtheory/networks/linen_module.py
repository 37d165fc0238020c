"""A Flax Linen module as functions of its variables."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from jaxtheory.networks import modes
from jaxtheory.texts.errors import InputError

PARAMS, ATTENTION = "params", "attention"


@contextlib.contextmanager
def usual_promotion() -> Iterator[None]:
    """Trace with the promotion rules of JAX, which Flax relies on."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def streams(key: jax.Array) -> dict[str, jax.Array]:
    """Return the keys of a training step: that of the stream `dropout`, and that of all others.

    The other key is folded with a number that no counter of a stream of NNX reaches.
    """
    return {"dropout": key, "default": jax.random.fold_in(key, 2**32 - 1)}


def real(name: str, variables: Any) -> Any:
    """Return variables in the default precision. Raises InputError for integers."""
    for path, leaf in jax.tree.leaves_with_path(variables):
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            place = jax.tree_util.keystr(path, simple=True, separator=".")
            raise InputError(
                f"{name}: its variable {place} holds {leaf.dtype}, but the variables of a network "
                "must be real numbers"
            )
    return jax.tree.map(lambda x: x.astype(jnp.result_type(float)), variables)


def stacked(name: str, maps: list[Any]) -> Any:
    """Return attention maps [layer, B, head, query, key], or None if there are none."""
    if not maps:
        return None
    if len({x.shape for x in maps}) > 1 or maps[0].ndim != 4:
        shapes = ", ".join(str(x.shape) for x in maps)
        raise InputError(
            f"{name}: it sows attention maps of shapes {shapes}, but each must have the same shape "
            "(batch, head, query, key)"
        )
    return jnp.stack(maps)


@dataclasses.dataclass(frozen=True)
class LinenModule:
    """A function of the config that returns a Linen module, with the name that messages use."""

    name: str
    module: Callable

    def variables(self, key: jax.Array, inputs: jax.Array, config: Any) -> dict[str, Any]:
        """Draw all variables, by collection."""
        rngs = dict(zip((PARAMS, "dropout"), jax.random.split(key), strict=True))
        module = self._build(config)
        with usual_promotion():
            call = modes.arguments(self.name, type(module).__call__, False)
            drawn = module.init(rngs, inputs, **call)
        return real(self.name, {PARAMS: {}, **jax.tree.map(jnp.asarray, dict(drawn))})

    def run(
        self, variables: Any, inputs: jax.Array, config: Any, key: jax.Array | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Return the outputs and the collections beside the parameters.

        With a key the network trains: all streams draw from it, and the collections change.
        """
        import flax.linen

        module = self._build(config)
        collections = {k: v for k, v in variables.items() if k != PARAMS}
        call = modes.arguments(self.name, type(module).__call__, key is not None)
        with usual_promotion():
            if key is None:
                return module.apply(variables, inputs, **call), collections
            keys = streams(key)  # Flax takes the stream `params` where another is not given
            rngs = {"dropout": keys["dropout"], PARAMS: keys["default"]}
            mutable = [*collections] or False
            with flax.linen.intercept_methods(self._watched):
                outcome = module.apply(variables, inputs, rngs=rngs, mutable=mutable, **call)
        outputs, new = outcome if collections else (outcome, {})
        return outputs, {**collections, **dict(new)}

    def maps(self, variables: Any, inputs: jax.Array, config: Any) -> Any:
        """Return the attention maps [layer, B, head, query, key], or None."""
        module = self._build(config)
        call = modes.arguments(self.name, type(module).__call__, False)
        with usual_promotion():
            _, state = module.apply(variables, inputs, mutable=["intermediates"], **call)
        return stacked(self.name, list(_sown(state.get("intermediates", {}))))

    def _watched(self, call: Callable, args: tuple, options: dict, context: Any) -> Any:
        """Call a layer in training. Raises InputError if it is off."""
        import flax.linen as nn

        layer = context.module
        layers = (nn.Dropout, nn.BatchNorm, nn.MultiHeadDotProductAttention)
        watched = context.method_name == "__call__" and isinstance(layer, layers)
        if watched and (why := modes.said(layer, args, options)) is not None:
            modes.refuse_off(self.name, "/".join(layer.path) or type(layer).__name__, why)
        return call(*args, **options)

    def _build(self, config: Any) -> Any:
        """Return the module of a config."""
        import flax.linen

        module = self.module(config)
        if not isinstance(module, flax.linen.Module):
            raise InputError(
                f"{self.name}: module(config) is a {type(module).__name__}, expected a "
                "flax.linen.Module; a function of an nnx module takes (config, rngs)"
            )
        return module


def _sown(tree: Any) -> Iterator[Any]:
    """Yield the sown attention maps in the order of the calls."""
    for name, value in tree.items():
        if name == ATTENTION and isinstance(value, tuple):
            yield from value
        elif hasattr(value, "items"):
            yield from _sown(value)
