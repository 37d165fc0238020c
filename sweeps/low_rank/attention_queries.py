"""Does attention learn more when more positions are read out, for every share of
relevant tokens?
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, at_most, derived
from jaxtheory.theories.low_rank import P1

from . import PAPER, lines, only, runs
from ._training import ENDS, alpha, gain, title


def draw(data: xr.Dataset) -> plot.Drawing:
    """The gain over |S|, a line for each alpha*; the loss is small in every cell."""
    figure, axes = plot.panels(
        1,
        title=f"Attention learns more when more positions are read out (P1, {title(data)})",
        width=4.6,
    )
    labels, ax = [str(v) if v else "all" for v in data.num_queries.values], axes[0, 0]
    shares = alpha(data).isel(num_queries=0).values
    values = gain(data).assign_coords(num_queries=range(len(labels)), num_relevant=shares)
    lines(ax, values, "num_queries", "num_relevant", "α* = {:.2f}")
    ax.set_xticks(range(len(labels)), labels)
    plot.finish(ax, "positions read out, |S|", "gain of attention, relevant queries")
    return figure


FIGURE = Figure(
    name="attention_queries",
    source=f"{PAPER}, figure 1B: |S| and alpha*",
    theory=only(),
    config=P1.replace(num_confusion=2),
    sweep=runs(160, vary={"num_queries": [1, 3, 10, 0], "num_relevant": [5, 9, 15]}, record=ENDS),
    quick={"vary": {"num_queries": [1], "num_relevant": [9]}, "seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "LR-71",
            origin=derived("measured"),
            statement="More positions bring more attention: from |S| = 1 to all positions, the gain of relevant queries rises by at least 0.2 for every alpha*.",
            measure=lambda data: gain(data).sel(num_queries=0) - gain(data).sel(num_queries=1),
            bound=at_least(0.2),
        ),
        Claim(
            "LR-72",
            origin=derived("measured"),
            statement="A single position leaves the attention nearly uniform: the gain is at most 0.1.",
            measure=lambda data: gain(data).sel(num_queries=1),
            bound=at_most(0.1),
        ),
    ),
)
