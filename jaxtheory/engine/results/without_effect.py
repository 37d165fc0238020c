"""Axes without effect: those along which all measured numbers of a sweep are equal, and why."""

import xarray as xr

from jaxtheory.core.config import fields
from jaxtheory.engine.request.dependence import trains, unread
from jaxtheory.engine.request.request import Request
from jaxtheory.engine.request.settings import numerics
from jaxtheory.engine.results import attributes

_EVALUATED = ("metrics", "analyses", "baselines")


def explained(request: Request, data: xr.Dataset) -> xr.Dataset:
    """Return the dataset of a request whose summary tells why its runs are equal along an axis."""
    words = {axis.name: tuple(axis.values) for axis in request.axes}
    lines = []
    for axis, algorithms in attributes.axes_without_effect(data).items():
        names = algorithms or tuple(dict.fromkeys(request.points.values("algorithm")))
        why = _reason(request, words[axis], names)
        lines.append(attributes.equal_line(axis, algorithms, why))
    return attributes.summarized(data, lines) if lines else data


def _reason(request: Request, words: tuple[str, ...], algorithms: tuple[str, ...]) -> str:
    """Return why fields change no number of these algorithms, or "" if the programs read them."""
    theory, table = request.theory, fields(type(request.config))
    if not {*words} <= table.keys():
        return ""
    evaluated = all(table[word].kind == "evaluation" for word in words)
    among = _EVALUATED.__contains__ if evaluated else trains
    config = request.points.point(0).config
    with numerics(request.dtype, request.partitionable):
        if len(unread(theory, config, words, algorithms, among)) < len(words):
            return ""
    if evaluated:
        return "no metric reads it"
    named = " and ".join(algorithms)
    return (
        f"algorithm {named} does not read it"
        if len(algorithms) == 1
        else (f"algorithms {named} do not read it")
    )
