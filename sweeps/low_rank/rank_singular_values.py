"""Do two singular values of the change of W_K grow away from the others along training?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, interpretation, printed
from jaxtheory.theories.low_rank import S1

from . import FULL, PAPER, PER_POSITION, QUICK, SHARED, final, lines, only, panels, ratio, worst

TIMES = [1, 10, 20, 30]


def of_keys(data: xr.Dataset) -> xr.DataArray:
    """Singular values of the change of W_K."""
    return data.singular_values.sel(matrix="WK")


def gap(data: xr.Dataset) -> xr.DataArray:
    """s_2 / s_3 of the change of W_K."""
    return ratio(of_keys(data), 2, 3)


def growth(data: xr.Dataset) -> xr.DataArray:
    """The least factor by which each singular value grows between the four times."""
    s = of_keys(data).sel(step=TIMES)
    return (s.shift(step=-1) / s).min("step")


def ends(data: xr.Dataset) -> xr.DataArray:
    """s_2 / s_3 at t = 20, 30 and the end."""
    return worst(*(gap(data).sel(step=t, drop=True) for t in (20, 30)), final(gap(data)))


def sooner(data: xr.Dataset) -> xr.DataArray:
    """The gap after one step: the least with one a for all over the largest with one each."""
    first = gap(data).sel(step=1)
    return first.sel(setting=SHARED).min("setting") / first.sel(setting=PER_POSITION).max("setting")


def draw(data: xr.Dataset) -> plot.Drawing:
    """s_2 / s_3 in t, and the least growth of each singular value between the four times."""
    figure, (gaps, least) = panels(
        2, "Two singular values of the change of $W_K$ grow away from the others", width=4.2
    )
    lines(gaps, gap(data).isel(step=slice(1, None)), "step", "setting")
    plot.finish(gaps, "step t", "$s_2 / s_3$", xscale="log", yscale="log", legend=False)
    lines(least, growth(data), "index", "setting", markers=True)
    times = ", ".join(map(str, TIMES))
    plot.reference(least, None, 1.0, says="no growth")
    plot.finish(least, "index", f"least growth over t = {times}", yscale="log", legend=False)
    plot.legend_below(figure, gaps)
    return figure


FIGURE = Figure(
    name="rank_singular_values",
    source=f"{PAPER}, figure 2",
    finding=Finding(
        "Two singular values of ΔW_K lead tenfold at step 20, in some settings fourfold at step 1, but not all 20 grow",
        rests_on=("LR-11", "LR-13", "LR-10"),
    ),
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
            statement="“the singular values ... increase along the training”: all twenty of W_K do so over t = 1, 10, 20, 30, in every run of every setting.",
            measure=Measure(
                "least growth factor of s_1 to s_20 of W_K over t = 1, 10, 20, 30", growth
            ),
            bound=at_least(1.0),
            panel=1,
            q=1,
            expect="fails",
            why="The smallest ones are what the noise in the tokens leaves, and they may fall.",
        ),
        Claim(
            "LR-105",
            origin=derived("measured: corrects figure 2"),
            statement="The ten largest singular values of W_K increase over t = 1, 10, 20, 30, in every run of every setting.",
            measure=Measure(
                "least growth factor of s_1 to s_10 of W_K over t = 1, 10, 20, 30",
                lambda data: growth(data).sel(index=slice(1, 10)),
            ),
            bound=at_least(1.0),
            q=1,
            why="Two directions do not win because the others shrink: all that can be told from zero grow, these two faster.",
        ),
        Claim(
            "LR-11",
            origin=printed(PAPER, "figure 2"),
            statement="“The first two singular values become the largest along the training, while others are at least 10 times smaller”: at t = 20, 30 and at the end, in every run of every setting.",
            measure=Measure(
                "s_2 / s_3 of W_K's change at t = 20, 30 and the end, each setting", ends
            ),
            bound=at_least(10.0),
            q=1,
            panel=0,
            why="It is the paper's evidence that the rank is 2, and it holds with a wide margin.",
        ),
        Claim(
            "LR-13",
            origin=interpretation(PAPER, "section IV"),
            statement="“the ranks of parameter updates gradually change into 2”, read as: there is no gap at t = 1, where s_2 / s_3 of W_K is at most 4, in every setting.",
            measure=Measure(
                "s_2 / s_3 of the change of W_K at t = 1, each setting",
                lambda data: gap(data).sel(step=1),
            ),
            bound=at_most(4.0),
            expect="fails",
            panel=0,
            why="Whether training or the first gradient makes the rank small decides which proof is needed.",
        ),
        Claim(
            "LR-14",
            origin=derived("derived: the first step has rank 2 without noise"),
            statement="The gap after s_2 of W_K is gradual only with one a per position: at t = 1, s_2 / s_3 is at least 5 times larger in S1, S1p and G than in P1 and P1p.",
            measure=Measure(
                "s_2 / s_3 of W_K at t = 1, min of S1, S1p, G over max of P1, P1p", sooner
            ),
            bound=at_least(5.0),
            why="With one a for all positions the low rank is a property of the first gradient, not of training.",
        ),
    ),
)
