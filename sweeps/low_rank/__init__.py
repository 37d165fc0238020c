"""Shared parts of the figures of low_rank: five settings, measures, drawings of curves and dots.

S1 and S1p interpret A as one vector for all positions, P1 and P1p as one per position. The p means
W(0) = delta^2 I with delta = 0.1, as section IV prints it; otherwise it is delta I. G has a larger
delta and a smaller xi. No single setting shows all three figures, so that a sentence of the paper
is judged in all of them. Thresholds were set on keys 100 to 103.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory import plot
from jaxtheory.theories.low_rank import P1, P1P, S1, S1P, G
from jaxtheory.theories.low_rank.analyses.ranks import truncation

PAPER = "arXiv 2406.17167"
Function = Callable[[xr.Dataset], xr.DataArray]
THEORY = jaxtheory.theories.get("low_rank")
TRUNCATED = THEORY._replace(analyses=truncation)
NAMED = {"S1": S1, "S1p": S1P, "P1": P1, "P1p": P1P, "G": G}
SETTINGS: dict[str, Any] = {
    "setting": list(NAMED),
    **{
        word: [getattr(config, word) for config in NAMED.values()]
        for word in ("output", "learning_rate", "init_diagonal", "output_scale")
    },
    "steps": [120, 120, 160, 160, 150],
}
SHARED, PER_POSITION = ["S1", "S1p", "G"], ["P1", "P1p"]


def pick(zipped: dict[str, list], *places: int) -> dict[str, list]:
    """Some places of a zipped axis."""
    return {name: [values[place] for place in places] for name, values in zipped.items()}


def runs(steps: int, **changes: Any) -> dict[str, Any]:
    """A sweep of eight seeds in float32, recorded at the start and the end, but for `changes`."""
    return {"seeds": 8, "steps": steps, "record": [0, steps], "dtype": "float32"} | changes


FULL = runs(160, zip=SETTINGS, seeds=10, record=[0, 120, 150, 160])
QUICK = {"zip": pick(SETTINGS, 0, 4), "seeds": 2, "steps": 160, "record": [0, 120, 150]}
# S1 and P1, of any length
BOTH = {word: values for word, values in pick(SETTINGS, 0, 2).items() if word != "steps"}


def only(*names: str) -> Any:
    """The theory with these analyses alone; compilation drops what the others would take."""

    def some(params: Any, problem: Any, config: Any) -> dict[str, Any]:
        """The analyses with these names."""
        return {
            name: value
            for name, value in THEORY.analyses(params, problem, config).items()
            if name in names
        }

    return THEORY._replace(analyses=some)


# What claims measure


def final(values: xr.DataArray) -> xr.DataArray:
    """The values at each setting's last step."""
    return values.sel(step=values.steps).drop_vars("step")


def rank_cost(data: xr.Dataset, rank: Any, name: str = "truncated_loss") -> xr.DataArray:
    """The increase of an analysis when the changes are cut to a rank."""
    return data[name].sel(kept_rank=rank).drop_vars("kept_rank") - data[name].isel(
        kept_rank=-1, drop=True
    )


def ratio(singular_values: xr.DataArray, r: int, divisor: int) -> xr.DataArray:
    """s_r over another singular value."""
    return singular_values.sel(index=r, drop=True) / singular_values.sel(index=divisor, drop=True)


def worst(*values: xr.DataArray) -> xr.DataArray:
    """Several quantities under one bound."""
    return xr.concat(values, "which")


def law(data: xr.Dataset, name: str) -> xr.DataArray:
    """The prediction of the theory for each cell, which is equal for all steps and seeds."""
    return data[f"predicted_{name}"].isel(step=0, seed=0, drop=True, missing_dims="ignore")


# Drawing


def panels(columns: int, title: str, **size: Any) -> tuple[plot.Drawing, np.ndarray]:
    """A figure and its panels in reading order."""
    figure, axes = plot.panels(columns, title=title, **size)
    return figure, axes.ravel()


def lines(
    ax: Any, values: xr.DataArray, x: str, along: str, label: str = "{}", **style: Any
) -> None:
    """A curve for each label of a dimension, over those x where it has values."""
    for color, name in enumerate(values[along].values):
        curve = values.sel({along: name}).dropna(x, how="all")
        plot.series(ax, curve, x, label.format(name), color=color, **style)


def dots(ax: Any, values: xr.DataArray, names: list[str]) -> None:
    """Groups of dots over the other dimension, means over seeds, a color for each setting."""
    at, width = np.arange(len(names)), 0.6 / values.sizes["setting"]
    for color, setting in enumerate(values.setting.values):
        places = at + (color - (values.sizes["setting"] - 1) / 2) * width
        plot.dots(ax, places, values.sel(setting=setting), str(setting), color=color)
    ax.set_xticks(at, names)


def slanted(ax: Any) -> None:
    """Tick labels that end at their place, each under its column."""
    for text in ax.get_xticklabels():
        text.set(rotation=45, ha="right", rotation_mode="anchor")
