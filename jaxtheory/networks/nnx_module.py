"""A Flax NNX module as functions of its variables.

A module is built again in each call and takes over the variables; the compiler removes the draws
that are then not used.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from jaxtheory.networks import modes
from jaxtheory.networks.linen_module import (
    ATTENTION,
    PARAMS,
    real,
    stacked,
    streams,
    usual_promotion,
)
from jaxtheory.texts.errors import InputError

STATE = "state"  # collection of the variables that are not parameters


@dataclasses.dataclass(frozen=True)
class NnxModule:
    """A function of (config, rngs) that returns an NNX module, with the name that messages use."""

    name: str
    module: Callable

    def variables(self, key: jax.Array, _inputs: jax.Array, config: Any) -> dict[str, Any]:
        """Draw all variables: the parameters, and the state if there is one."""
        with usual_promotion():
            keys = dict(zip(("default", "dropout"), jax.random.split(key), strict=True))
            drawn = _collections(self._build(config, keys))
        return real(self.name, jax.tree.map(jnp.asarray, drawn))

    def run(
        self, variables: Any, inputs: jax.Array, config: Any, key: jax.Array | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Return the outputs and the collections beside the parameters.

        With a key the network trains: all streams draw from it, and the collections change.
        """
        from flax import nnx

        with usual_promotion():
            module = self._filled(variables, config, key)
            call = modes.arguments(self.name, type(module).__call__, key is not None)
            before = [] if key is None else list(_moving(module))
            outputs, _ = nnx.capture(module, nnx.Intermediate)(inputs, **call)
            for (layer, old), (_, new) in zip(before, _moving(module), strict=bool(before)):
                if new is old:
                    modes.refuse_off(self.name, layer, "it draws no number, or keeps its averages")
            new = variables if key is None else _collections(module)
        return outputs, {name: new[name] for name in variables if name != PARAMS}

    def maps(self, variables: Any, inputs: jax.Array, config: Any) -> Any:
        """Return the attention maps [layer, B, head, query, key], or None."""
        from flax import nnx

        with usual_promotion():
            module = self._filled(variables, config, None)
            call = modes.arguments(self.name, type(module).__call__, False)
            _, state = nnx.capture(module, nnx.Intermediate)(inputs, **call)
        sown = [x.get_value() for path, x in nnx.to_flat_state(state) if path[-1] == ATTENTION]
        return stacked(self.name, [attention for of_layer in sown for attention in of_layer])

    def _filled(self, variables: Any, config: Any, key: jax.Array | None) -> Any:
        """Return the module of a config with given variables, in training if there is a key."""
        from flax import nnx

        keys = streams(jax.random.key(0) if key is None else key)  # evaluation must not draw
        module = self._build(config, keys)
        for name, state in _states(module).items():
            nnx.replace_by_pure_dict(state, variables[name])
            nnx.update(module, state)
        module.eval() if key is None else module.train()
        return module

    def _build(self, config: Any, keys: dict[str, jax.Array]) -> Any:
        """Return the module of a config, whose layers take their streams as it is constructed."""
        from flax import nnx

        module = self.module(config, nnx.Rngs(**keys))
        if not isinstance(module, nnx.Module):
            raise InputError(
                f"{self.name}: module(config, rngs) is a {type(module).__name__}, expected a "
                "flax.nnx.Module; a function of a Linen module takes (config)"
            )
        for _, layer in nnx.iter_modules(module):
            own = getattr(layer, "dtype", None)
            if own is not None and own == getattr(layer, "param_dtype", None) == jnp.float32:
                vars(layer)["dtype"] = jnp.result_type(float)  # as Embed keeps its first dtype
        return module


def _moving(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield each layer that differs between training and evaluation.

    A layer comes by its name, with its present count of draws or its average.
    """
    from flax import nnx

    for path, layer in nnx.iter_modules(module):
        name = "/".join(map(str, path)) or type(layer).__name__
        stream = getattr(layer, "rngs", None)
        if isinstance(layer, nnx.BatchNorm):
            yield name, layer.mean.get_value()
        elif modes.rate(layer) not in (None, 0) and isinstance(stream, nnx.RngStream):
            yield name, stream.count.get_value()


def _states(module: Any) -> dict[str, Any]:
    """Return the parameters of a module, and its further variables if there are any."""
    from flax import nnx

    passing = (nnx.Param, nnx.RngState, nnx.Intermediate)
    further = lambda _path, x: isinstance(x, nnx.Variable) and not isinstance(x, passing)
    states = {PARAMS: nnx.state(module, nnx.Param), STATE: nnx.state(module, further)}
    return {name: state for name, state in states.items() if name == PARAMS or state}


def _collections(module: Any) -> dict[str, Any]:
    """Return the variables of a module as dictionaries of arrays."""
    from flax import nnx

    return {name: nnx.to_pure_dict(state) for name, state in _states(module).items()}
