"""Are rank 2 and the small neurons the same on the theorem's data, unit tokens with drawn labels?

Section IV has Gaussian noise, and tokens of norm 1.09; sections II and III-A ask for tokens of norm
1 and for classes whose sizes differ by O(sqrt(N)), as drawn labels do.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, between, derived, last
from jaxtheory.theories.low_rank import S1

from . import PAPER, TRUNCATED, panels, pick, rank_cost, ratio, runs

DATA: dict[str, list] = {
    "kind": ["as in IV", "unit tokens", "drawn labels", "both"],
    "noise_law": ["gaussian", "unit", "gaussian", "unit"],
    "labels": ["balanced", "balanced", "random", "random"],
}


def gap(data: xr.Dataset) -> xr.DataArray:
    """s_2 / s_3 of the change of W_K at the end."""
    return ratio(last(data.singular_values).sel(matrix="WK"), 2, 3)


def draw(data: xr.Dataset) -> plot.Drawing:
    """What it costs to cut all changes to rank 1 and 2, for each kind of data."""
    figure, (ax,) = panels(1, "Rank 2 on the data of the theorem (S1)", width=5.0)
    at = np.arange(data.sizes["kind"])
    for color, rank in enumerate((1, 2)):
        plot.dots(ax, at, rank_cost(data, rank), f"all changes cut to rank {rank}", color=color)
    ax.set_xticks(at, data.kind.values)
    plot.finish(ax, "data", "rise of the test loss", yscale="log")
    return figure


FIGURE = Figure(
    name="rank_data_model",
    source=f"{PAPER}, sections II and III-A against IV",
    finding=Finding(
        "On unit tokens with drawn labels, cutting updates to rank 2 costs at most 10⁻⁵ of loss, to rank 1 at least 0.2",
        rests_on=("LR-117", "LR-118"),
    ),
    theory=TRUNCATED,
    config=S1,
    sweep=runs(120, zip=DATA),
    quick={"zip": pick(DATA, 0, 3), "seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "LR-111",
            origin=derived("measured"),
            statement="On unit tokens, with drawn labels, and with both, as in section IV, s_2 / s_3 of W_K is at least 50 at the end, in every run.",
            measure=Measure("s_2 / s_3 of the change of W_K at the end, each kind of data", gap),
            bound=at_least(50.0),
            q=1,
            why="The theorem is about these data, the experiments of the paper are not.",
        ),
        Claim(
            "LR-117",
            origin=derived("measured"),
            statement="On unit tokens, with drawn labels, and with both, as in section IV, rank 2 is enough: to cut all changes to rank 2 raises the loss by at most 1e-5.",
            measure=Measure(
                "rise of the loss, all changes cut to rank 2, each kind of data",
                lambda data: rank_cost(data, 2),
            ),
            bound=at_most(1e-5),
            why="It is the paper's main finding, on the data that its theorem is about.",
        ),
        Claim(
            "LR-118",
            origin=derived("measured"),
            statement="On unit tokens, with drawn labels, and with both, as in section IV, rank 1 is not enough: to cut all changes to rank 1 raises the loss by at least 0.2.",
            measure=Measure(
                "rise of the loss, all changes cut to rank 1, each kind of data",
                lambda data: rank_cost(data, 1),
            ),
            bound=at_least(0.2),
            why="Without it rank 2 would only be an upper limit on these data.",
        ),
        Claim(
            "LR-119",
            origin=derived("measured"),
            statement="On unit tokens, with drawn labels, and with both, as in section IV, a share of 0.3 to 0.48 of the neurons changes by less than 0.33 of the 95 % quantile.",
            measure=Measure(
                "share of neurons, |Δo_i| < 0.33 of 95 % quantile, each kind of data",
                lambda data: last(data.small_changes),
            ),
            bound=between(0.3, 0.48),
            why="The share of 0.4 that can be pruned is a number of the experiments, and the theorem has none.",
        ),
    ),
)
