"""Runs of several optimizers, each with its own learning rates, as one axis of a sweep."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr

from jaxtheory.engine.results.labeled import takes_labeled
from jaxtheory.plotting import lines, panels

__all__ = ["against_rate", "middle", "runs", "select", "stack"]

LABELS = {
    "sgd": "gradient descent",
    "momentum": "momentum",
    "adam": "Adam",
    "sgd_cosine": "cosine decay",
}


def runs(field: str, rates: Mapping[str, Sequence[float]]) -> dict[str, list]:
    """Return the argument `zip` of a sweep over algorithms, each with its own learning rates.

    Args:
        field: The field of the config that is the learning rate.
        rates: A mapping from the name of each algorithm to its learning rates.

    Returns:
        A mapping for `zip`: the axis "run" of labels, the algorithms, and the values of the field.

    Example:
        >>> from jaxtheory import plot
        >>> plot.optimizers.runs("learning_rate", {"sgd": [0.1, 1.0], "adam": [0.01]})["run"]
        ['sgd 0.1', 'sgd 1', 'adam 0.01']
    """
    rows = [(algorithm, rate) for algorithm, of_algorithm in rates.items() for rate in of_algorithm]
    return {
        "run": [f"{algorithm} {rate:g}" for algorithm, rate in rows],
        "algorithm": [algorithm for algorithm, _ in rows],
        field: [rate for _, rate in rows],
    }


@takes_labeled
def select(values: xr.DataArray, field: str, algorithm: str) -> xr.DataArray:
    """Select the runs of one algorithm, with the dimension "rate" in place of "run".

    Args:
        values: An array over "run", from a sweep with the axis of `runs`.
        field: The field of the config that is the learning rate.
        algorithm: The name of the algorithm.

    Returns:
        The values of this algorithm, with its learning rates as the coordinate "rate".

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> axis = plot.optimizers.runs("learning_rate", {"sgd": [0.1, 1.0], "adam": [0.01]})
        >>> coords = {name: ("run", column) for name, column in axis.items()}
        >>> values = xr.DataArray([1.0, 2.0, 3.0], coords, dims="run")
        >>> plot.optimizers.select(values, "learning_rate", "sgd").rate.values.tolist()
        [0.1, 1.0]
    """
    selected = values.isel(run=np.flatnonzero(values.algorithm.values == algorithm))
    over_run = [name for name in selected.coords if "run" in selected[name].dims]
    renamed = selected.drop_vars(over_run).rename(run="rate")
    return renamed.assign_coords(rate=selected[field].values)


def middle(rates: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Return the second learning rate of each algorithm, for the quick form of a sweep.

    Args:
        rates: A mapping from the name of each algorithm to at least two learning rates.

    Returns:
        A mapping from each algorithm to a list of one rate.

    Example:
        >>> from jaxtheory import plot
        >>> plot.optimizers.middle({"sgd": [0.1, 1.0, 10.0], "adam": [0.01, 0.1]})
        {'sgd': [1.0], 'adam': [0.1]}
    """
    return {algorithm: [of_algorithm[1]] for algorithm, of_algorithm in rates.items()}


@takes_labeled
def stack(values: xr.DataArray, field: str, *algorithms: str) -> xr.DataArray:
    """Select the runs of several algorithms with equally many rates, in the order of their rates.

    Args:
        values: An array over "run", from a sweep with the axis of `runs`.
        field: The field of the config that is the learning rate.
        *algorithms: The names of the algorithms.

    Returns:
        The values over "algorithm" and "rate", which has no coordinate as the rates differ.

    Example:
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> axis = plot.optimizers.runs("learning_rate", {"sgd": [0.1, 1.0], "adam": [0.01, 0.1]})
        >>> coords = {name: ("run", column) for name, column in axis.items()}
        >>> values = xr.DataArray([1.0, 2.0, 3.0, 4.0], coords, dims="run")
        >>> plot.optimizers.stack(values, "learning_rate", "adam", "sgd").values.tolist()
        [[3.0, 4.0], [1.0, 2.0]]
    """
    return xr.concat(
        [select(values, field, name).drop_vars("rate") for name in algorithms], "algorithm"
    )


@takes_labeled
def against_rate(
    ax: Any,
    values: xr.DataArray,
    field: str,
    y: str = "",
    title: str = "",
    *,
    x: str = "learning rate",
    yscale: Literal["linear", "log"] = "linear",
    labels: Mapping[str, str] = LABELS,
) -> None:
    """Draw a panel with a curve over the learning rate for each algorithm, without a legend.

    Args:
        ax: The panel to draw into.
        values: An array over "seed" and "run", from a sweep with the axis of `runs`.
        field: The field of the config that is the learning rate.
        y: The label of the vertical axis.
        title: The title of the panel.
        x: The label of the horizontal axis, which is logarithmic.
        yscale: The scale of the vertical axis, "linear" or "log".
        labels: A mapping from algorithms to labels; those without runs are left out.

    Example:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxtheory import plot
        >>> axis = plot.optimizers.runs("learning_rate", {"sgd": [0.1, 1.0], "adam": [0.01, 0.1]})
        >>> coords = {name: ("run", column) for name, column in axis.items()}
        >>> values = xr.DataArray(np.ones((6, 4)), coords, dims=("seed", "run"))
        >>> figure, axes = plot.panels()
        >>> plot.optimizers.against_rate(axes[0, 0], values, "learning_rate", "loss")
        >>> axes[0, 0].get_legend_handles_labels()[1]
        ['gradient descent', 'Adam']
    """
    for color, (algorithm, label) in enumerate(labels.items()):
        if algorithm in values.algorithm:
            lines.series(ax, select(values, field, algorithm), "rate", label, color=color)
    panels.finish(ax, x, y, title, xscale="log", yscale=yscale, legend=False)


def __dir__() -> list[str]:
    return sorted(__all__)
