"""Do loss and attention survive when all changes are cut to rank r, or one of them to rank 1?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, interpretation
from jaxtheory.theories.low_rank import S1

from . import (
    FULL,
    PAPER,
    PER_POSITION,
    QUICK,
    SHARED,
    TRUNCATED,
    dots,
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


def moved(data: xr.Dataset) -> xr.DataArray:
    """The changes of the loss and of the two attentions by cuts to rank 2 and more."""
    return worst(*(abs(rank_cost(data, slice(2, None), name)) for name in PANELS))


def single_cost(data: xr.Dataset) -> xr.DataArray:
    """The cost of cutting one matrix to rank 1."""
    return data.alone_truncated_loss - data.truncated_loss.isel(kept_rank=-1)


def gain(data: xr.Dataset) -> xr.DataArray:
    """The least attention with one a per position minus the largest with one for all."""
    end = final(data.relevant_attention)
    return end.sel(setting=PER_POSITION).min("setting") - end.sel(setting=SHARED).max("setting")


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss, attention of all and of the relevant queries against the rank.

    The last panel has one matrix cut to rank 1 at a time.
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
    dots(axes[3], single_cost(data), [str(c) for c in data.cut.values])
    plot.finish(axes[3], "the one matrix cut to rank 1", "rise of the loss", legend=False)
    return figure


FIGURE = Figure(
    name="rank_truncation",
    source=f"{PAPER}, figure 1",
    finding=Finding(
        "Updates cut to rank 2 add ≤ 0.0003 to the loss, to rank 1 at least 0.2, yet attention need not drop by 0.005",
        rests_on=("LR-1", "LR-2", "LR-6"),
    ),
    theory=TRUNCATED,
    config=S1,
    sweep=FULL,
    quick=QUICK,
    draw=draw,
    claims=(
        Claim(
            "LR-1",
            origin=interpretation(PAPER, "figure 1"),
            statement="From rank 2 on “the testing performance and the attention map are close to those with full-rank approximation”, read as: to cut all changes to any such rank changes the loss and the attention on relevant tokens, of all and of the relevant queries, by at most 0.0003, in every setting.",
            measure=Measure(
                "|change of loss or attention|, all cut to rank 2 or more, each setting", moved
            ),
            bound=at_most(3e-4),
            why="This is the paper's main finding: what training changes has rank 2.",
        ),
        Claim(
            "LR-2",
            origin=interpretation(PAPER, "figure 1, first half of the sentence on rank 1"),
            statement="Rank 1 gives “an evident drop in the testing performance”, read as: the loss is larger by at least 0.2, in every setting.",
            measure=Measure(
                "rise of the loss, all changes cut to rank 1, each setting",
                lambda data: rank_cost(data, 1),
            ),
            bound=at_least(0.2),
            why="Without it rank 2 would only be an upper limit.",
        ),
        Claim(
            "LR-3",
            origin=derived("measured"),
            statement="Rank 1 costs margin, not accuracy: of the 300 test samples of a run as many are wrong after the cut as before, or fewer, in every setting.",
            measure=Measure(
                "rise of the share of wrong samples, all cut to rank 1, each setting",
                lambda data: rank_cost(data, 1, "truncated_error"),
            ),
            bound=at_most(0.001),
            why="The paper's testing performance is the hinge loss; who counts errors sees no drop at rank 1.",
        ),
        Claim(
            "LR-6",
            origin=interpretation(PAPER, "figure 1, second half of the sentence on rank 1"),
            statement="Rank 1 gives “an evident drop in ... attention weights on label-relevant patterns”, read as: the attention on relevant tokens, which is at least 0.3, falls by at least 0.005, in every setting.",
            measure=Measure(
                "fall of attention on relevant tokens, all cut to rank 1, each setting",
                lambda data: -rank_cost(data, 1, "truncated_attention"),
            ),
            bound=at_least(0.005),
            expect="fails",
            why="Figure 1B needs attention that has learned, which the theorem's own reading of the output weights does not give.",
        ),
        Claim(
            "LR-7",
            origin=derived("measured: corrects figure 1B"),
            statement="Attention learns with one a per position: in P1 and P1p the attention on relevant tokens gains at least 0.03 more than in S1, S1p and G.",
            measure=Measure(
                "attention on relevant tokens, min of P1, P1p − max of S1, S1p, G", gain
            ),
            bound=at_least(0.03),
            why="With one a for all positions the values fit the labels before attention has moved.",
        ),
        Claim(
            "LR-104",
            origin=interpretation(PAPER, "theorem 1"),
            statement="“zero generalization”, read as: the mean hinge loss on 300 fresh samples is at most 0.005 at the end, in every setting.",
            measure=Measure(
                "test hinge loss on 300 samples at the end, each setting",
                lambda data: final(data.loss),
            ),
            bound=at_most(0.005),
            diverged="violates",
            panel=0,
            why="The theorem speaks of models that generalize; otherwise nothing here would be about it.",
        ),
    ),
)
