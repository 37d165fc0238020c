"""Do loss and attention survive when all changes are cut to rank r, or one of them to rank 1?"""

import xarray as xr

from jaxtheory import Figure, holds, plot
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
    ours,
    panels,
    rank_cost,
    reading,
    worst,
)

RANKS = [1, 2, 5, 10, 20]
PANELS = {
    "truncated_loss": "test hinge loss",
    "truncated_attention": "attention on relevant tokens",
    "truncated_query_attention": "the same, relevant queries",
}


def cost(data: xr.Dataset, rank: int | slice, name: str = "truncated_loss") -> xr.DataArray:
    """What a rank costs with xi as printed, or several ranks."""
    return rank_cost(data.sel(setting=PRINTED), rank, name)


def alone(data: xr.Dataset) -> xr.DataArray:
    """What it costs to cut one matrix to rank 1."""
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
        holds(
            "LR-1",
            *reading("figure 1A"),
            "From rank 2 on “the testing performance and the attention map are close to those "
            "with full-rank approximation”, read as: cutting all changes to any such rank "
            "changes the loss by less than .001, in S1, S1p, P1, P1p.",
            lambda data: abs(cost(data, slice(2, None))).max("kept_rank"),
            at_most=1e-3,
        ),
        holds(
            "LR-2",
            *reading("figure 1A"),
            "Rank 1: “an evident drop in the testing performance”, read as a loss larger by .2.",
            lambda data: cost(data, 1),
            at_least=0.2,
        ),
        ours(
            "LR-3",
            "Rank 1 costs margin, not accuracy: in each of them at most 2 % more of the test "
            "samples are wrong.",
            lambda data: cost(data, 1, "truncated_error"),
            at_most=0.02,
        ),
        ours(
            "LR-4",
            "P1: attention on relevant tokens rises from .30 to at least .45.",
            lambda data: final(data.relevant_attention.sel(setting="P1")),
            at_least=0.45,
        ),
        holds(
            "LR-5",
            *reading("figure 1B"),
            "The attention map is close to that of full rank, read as: rank 2 keeps it within "
            ".002, in P1.",
            lambda data: abs(lost(data, 2)),
            at_most=2e-3,
        ),
        holds(
            "LR-6",
            *reading("figure 1B"),
            "Rank 1: an evident drop in “attention weights on label-relevant patterns”, read as: "
            "in P1 it loses at least .005 of them, .02 for relevant queries.",
            lambda data: worst(
                lost(data, 1) + 0.005, lost(data, 1, "truncated_query_attention") + 0.02
            ),
            at_most=0.0,
        ),
        ours(
            "LR-7",
            "With one a for all positions attention hardly learns: S1 and S1p gain at most .05, "
            "so that figure 1B needs one per position.",
            lambda data: final(data.relevant_attention.sel(setting=["S1", "S1p"])) - 0.3,
            at_most=0.05,
        ),
        ours(
            "LR-8",
            "Neither W_V nor W_O can be cut to rank 1: each alone costs at least .05 in S1, S1p, "
            "P1, P1p.",
            lambda data: alone(data).sel(setting=PRINTED, cut=["WV", "WO"]),
            at_least=0.05,
        ),
        ours(
            "LR-9",
            "W_K alone can: at most .02.",
            lambda data: alone(data).sel(setting=PRINTED, cut="WK"),
            at_most=0.02,
        ),
    ),
)
