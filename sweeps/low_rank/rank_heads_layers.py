"""Have changes rank 2 with several heads and layers, and how many heads can go?"""

from typing import Any

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_most, derived, last
from jaxtheory.theories.low_rank import P1
from jaxtheory.theories.low_rank.analyses.attention import head_loss
from jaxtheory.theories.low_rank.analyses.ranks import truncation

from . import THEORY, lines, panels, pick, ratio, runs, worst

SHAPES: dict[str, list] = {
    "shape": ["1 head", "2 heads", "4 heads", "2 layers", "2 layers of 2 heads"],
    "num_heads": [1, 2, 4, 1, 2],
    "num_layers": [1, 1, 1, 2, 2],
}


def looked_at(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    """Truncation and head pruning."""
    heads = {"head_pruned_loss": head_loss(params, problem, config)}
    return heads | truncation(params, problem, config)


def thick(data: xr.Dataset) -> xr.DataArray:
    """The distance of s_2 / s_1 below 0.1 or of s_3 / s_1 above 0.05, for the worst in a run."""
    s = last(data.singular_values)
    return worst(0.1 - ratio(s, 2, 1).min("matrix"), ratio(s, 3, 1).max("matrix") - 0.05)


def cost(data: xr.Dataset, rank: int) -> xr.DataArray:
    """The cost of truncating all changes to a rank."""
    return data.truncated_loss.sel(kept_rank=rank, drop=True) - last(data.loss)


def without(data: xr.Dataset, heads: int, shape: str | list[str]) -> xr.DataArray:
    """The cost of removing heads."""
    pruned = data.head_pruned_loss.sel(removed_heads=heads, drop=True)
    return (pruned - last(data.loss)).sel(shape=shape)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Singular values, loss by rank, loss by heads removed, and attention in t.

    The singular values are the largest of any change over its first.
    """
    figure, axes = panels(4, "Changes have rank 2 with several heads and layers (P1)", width=3.4)
    s, first_five = last(data.singular_values), slice(0, 5)
    lines(axes[0], (s / s.sel(index=1)).isel(index=first_five).max("matrix"), "index", "shape")
    lines(axes[1], data.truncated_loss.isel(kept_rank=first_five), "kept_rank", "shape")
    lines(axes[2], data.head_pruned_loss, "removed_heads", "shape")
    lines(axes[3], data.relevant_query_attention, "step", "shape")
    plot.finish(
        axes[0], "index", "singular value / first, worst change", yscale="log", legend=False
    )
    plot.finish(axes[1], "all changes cut to rank r", "test hinge loss", legend=False)
    plot.finish(axes[2], "heads removed, in all layers", "test hinge loss", legend=False)
    plot.finish(axes[3], "step t", "attention of relevant queries", legend=False)
    plot.legend_below(figure, axes[0])
    return figure


FIGURE = Figure(
    name="rank_heads_layers",
    source="summary of arXiv 2406.17167, next check 1",
    finding=Finding(
        "With up to 4 heads or 2 layers updates have rank 2, with singular values s_2 ≥ 0.1 s_1 and s_3 ≤ 0.05 s_1",
        rests_on=("LR-81",),
    ),
    theory=THEORY._replace(analyses=looked_at),
    config=P1,
    sweep=runs(140, zip=SHAPES, record=[0, 35, 70, 105, 140]),
    quick={"zip": pick(SHAPES, 1), "seeds": 2, "steps": 40, "record": [0, 40]},
    draw=draw,
    claims=(
        Claim(
            "LR-81",
            origin=derived("summary, next check 1"),
            statement="Every change of every head and layer has rank 2: s_2 is at least 0.1 of s_1 and s_3 at most 0.05.",
            measure=Measure(
                "larger of 0.1 − s_2 / s_1 and s_3 / s_1 − 0.05, all ΔW, each shape", thick
            ),
            bound=at_most(0.0),
            why="The proof has one head and one layer; whether the low rank is a property of that case is the summary's first next check.",
        ),
    ),
)
