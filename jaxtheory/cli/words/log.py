"""The option `--log` of `sweep`: where the means of a running sweep are logged."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from tyro.conf import UseAppendAction, arg

import jaxtheory
from jaxtheory.core import plugins
from jaxtheory.texts.errors import InputError, tried

_Logger = Callable[[Any], Any]
_FORM = "csv:FILE|tensorboard:DIR|FILE.py:NAME"
Logs = UseAppendAction[Annotated[tuple[str, ...], arg(metavar=_FORM)]]
_FORMS = "csv:FILE, tensorboard:DIR, or FILE.py:NAME for a function of your own"


def loggers(texts: Sequence[str], executor: str) -> list[Callable[[], _Logger]]:
    """Return functions that open the logs of `--log`.

    Files with functions are loaded at once, and nothing is written before a log is opened. Raises
    InputError for texts of another form, and for files that cannot be loaded.
    """
    return [_opener(text, executor) for text in texts]


def combine(*loggers: _Logger | None) -> _Logger | None:
    """Return one function that calls each of several, or None if there is none."""
    functions = [function for function in loggers if function is not None]
    if len(functions) < 2:
        return functions[0] if functions else None

    def call(event: Any) -> None:
        for function in functions:
            function(event)

    return call


def _opener(text: str, executor: str) -> Callable[[], _Logger]:
    kind, colon, place = text.partition(":")
    if colon and place and kind in ("csv", "tensorboard"):
        if executor != "local":
            raise InputError(
                f"--log {text} does not apply to --executor {executor}, whose workers do not "
                "report metrics; leave it out"
            )
        return functools.partial(getattr(jaxtheory.log, kind), place)
    file, colon, name = text.rpartition(":")
    if not colon or not file.endswith(".py"):
        raise InputError(f"--log {text}: must be {_FORMS}")
    function = getattr(plugins.loaded_file(file), name, None)
    if not callable(function):
        raise InputError(f"--log {text}: {file} defines no function {name}")
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        raise InputError(
            f"--log {text}: {name} must take one argument, a jaxtheory.Progress"
        ) from None
    except ValueError:  # a builtin without a signature
        pass
    return lambda: functools.partial(tried, f"--log {text}", function)
