"""What the figures of attention_pruning share: names, the quick form, and drawing. Claims speak of
means over seeds.
"""

from typing import Any

import xarray as xr

import jaxtheory
from jaxtheory import Size
from jaxtheory.theories.attention_pruning import P3

THEORY = jaxtheory.theories.get("attention_pruning")
PAPER = "arXiv 2410.11261"
PRUNER = "pruner"  # the dimension of errors: the fitted mask first, then the baselines

AXES = {"lambda": [5.0, 10.0, 20.0], "rho": [0.3, 0.5, 0.8]}
# Quick figures share one compilation: shapes, steps, 3 lambdas, 3 rhos.
SHAPES = P3.replace(dimension=32, length=Size(64, 64), num_sequences=Size(2, 1))
QUICK = {"config": SHAPES, "seeds": 4, "steps": 1500, "record": [1500]}


def ticks(ax: Any, values: xr.DataArray) -> None:
    """Ticks at these values only, on a log axis."""
    ax.set_xticks(values, [f"{v:g}" for v in values.values])
    ax.set_xticks([], minor=True)


def legend(figure: Any, ax: Any) -> None:
    """One legend for all panels, below them."""
    columns = int(figure.get_figwidth() / 1.75)
    figure.legend(
        *ax.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=8,
    )


def share(least: float) -> dict[str, Any]:
    """The bound of a claim on the share of all runs."""
    return {"statistic": "share", "where": "together", "at_least": least}
