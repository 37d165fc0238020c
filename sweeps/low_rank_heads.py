"""Heads and layers of the layer of arXiv 2406.17167: ranks of every matrix, truncation, and what a head is worth."""

from pathlib import Path
from typing import Any

import xarray as xr

import jaxtheory
from jaxtheory import Figure, plot, verdicts
from jaxtheory.theories.low_rank import Config, analyses

MAIN = jaxtheory.theories.load(Path(__file__).with_name("low_rank.py"))
THEORY, claim, last = MAIN.THEORY, MAIN.claim, MAIN.last
SHAPES: dict[str, Any] = {
    "shape": ["1 head", "2 heads", "4 heads", "2 layers", "2 layers of 2 heads"],
    "num_heads": [1, 2, 4, 1, 2],
    "num_layers": [1, 1, 1, 2, 2],
}


def looked_at(params: Any, problem: Any, config: Any) -> dict[str, Any]:
    """Truncation and head pruning."""
    heads = analyses.attention.head_loss(params, problem, config)
    return {"head_pruned_loss": heads, **analyses.ranks.truncation(params, problem, config)}


def third(data: xr.Dataset) -> xr.DataArray:
    """s_3 / s_1 of every change, the largest in a run."""
    s = last(data.singular_values)
    return (s.isel(index=2) / s.isel(index=0)).max("matrix")


def second(data: xr.Dataset) -> xr.DataArray:
    """s_2 / s_1 of every change, the smallest in a run."""
    s = last(data.singular_values)
    return (s.isel(index=1) / s.isel(index=0)).min("matrix")


def cost(data: xr.Dataset, rank: int) -> xr.DataArray:
    """What truncation of all changes to a rank costs."""
    return data.truncated_loss.isel(rank=rank - 1, drop=True) - last(data.loss)


def without(data: xr.Dataset, heads: int) -> xr.DataArray:
    """What removing heads costs."""
    return data.head_pruned_loss.isel(removed_heads=heads, drop=True) - last(data.loss)


def draw_heads(data: xr.Dataset) -> plot.Drawing:
    """The largest singular values of any change over its first, loss by rank, loss by heads removed, attention in t."""
    figure, axes = plot.panels(4, title=f"Heads and layers (P1), {data.sizes['seed']} seeds", width=3.4)
    s = last(data.singular_values) / last(data.singular_values).isel(index=0)
    for colour, shape in enumerate(data["shape"].values):
        values = s.sel(shape=shape).isel(index=slice(0, 5)).assign_coords(index=range(1, 6)).max("matrix")
        plot.series(axes[0, 0], values, "index", str(shape), colour=colour)
        rank = data.truncated_loss.sel(shape=shape).isel(rank=slice(0, 5)).assign_coords(rank=range(1, 6))
        plot.series(axes[0, 1], rank, "rank", str(shape), colour=colour)
        heads = data.head_pruned_loss.sel(shape=shape).assign_coords(removed_heads=range(data.sizes["removed_heads"]))
        plot.series(axes[0, 2], heads.dropna("removed_heads", how="all"), "removed_heads", str(shape), colour=colour)
        plot.series(axes[0, 3], data.relevant_query_attention.sel(shape=shape), "step", str(shape), colour=colour)
    plot.finish(axes[0, 0], "index", "singular value / first, worst change", yscale="log")
    plot.finish(axes[0, 1], "all changes cut to rank r", "test hinge loss", legend=False)
    plot.finish(axes[0, 2], "heads removed, in all layers", "test hinge loss", legend=False)
    plot.finish(axes[0, 3], "step t", "attention of relevant queries", legend=False)
    return figure


HEADS = Figure(
    "rank_heads_layers",
    "summary of arXiv 2406.17167, next check 1",
    THEORY._replace(analyses=looked_at),
    Config(output="per_token", learning_rate=3.0),
    {"zip": SHAPES, "seeds": 8, "steps": 140, "record": [0, 35, 70, 105, 140], "dtype": "float32"},
    {"zip": {name: values[1:2] for name, values in SHAPES.items()}, "seeds": 2, "steps": 40, "record": [0, 40]},
    (
        claim(
            81,
            "summary, next check 1",
            "Every change of every head and layer has rank 2: s_2 is at least .1 of s_1, s_3 at most .05, the worst of a run on average.",
            "holds",
            lambda d: verdicts.at_most(xr.concat([0.1 - second(d), third(d) - 0.05], "which"), 0.0),
        ),
        claim(
            82,
            "summary, next check 1",
            "Truncation to rank 2 costs at most .01.",
            "holds",
            lambda d: verdicts.at_most(cost(d, 2), 0.01),
        ),
        claim(
            83,
            "summary, next check 1",
            "Truncation to rank 1 costs at least .05; not claimed for two layers of two heads.",
            "holds",
            lambda d: verdicts.at_least(cost(d, 1).drop_sel(shape="2 layers of 2 heads"), 0.05),
        ),
        claim(
            84,
            "summary, next check 3: head pruning",
            "Two heads: either one is needed, removing the smaller costs at least .15.",
            "holds",
            lambda d: verdicts.at_least(without(d, 1).sel(shape=["2 heads", "2 layers of 2 heads"]), 0.15),
        ),
        claim(
            85,
            "summary, next check 3: head pruning",
            "Four heads: one can go, for at most .1, but not two, for at least .15.",
            "holds",
            lambda d: verdicts.at_most(
                xr.concat([without(d, 1).sel(shape="4 heads") - 0.1, 0.15 - without(d, 2).sel(shape="4 heads")], "which"), 0.0
            ),
        ),
    ),
    draw_heads,
)

FIGURES: Any = (HEADS,)
