"""A figure: a sweep of a theory, or another experiment, with its claims and its drawing."""

import inspect
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from jaxtheory.claims.claim import Claim
from jaxtheory.claims.judged import Judged, judge
from jaxtheory.core.code_hash import code_hash
from jaxtheory.core.config import Config, InputError, suggest
from jaxtheory.core.theory import Theory
from jaxtheory.engine.results.identity import as_json, fingerprint
from jaxtheory.engine.sweep import sweep
from jaxtheory.ops import draws
from jaxtheory.system.disk import located


class Figure(NamedTuple):
    """A sweep of a theory, or another experiment, with the claims that it decides and its drawing.

    The question that it answers is the first line of the docstring of its file.

    Args:
        name: the name of its file.
        source: the place in the source that it is about.
        theory: the theory; None for an experiment.
        config: the config of the sweep; None for an experiment.
        sweep: keyword arguments of `jaxtheory.sweep`, or of the experiment.
        quick: changes that `--quick` makes in `sweep`; an entry "config" replaces the config.
        claims: the claims that are judged on the dataset.
        draw: a function of the dataset that returns the matplotlib figure.
        experiment: a function experiment(folder, key, progress, **sweep) that returns a dataset
            with the dimension "seed". It keeps what it has measured in the folder, and calls
            progress(what, done, of, seconds_left) unless progress is None.

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


class FigureResult(NamedTuple):
    """Result of `run_figure`.

    Args:
        figure: the figure that was run.
        dataset: its dataset, which `figure.draw` takes.
        verdicts: for each claim its verdict, or the reason why it was not tested.
        store: the directory where the dataset was stored; None if it was kept in memory.

    Example:
        >>> from jaxtheory import claims
        >>> claims.FigureResult._fields
        ('figure', 'dataset', 'verdicts', 'store')
    """

    figure: Figure
    dataset: xr.Dataset
    verdicts: list[Judged]
    store: Path | None


def arguments(figure: Figure, quick: bool) -> tuple[Any, dict[str, Any]]:
    """Return the config and the keyword arguments of a figure's sweep.

    Args:
        figure: the figure.
        quick: True for the quick form.

    Returns:
        The config (None for an experiment) and the keyword arguments.

    Raises:
        InputError: if an option is not an argument of `jaxtheory.sweep` or of the experiment.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory import claims
        >>> config, options = claims.arguments(jaxtheory.figures.get("walk_phase"), quick=True)
        >>> options["seeds"], options["steps"]
        (2, 50)
    """
    options = {**figure.sweep, **(figure.quick if quick else {})}
    config = options.pop("config", figure.config)
    parameters = inspect.signature(figure.experiment or sweep).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name in () if takes_any else sorted(options.keys() - parameters.keys()):
        raise InputError(f"unknown argument {name!r}; {suggest(name, parameters)}")
    return config, options


def run_figure(
    figure: Figure,
    *,
    key: int = 0,
    quick: bool = False,
    store: str | Path | None = None,
    progress: Any = None,
    accept_versions: bool = False,
) -> FigureResult:
    """Run the sweep of a figure and judge its claims; `figure.draw(result.dataset)` draws it.

    Args:
        figure: the figure.
        key: base key of the random numbers, an integer in [0, 2^32).
        quick: True for the quick form.
        store: directory in which the sweep is stored and resumed; None keeps it in memory. Each
            experiment has its own directory inside, named by a hash of its code and arguments, so
            that an edited experiment starts anew.
        progress: a function that is called as the run advances, as for `jaxtheory.sweep`.
        accept_versions: as for `jaxtheory.sweep`.

    Returns:
        The dataset, a verdict for each claim, and the store.

    Raises:
        InputError: if the arguments of the sweep are invalid, or a measure returns no array.

    Example:
        >>> import jaxtheory
        >>> from jaxtheory import claims
        >>> figure = jaxtheory.figures.get("walk_phase")
        >>> short = figure._replace(quick=figure.quick | {"steps": 2, "record": [2]})
        >>> claims.run_figure(short, quick=True).verdicts[0].reason
        'not tested (n=2 < 8)'
    """
    config, options = arguments(figure, quick)
    if figure.experiment is None:
        assert figure.theory is not None
        options |= {"key": key, "store": store, "accept_versions": accept_versions}
        dataset = sweep(figure.theory, config, progress=progress, **options)
    else:
        key = draws.number("key", key)
        request = {"code": code_hash(figure.experiment), "key": key, **options}
        with tempfile.TemporaryDirectory() as nowhere:
            folder = located(store or nowhere) / f"{figure.name}-{fingerprint(as_json(request))}"
            dataset = figure.experiment(folder, key, progress, **options)
        store = None if store is None else folder
    return FigureResult(
        figure, dataset, judge(figure.claims, dataset), None if store is None else located(store)
    )
