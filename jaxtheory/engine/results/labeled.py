"""Arguments that are labeled arrays, as `sweep` returns them."""

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, TypeVar, cast

import xarray as xr

from jaxtheory.texts.errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])
_HINTS = {
    xr.DataArray: "an xarray.DataArray, such as data['loss']",
    xr.Dataset: "an xarray.Dataset, as jaxtheory.sweep returns it",
}


def takes_labeled(function: Function) -> Function:
    """Decorate a function so that it raises InputError where an argument is no labeled array.

    These are the arguments that are annotated as xarray.DataArray or xarray.Dataset.
    """
    signature = inspect.signature(function)
    kinds = {name: _kinds(p.annotation) for name, p in signature.parameters.items()}
    kinds = {name: kind for name, kind in kinds.items() if {*kind} & _HINTS.keys()}

    @functools.wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        try:
            arguments = signature.bind(*args, **options).arguments
        except TypeError:
            return function(*args, **options)  # which fails with the same words
        for name in kinds.keys() & arguments.keys():
            if not isinstance(arguments[name], kinds[name]):
                hint = next(_HINTS[kind] for kind in kinds[name] if kind in _HINTS)
                raise InputError(f"{name} is a {type(arguments[name]).__name__}, expected {hint}")
        return function(*args, **options)

    return cast(Function, checked)


def _kinds(annotation: Any) -> tuple[type, ...]:
    """Return the classes of an annotation: itself, the members of a union, or constraints."""
    if isinstance(annotation, TypeVar):
        return annotation.__constraints__
    return typing.get_args(annotation) or (annotation,)
