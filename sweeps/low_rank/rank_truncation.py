"""Do loss and attention survive when all changes are cut to rank r, or one of them to rank 1?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, at_most, derived, interpretation
from jaxtheory.theories.low_rank import S1

from . import (
    FULL,
    PAPER,
    PRINTED,
    QUICK,
    TRUNCATED,
    bars,
    final,
    law,
    lines,
    panels,
    rank_cost,
    worst,
)

RANKS = [1, 2, 5, 10, 20]
PANELS = {
    "truncated_loss": "test hinge loss",
    "truncated_attention": "attention on relevant tokens",
    "truncated_query_attention": "the same, relevant queries",
}


def cost(data: xr.Dataset, rank: int | slice, name: str = "truncated_loss") -> xr.DataArray:
    """The cost of one or several ranks with xi as printed."""
    return rank_cost(data.sel(setting=PRINTED), rank, name)


def alone(data: xr.Dataset) -> xr.DataArray:
    """The cost of cutting one matrix to rank 1."""
    return data.alone_truncated_loss - data.truncated_loss.isel(kept_rank=-1)


def lost(data: xr.Dataset, rank: int, name: str = "truncated_attention") -> xr.DataArray:
    """The attention that a rank adds in P1 (lost where negative)."""
    return rank_cost(data.sel(setting="P1"), rank, name)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss, attention of all and of the relevant queries against the rank; one matrix cut to rank 1
    at a time.
    """
    figure, axes = panels(4, "Rank 2 keeps loss and attention when all changes are cut", width=3.3)
    ranks = [r for r in RANKS if r in data["kept_rank"]]
    uniform = float(law(data, "relevant_attention_uniform").isel(setting=0))
    for ax, (name, label) in zip(axes, PANELS.items(), strict=False):
        lines(ax, data[name].sel(kept_rank=ranks), "kept_rank", "setting")
        if name != "truncated_loss":
            plot.theory(ax, ranks, uniform, "uniform")
        plot.finish(ax, "rank r", label, xscale="log", legend=False)
        plot.ticks(ax.xaxis, ranks)
    plot.legend_below(figure, axes[1])
    bars(axes[3], alone(data), [str(c) for c in data.cut.values])
    plot.finish(axes[3], "the one matrix cut to rank 1", "rise of the loss", legend=False)
    return figure


FIGURE = Figure(
    name="rank_truncation",
    source=f"{PAPER}, figure 1",
    theory=TRUNCATED,
    config=S1,
    sweep=FULL,
    quick=QUICK,
    draw=draw,
    claims=(
        Claim(
            "LR-1",
            origin=interpretation(PAPER, "figure 1A"),
            statement="From rank 2 on “the testing performance and the attention map are close to those with full-rank approximation”, read as: to cut all changes to any such rank changes the loss by less than 0.001, in S1, S1p, P1 and P1p.",
            measure=lambda data: abs(cost(data, slice(2, None))).max("kept_rank"),
            bound=at_most(1e-3),
        ),
        Claim(
            "LR-2",
            origin=interpretation(PAPER, "figure 1A"),
            statement="At rank 1 there is “an evident drop in the testing performance”, read as: the loss is larger by at least 0.2.",
            measure=lambda data: cost(data, 1),
            bound=at_least(0.2),
        ),
        Claim(
            "LR-3",
            origin=derived("measured"),
            statement="Rank 1 costs margin, not accuracy: in each of these settings at most 2 % more of the test samples are wrong.",
            measure=lambda data: cost(data, 1, "truncated_error"),
            bound=at_most(0.02),
        ),
        Claim(
            "LR-4",
            origin=derived("measured"),
            statement="In P1 the attention on relevant tokens rises from 0.30 to at least 0.45.",
            measure=lambda data: final(data.relevant_attention.sel(setting="P1")),
            bound=at_least(0.45),
        ),
        Claim(
            "LR-5",
            origin=interpretation(PAPER, "figure 1B"),
            statement="The attention map is close to that of full rank, read as: rank 2 keeps it within 0.002, in P1.",
            measure=lambda data: abs(lost(data, 2)),
            bound=at_most(2e-3),
        ),
        Claim(
            "LR-6",
            origin=interpretation(PAPER, "figure 1B"),
            statement="At rank 1 there is an evident drop in “attention weights on label-relevant patterns”, read as: in P1 the loss of attention is at least 0.005, and 0.02 for relevant queries.",
            measure=lambda data: worst(
                lost(data, 1) + 0.005, lost(data, 1, "truncated_query_attention") + 0.02
            ),
            bound=at_most(0.0),
        ),
        Claim(
            "LR-7",
            origin=derived("measured"),
            statement="With one a for all positions attention hardly learns: S1 and S1p gain at most 0.05, so that figure 1B needs one a per position.",
            measure=lambda data: final(data.relevant_attention.sel(setting=["S1", "S1p"])) - 0.3,
            bound=at_most(0.05),
        ),
        Claim(
            "LR-8",
            origin=derived("measured"),
            statement="Neither W_V nor W_O can be cut to rank 1: each alone costs at least 0.05 in S1, S1p, P1 and P1p.",
            measure=lambda data: alone(data).sel(setting=PRINTED, cut=["WV", "WO"]),
            bound=at_least(0.05),
        ),
        Claim(
            "LR-9",
            origin=derived("measured"),
            statement="W_K alone can be cut to rank 1: this costs at most 0.02.",
            measure=lambda data: alone(data).sel(setting=PRINTED, cut="WK"),
            bound=at_most(0.02),
        ),
    ),
)
