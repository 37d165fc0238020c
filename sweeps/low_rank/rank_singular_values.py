"""Do two singular values of the change of W_K grow away from the others along training?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, at_most, derived, interpretation, printed
from jaxtheory.theories.low_rank import S1

from . import FULL, PAPER, QUICK, final, lines, only, panels, ratio

TIMES = [1, 10, 20, 30]


def of_keys(data: xr.Dataset) -> xr.DataArray:
    """Singular values of the change of W_K."""
    return data.singular_values.sel(matrix="WK")


def gap(data: xr.Dataset) -> xr.DataArray:
    """s_2 / s_3 of the change of W_K."""
    return ratio(of_keys(data), 2, 3)


def draw(data: xr.Dataset) -> plot.Drawing:
    """The singular values at four times; and s_2 / s_3 in t."""
    figure, axes = panels(
        len(TIMES) + 1,
        "Two singular values of the change of $W_K$ grow away from the others",
        width=3.0,
    )
    for ax, t in zip(axes, TIMES, strict=False):
        lines(ax, of_keys(data).sel(step=t), "index", "setting", markers=True)
        plot.finish(ax, "index", "singular value", f"t = {t}", yscale="log", legend=False)
    lines(axes[-1], gap(data).isel(step=slice(1, None)), "step", "setting")
    plot.reference(axes[-1], None, 10.0, says="10")
    plot.finish(axes[-1], "step t", "$s_2 / s_3$", xscale="log", yscale="log", legend=False)
    plot.legend_below(figure, axes[0])
    return figure


FIGURE = Figure(
    name="rank_singular_values",
    source=f"{PAPER}, figure 2",
    theory=only(),
    config=S1,
    sweep=FULL
    | {
        "record": {"singular_values": [0, *TIMES, 60, 120, 150, 160], "loss": [0, 160]},
        "dtype": "float64",
    },
    quick=QUICK
    | {"record": {"singular_values": [0, *TIMES, 120, 150], "loss": [0, 150]}, "steps": 150},
    draw=draw,
    claims=(
        Claim(
            "LR-10",
            origin=printed(PAPER, "figure 2"),
            statement="The singular values “increase along the training”: the first two do so over t = 1, 10, 20, 30, in every run of every setting.",
            measure=lambda data: (of_keys(data).sel(index=[1, 2], step=TIMES).diff("step") > 0).all(
                ["step", "index"]
            ),
            bound=at_least(1.0),
            statistic="share",
            minimum=2,
        ),
        Claim(
            "LR-11",
            origin=printed(PAPER, "figure 2"),
            statement="“The first two singular values become the largest along the training, while others are at least 10 times smaller”: at t = 20 and 30, in every run of every setting.",
            measure=lambda data: (gap(data).sel(step=[20, 30]) >= 10).all("step"),
            bound=at_least(1.0),
            statistic="share",
        ),
        Claim(
            "LR-12",
            origin=derived("measured"),
            statement="At the end of training, too, the first two are the largest and the others at least that much smaller.",
            measure=lambda data: final(gap(data)) >= 10,
            bound=at_least(1.0),
            statistic="share",
        ),
        Claim(
            "LR-13",
            origin=interpretation(PAPER, "section IV"),
            statement="That “the ranks of parameter updates gradually change into 2” is read as: in P1 and P1p there is no gap at t = 1: s_2 / s_3 is at most 3 on average.",
            measure=lambda data: gap(data).sel(setting=["P1", "P1p"], step=1),
            bound=at_most(3.0),
        ),
        Claim(
            "LR-14",
            origin=derived("derived: the first step has rank 2 without noise"),
            statement="In S1 and S1p there is a gap from the first step on: s_2 / s_3 at t = 1 is at least 8 on average.",
            measure=lambda data: gap(data).sel(setting=["S1", "S1p"], step=1),
            bound=at_least(8.0),
        ),
    ),
)
