"""Which share of the neurons stays small, and what does it cost to prune small, large or random
ones?

Long, because figure 3 and corollary 1 are sixteen statements on the same runs.
"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Figure, holds, plot, refuted
from jaxtheory.theories.low_rank import S1

from . import (
    FULL,
    PAPER,
    QUICK,
    SHARED,
    Measure,
    final,
    lines,
    only,
    ours,
    panels,
    printed,
    reading,
    somewhere,
)


def end(name: str, *settings: str) -> Measure:
    """A metric at the end, in some settings."""
    return lambda data: final(data[name].sel(setting=list(settings)))


def pruned(order: str, rate: float | slice, **some: Any) -> Measure:
    """Loss without a share of the neurons."""
    return lambda data: data.pruned_loss.sel(order=order, rate=rate, **some, drop=True)


def rise(rate: float | slice, **some: Any) -> Measure:
    """What it costs to prune the smallest."""
    return lambda data: pruned("small", rate, **some)(data) - pruned("small", 0.0, **some)(data)


def knee(*settings: str) -> Measure:
    """The largest multiple of .1 up to which pruning small neurons costs at most .01."""
    tenths = slice(None, None, 20)
    return lambda data: (
        ((rise(tenths, setting=list(settings))(data) <= 0.01).cumprod("rate").sum("rate") - 1) / 10
    )


def draw(data: xr.Dataset) -> plot.Drawing:
    """Sorted norms, sorted changes, the loss against the share pruned: small first in all settings,
    all orders in one of each reading.
    """
    names = list(data.setting.values)
    figure, (norms, changes, small, first, second) = panels(data, 5, "Neurons of $W_O$", width=3.0)
    share = (np.arange(data.sizes["neuron"]) + 1) / data.sizes["neuron"]
    for ax, values, label in (
        (norms, data.neuron_norms, "$|o_i|$, sorted"),
        (changes, data.neuron_changes, "$|o_i - o_i(0)|$, sorted"),
    ):
        ordered = xr.apply_ufunc(
            np.sort, values, input_core_dims=[["neuron"]], output_core_dims=[["share"]]
        ).assign_coords(share=share)
        lines(ax, ordered, "share", "setting", markers=False)
        plot.finish(ax, "share of the neurons", label, legend=ax is norms)
    lines(small, data.pruned_loss.sel(order="small"), "rate", "setting", markers=False)
    plot.theory(small, None, 0.0, "")
    small.axvline(0.4, color="#999999", linewidth=0.8)
    plot.finish(small, "share pruned, small first", "test hinge loss", legend=False)
    for ax, setting in ((first, names[0]), (second, "P1" if "P1" in names else names[-1])):
        lines(ax, data.pruned_loss.sel(setting=setting), "rate", "order", markers=False)
        plot.theory(ax, data.rate.values, data.rate.values, "loss = share")
        plot.finish(ax, f"share pruned in {setting}", "test hinge loss", legend=ax is first)
    return figure


FIGURE = Figure(
    name="neurons_pruning",
    source=f"{PAPER}, figure 3 and corollary 1",
    theory=only("pruned_loss", "pruned_truncated_loss", "neuron_norms", "neuron_changes"),
    config=S1,
    sweep=FULL,
    quick=QUICK,
    draw=draw,
    claims=(
        holds(
            "LR-15",
            *reading("figure 3A"),
            "G: the sorted norms jump by a factor of 2 or more, in 80 % of the runs.",
            lambda data: end("small_ratio", "G")(data) >= 2,
            statistic="share",
            at_least=0.8,
        ),
        holds(
            "LR-16",
            *printed("figure 3A"),
            "G: a share of .4 lies below the jump, .32 to .46 on average.",
            end("small_fraction", "G"),
            between=(0.32, 0.46),
        ),
        refuted(
            "LR-17",
            *reading("figure 3A"),
            "S1 or S1p, where xi is as printed: the norms jump by a factor of 2 or more, on "
            "average.",
            end("small_ratio", "S1", "S1p"),
            **somewhere(at_least=2.0),
        ),
        holds(
            "LR-18",
            *reading("equation (13) for the changes"),
            "S1, S1p: a share of .33 to .46 of the neurons has changed by less than .33 of the 95 "
            "% quantile.",
            end("small_changes", "S1", "S1p"),
            between=(0.33, 0.46),
        ),
        refuted(
            "LR-19",
            *reading("equation (13) for the changes"),
            "P1 or P1p: the same share.",
            end("small_changes", "P1", "P1p"),
            **somewhere(between=(0.33, 0.46)),
        ),
        holds(
            "LR-20",
            *printed("figure 3B"),
            "Without the smallest .4 of the neurons the loss is at most .02 larger, in every "
            "setting.",
            rise(0.4),
            at_most=0.02,
        ),
        holds(
            "LR-21",
            *reading("figure 3B"),
            "S1, S1p, G: without .6 it is at least .04 larger.",
            rise(0.6, setting=SHARED),
            at_least=0.04,
        ),
        holds(
            "LR-22",
            *reading("figure 3B"),
            "S1, S1p, G: without .8 at least .35.",
            rise(0.8, setting=SHARED),
            at_least=0.35,
        ),
        holds(
            "LR-23",
            *printed("figure 3B"),
            "S1, S1p, G: the last tenth that costs at most .01 is .4 or .5, mean .36 to .56.",
            knee(*SHARED),
            between=(0.36, 0.56),
        ),
        refuted(
            "LR-24",
            *printed("figure 3B"),
            "P1 or P1p: likewise.",
            knee("P1", "P1p"),
            **somewhere(between=(0.36, 0.56)),
        ),
        holds(
            "LR-25",
            *reading("corollary 1, (14)"),
            "Without the smallest .35 the loss is at most 1/M = .05, in every setting.",
            pruned("small", 0.35),
            at_most=0.05,
        ),
        holds(
            "LR-26",
            *reading("corollary 1, (15)"),
            "Without the largest .3 it is at least .25, in every setting.",
            pruned("large", 0.3),
            at_least=0.25,
        ),
        holds(
            "LR-27",
            *reading("corollary 1, (15)"),
            "Without the largest .5 at least .6.",
            pruned("large", 0.5),
            at_least=0.6,
        ),
        refuted(
            "LR-28",
            *reading("corollary 1, (15) with constant 1"),
            "S1 or S1p: without the largest R = .1 it is at least R.",
            pruned("large", 0.1, setting=["S1", "S1p"]),
            **somewhere(at_least=0.1),
        ),
        ours(
            "LR-29",
            "At .4 random neurons cost at least .08 more than the smallest, in every setting.",
            lambda data: pruned("random", 0.4)(data) - pruned("small", 0.4)(data),
            at_least=0.08,
        ),
        ours(
            "LR-30",
            "Rank 2 and without the smallest .35: at most .02 above the loss of the trained model.",
            lambda data: data.pruned_truncated_loss.sel(rate=0.35) - pruned("small", 0.0)(data),
            source=f"{PAPER}, remark 1 and corollary 1 together",
            at_most=0.02,
        ),
    ),
)
