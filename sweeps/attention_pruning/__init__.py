"""What the figures of attention_pruning share: names, the sweep and its quick form, drawing."""

from typing import Any

import jaxtheory
from jaxtheory import Size, plot
from jaxtheory.theories.attention_pruning import P3

THEORY = jaxtheory.theories.get("attention_pruning")
PAPER = "arXiv 2410.11261"

AXES = {"lambda": [5.0, 10.0, 20.0], "rho": [0.3, 0.5, 0.8]}
# Quick figures share one compilation: shapes, steps, 3 lambdas, 3 rhos.
SHAPES = P3.replace(dimension=32, length=Size(64, 64), num_sequences=Size(2, 1))
QUICK = {"config": SHAPES, "seeds": 4, "steps": 1500, "record": [1500]}


def after_steps(steps: int, vary: dict[str, list]) -> dict[str, Any]:
    """A sweep with eight seeds, recorded after the last step only."""
    return {"vary": vary, "seeds": 8, "steps": steps, "record": [steps], "dtype": "float32"}


def with_legend(figure: plot.Drawing, *axes: Any) -> plot.Drawing:
    """The figure, with one legend for all panels below them, that of these axes."""
    plot.legend_below(figure, *axes)
    return figure
