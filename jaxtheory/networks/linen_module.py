"""A Flax Linen module as functions of its variables."""

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from jaxtheory.core.errors import InputError

PARAMS, ATTENTION = "params", "attention"


@contextlib.contextmanager
def usual_promotion() -> Iterator[None]:
    """Trace with the promotion rules of JAX, which Flax relies on."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def mode(call: Callable, train: bool) -> dict[str, bool]:
    """Return the argument `train` of a call if it takes one."""
    return {"train": train} if "train" in inspect.signature(call).parameters else {}


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
        made = self._made(config)
        with usual_promotion():
            drawn = made.init(rngs, inputs, **mode(type(made).__call__, False))
        return real(self.name, {PARAMS: {}, **jax.tree.map(jnp.asarray, dict(drawn))})

    def run(
        self, variables: Any, inputs: jax.Array, config: Any, key: jax.Array | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Return the outputs and the collections beside the parameters.

        With a key the network trains: dropout draws from it, and the collections change.
        """
        made, others = self._made(config), {k: v for k, v in variables.items() if k != PARAMS}
        rngs = None if key is None else {"dropout": key}
        call = mode(type(made).__call__, key is not None)
        with usual_promotion():
            if key is None or not others:
                return made.apply(variables, inputs, rngs=rngs, **call), others
            outputs, new = made.apply(variables, inputs, rngs=rngs, mutable=[*others], **call)
        return outputs, {**others, **dict(new)}

    def maps(self, variables: Any, inputs: jax.Array, config: Any) -> Any:
        """Return the attention maps [layer, B, head, query, key], or None."""
        made = self._made(config)
        call = mode(type(made).__call__, False)
        with usual_promotion():
            _, kept = made.apply(variables, inputs, mutable=["intermediates"], **call)
        return stacked(self.name, list(_sown(kept.get("intermediates", {}))))

    def _made(self, config: Any) -> Any:
        """Return the module of a config."""
        import flax.linen

        made = self.module(config)
        if not isinstance(made, flax.linen.Module):
            raise InputError(
                f"{self.name}: module(config) is a {type(made).__name__}, expected a "
                "flax.linen.Module; a function of an nnx module takes (config, rngs)"
            )
        return made


def _sown(tree: Any) -> Iterator[Any]:
    """Yield the sown attention maps in the order of the calls."""
    for name, value in tree.items():
        if name == ATTENTION and isinstance(value, tuple):
            yield from value
        elif hasattr(value, "items"):
            yield from _sown(value)
