"""The mode of a module, training or evaluation: how it is passed, and whether layers obey it."""

import inspect
from collections.abc import Callable
from typing import Any

from jaxtheory.texts.errors import InputError

# arguments of `__call__` that set the mode of a module -> their value in training
_WORDS = {
    "train": True,
    "training": True,
    "is_training": True,
    "deterministic": False,
    "use_running_average": False,
}
_LISTED = "train, training, is_training, deterministic or use_running_average"


def arguments(name: str, call: Callable, train: bool) -> dict[str, bool]:
    """Return the arguments of a call that tell the mode.

    Raises InputError if it needs another argument beside the module and the inputs.
    """
    _, *own = inspect.signature(call).parameters.values()  # the module comes first
    of_call = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for parameter in own[1:]:
        if (
            parameter.default is parameter.empty
            and parameter.kind not in of_call
            and parameter.name not in _WORDS
        ):
            raise InputError(
                f"{name}: its __call__ needs the argument {parameter.name}, but it gets the inputs "
                f"and, by name, the mode as {_LISTED}; rename it, or give it a default"
            )
    return {
        parameter.name: train == _WORDS[parameter.name]
        for parameter in own
        if parameter.name in _WORDS
    }


def refuse_off(name: str, layer: str, why: str) -> None:
    """Raise InputError about a layer that does in training what it does in evaluation."""
    raise InputError(
        f"{name}: the layer {layer} is off in a training step ({why}); let __call__ take the mode "
        f"as {_LISTED} and pass it on to the layer, or leave the layer out"
    )


def said(layer: Any, args: tuple, options: dict[str, Any]) -> str | None:
    """Return the argument or attribute that turns a layer off in a call, or None."""
    call = inspect.signature(type(layer).__call__).bind_partial(layer, *args, **options).arguments
    for word in ("deterministic", "use_running_average"):
        value = call.get(word)
        value = getattr(layer, word, None) if value is None else value
        if isinstance(value, bool) and value and rate(layer) != 0:
            return f"{word} is True"
    return None


def rate(layer: Any) -> Any:
    """Return the share of units that a layer drops, or None if it drops none."""
    return getattr(layer, "rate", getattr(layer, "dropout_rate", None))
