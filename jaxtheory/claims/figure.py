"""A figure: a sweep, a search for boundaries or another experiment, with claims and a drawing."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import xarray as xr

from jaxtheory.claims.claim import Claim
from jaxtheory.claims.finding import Finding
from jaxtheory.core.config import Config
from jaxtheory.core.theory import Theory
from jaxtheory.engine.sweep import sweep as default_verb
from jaxtheory.texts.errors import InputError, checks_slots, suggest


@checks_slots
class Figure(NamedTuple):
    """A sweep, a search for boundaries or another experiment, with its claims and its drawing.

    The question that it answers is the first line of the docstring of its file.

    Args:
        name: the name of its file.
        source: the place in the source that it is about.
        theory: the theory; None for an experiment.
        config: the config of the sweep; None for an experiment.
        sweep: keyword arguments of the verb, or of the experiment.
        quick: changes that `--quick` makes in `sweep`; an entry "config" replaces the config.
        claims: the claims that are judged on the dataset.
        draw: a function of the dataset that returns the matplotlib figure.
        experiment: a function experiment(folder, key, progress, **sweep) that returns a dataset
            with the dimension "seed", of `sweep["seeds"]` seeds. It keeps what it has measured in
            the folder, which is the same for any number of seeds, and calls progress(what, done,
            of, seconds_left) unless progress is None.
        verb: `jaxtheory.sweep`, or `jaxtheory.boundary`.
        large: changes that `--large` makes in `sweep`, for a GPU.
        finding: what the figure shows, which rests on its claims. It is the title of the drawing
            where they come out as expected, and the question is it else; a title that `draw` gives,
            such as the setting, begins the caption then.

    Example:
        >>> import jaxtheory
        >>> figure = jaxtheory.figures.get("walk_phase")
        >>> figure.theory.name, figure.claims[0].id
        ('random_walk', 'RW-20')
    """

    name: str
    source: str
    theory: Theory | None
    config: Config | None
    sweep: dict[str, Any]
    quick: dict[str, Any]
    claims: tuple[Claim, ...]
    draw: Callable[[xr.Dataset], Any]
    experiment: Callable[..., xr.Dataset] | None = None
    verb: Callable[..., xr.Dataset] = default_verb
    large: dict[str, Any] = {}  # noqa: RUF012  (an immutable default of a NamedTuple)
    finding: Finding | None = None


def arguments(figure: Figure, quick: bool) -> tuple[Any, dict[str, Any]]:
    """Return the config and the keyword arguments of a figure's sweep, search or experiment.

    Args:
        figure: the figure.
        quick: True for the quick form.

    Returns:
        The config (None for an experiment) and the keyword arguments.

    Raises:
        InputError: if an option is not an argument of the verb or of the experiment.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory import claims
        >>> config, options = claims.arguments(jaxtheory.figures.get("walk_phase"), quick=True)
        >>> options["seeds"], options["steps"]
        (2, 50)
    """
    options = {**figure.sweep, **(figure.quick if quick else {})}
    config = options.pop("config", figure.config)
    parameters = inspect.signature(figure.experiment or figure.verb).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name in () if takes_any else sorted(options.keys() - parameters.keys()):
        raise InputError(f"unknown argument {name!r}; {suggest(name, parameters)}")
    return config, options


def seeds(figure: Figure, quick: bool) -> list[int]:
    """Return the seeds of a figure.

    Args:
        figure: the figure.
        quick: True for the quick form.

    Returns:
        The seeds, 0 to n - 1 if it asks for a number n.

    Raises:
        InputError: as `arguments` raises it.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory.claims.figure import seeds
        >>> seeds(jaxtheory.figures.get("walk_phase"), quick=True)
        [0, 1]
    """
    options = arguments(figure, quick)[1]
    parameter = inspect.signature(figure.experiment or figure.verb).parameters.get("seeds")
    default = 1 if parameter is None or parameter.default is parameter.empty else parameter.default
    request = options.get("seeds", default)
    return list(range(request)) if isinstance(request, int) else list(request)
