"""Which share of the neurons stays small, and what does it cost to prune small, large or random
ones?

Long, because figure 3 and corollary 1 are sixteen statements on the same runs.
"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, at_most, between, derived, exponent, interpretation
from jaxtheory.theories.low_rank import S1

from . import FULL, PAPER, PRINTED, QUICK, SHARED, Measure, final, lines, only, panels

LARGE = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]


def end(name: str, *settings: str) -> Measure:
    """A metric at the end, in some settings."""
    return lambda data: final(data[name].sel(setting=list(settings)))


def pruned(order: str, rate: float | slice | list[float], **some: Any) -> Measure:
    """Loss without a share of the neurons."""
    return lambda data: data.pruned_loss.sel(order=order, rate=rate, **some, drop=True)


def rise(rate: float | slice, **some: Any) -> Measure:
    """The cost of pruning the smallest neurons."""
    return lambda data: pruned("small", rate, **some)(data) - pruned("small", 0.0, **some)(data)


def values_gone(*settings: str) -> Measure:
    """The cost of removing nine tenths of the value dimensions."""
    share = {"value_rate": 0.9, "setting": list(settings)}
    return lambda data: (
        data.value_pruned_loss.sel(share) - data.value_pruned_loss.sel(share | {"value_rate": 0.0})
    )


def knee(*settings: str) -> Measure:
    """The largest multiple of 0.1 up to which pruning small neurons costs at most 0.01."""
    tenths = slice(None, None, 20)
    return lambda data: (
        ((rise(tenths, setting=list(settings))(data) <= 0.01).cumprod("rate").sum("rate") - 1) / 10
    )


def draw(data: xr.Dataset) -> plot.Drawing:
    """Sorted norms, sorted changes, the loss against the share pruned: small first in all settings,
    all orders in one setting of each interpretation of A, value dimensions in all settings.
    """
    names = list(data.setting.values)
    figure, axes = panels(
        6, "Which neurons of $W_O$ stay small, and what pruning them costs", width=3.0
    )
    norms, changes, small, first, second, values = axes
    share = (np.arange(data.sizes["neuron"]) + 1) / data.sizes["neuron"]
    for ax, sizes, label in (
        (norms, data.neuron_norms, "$|o_i|$, sorted"),
        (changes, data.neuron_changes, "$|o_i - o_i(0)|$, sorted"),
    ):
        ordered = xr.apply_ufunc(
            np.sort, sizes, input_core_dims=[["neuron"]], output_core_dims=[["share"]]
        ).assign_coords(share=share)
        lines(ax, ordered, "share", "setting", markers=False)
        plot.finish(ax, "share of the neurons", label, "by setting", legend=False)
    lines(small, data.pruned_loss.sel(order="small"), "rate", "setting", markers=False)
    plot.reference(small, np.full(2, 0.4), np.array([0.0, 1.0]), says="a share of 0.4")
    plot.finish(small, "share pruned", "test hinge loss", "small first, by setting", legend=False)
    for ax, setting in ((first, names[0]), (second, "P1" if "P1" in names else names[-1])):
        lines(ax, data.pruned_loss.sel(setting=setting), "rate", "order", markers=False)
        plot.reference(ax, data.rate.values, data.rate.values, "loss = share")
        plot.finish(ax, "share pruned", "test hinge loss", f"{setting}, by order", legend=False)
    lines(values, data.value_pruned_loss, "value_rate", "setting")
    plot.finish(
        values, "share of value dimensions pruned", "test hinge loss", "by setting", legend=False
    )
    plot.legend_below(figure, norms, first, titles=("by setting", "by order"))
    return figure


FIGURE = Figure(
    name="neurons_pruning",
    source=f"{PAPER}, figure 3 and corollary 1",
    theory=only(
        "pruned_loss",
        "pruned_truncated_loss",
        "value_pruned_loss",
        "neuron_norms",
        "neuron_changes",
    ),
    config=S1,
    sweep=FULL,
    quick=QUICK,
    draw=draw,
    claims=(
        Claim(
            "LR-15",
            origin=interpretation(PAPER, "figure 3A"),
            statement="Some neurons “have a small magnitude compared with the remaining ones”, read as: in G the sorted norms jump by a factor of 2 or more, in 80 % of the runs.",
            measure=lambda data: end("small_ratio", "G")(data) >= 2,
            bound=at_least(0.8),
            statistic="share",
        ),
        Claim(
            "LR-16",
            origin=interpretation(PAPER, "figure 3A"),
            statement="The fraction of 0.4 is read as the share below the jump: in G it is 0.32 to 0.46 on average.",
            measure=end("small_fraction", "G"),
            bound=between(0.32, 0.46),
        ),
        Claim(
            "LR-17",
            origin=interpretation(PAPER, "figure 3A"),
            statement="With xi as printed, S1 or S1p, “a small magnitude compared with the remaining ones” read as a jump by a factor of 2 or more, on average.",
            measure=end("small_ratio", "S1", "S1p"),
            bound=at_least(2.0),
            where="somewhere",
            expect="fails",
        ),
        Claim(
            "LR-18",
            origin=interpretation(PAPER, "equation (13) for the changes"),
            statement="The fraction of 0.4 is read as the share of changes that are below 0.33 of the 95 % quantile: it is 0.33 to 0.46 in S1 and S1p.",
            measure=end("small_changes", "S1", "S1p"),
            bound=between(0.33, 0.46),
        ),
        Claim(
            "LR-19",
            origin=interpretation(PAPER, "equation (13) for the changes"),
            statement="In P1 or P1p, the fraction of 0.4 is read as the share of small changes: it is 0.33 to 0.46.",
            measure=end("small_changes", "P1", "P1p"),
            bound=between(0.33, 0.46),
            where="somewhere",
            expect="fails",
        ),
        Claim(
            "LR-20",
            origin=interpretation(PAPER, "figure 3B"),
            statement="Below 0.4 “the generalization performance does not become worse”, read as: without the smallest 0.4 of the neurons the loss is at most 0.02 larger, in every setting.",
            measure=rise(0.4),
            bound=at_most(0.02),
        ),
        Claim(
            "LR-21",
            origin=interpretation(PAPER, "figure 3B"),
            statement="Above 0.4 “the testing error increases as the pruning rate increases”, read as: without the smallest 0.6 of the neurons the loss is at least 0.04 larger, in S1, S1p and G.",
            measure=rise(0.6, setting=SHARED),
            bound=at_least(0.04),
        ),
        Claim(
            "LR-22",
            origin=interpretation(PAPER, "figure 3B"),
            statement="“the testing error increases as the pruning rate increases”, read as: without the smallest 0.8 of the neurons the loss is at least 0.35 larger, in S1, S1p and G.",
            measure=rise(0.8, setting=SHARED),
            bound=at_least(0.35),
        ),
        Claim(
            "LR-23",
            origin=interpretation(PAPER, "figure 3B"),
            statement="The rate of 0.4 at which the error begins to increase is read as the last tenth that costs at most 0.01: its mean is 0.36 to 0.56 in S1, S1p and G.",
            measure=knee(*SHARED),
            bound=between(0.36, 0.56),
        ),
        Claim(
            "LR-24",
            origin=interpretation(PAPER, "figure 3B"),
            statement="In P1 or P1p the rate of 0.4 at which the error begins to increase is read as the same.",
            measure=knee("P1", "P1p"),
            bound=between(0.36, 0.56),
            where="somewhere",
            expect="fails",
        ),
        Claim(
            "LR-25",
            origin=derived("measured"),
            statement="In G nine tenths of the value dimensions can be removed, too, all but those of the relevant patterns: this costs at most 0.02.",
            measure=values_gone("G"),
            bound=at_most(0.02),
        ),
        Claim(
            "LR-26",
            origin=interpretation(PAPER, "corollary 1, (15)"),
            statement="Without the largest R of the neurons the loss is Omega(R), read as: the loss over R stays between 0.7 and 4 for R = 0.3, 0.4 .. 0.9, in every setting.",
            measure=lambda data: pruned("large", LARGE)(data) / data.rate.sel(rate=LARGE),
            bound=between(0.7, 4.0),
        ),
        Claim(
            "LR-27",
            origin=derived("measured"),
            statement="With xi as printed these value dimensions cannot be removed: this costs at least 0.3 in S1, S1p, P1 and P1p.",
            measure=values_gone(*PRINTED),
            bound=at_least(0.3),
        ),
        Claim(
            "LR-28",
            origin=derived("measured"),
            statement="No single constant serves for every R in (15): with one a for all positions and xi as printed, the loss goes as R^1.8 or faster from R = 0.05 to 0.2, because margins exceed 1.",
            measure=lambda data: exponent(
                pruned("large", [0.05, 0.1, 0.2], setting=["S1", "S1p"])(data).mean("seed"), "rate"
            ),
            bound=at_least(1.8),
        ),
        Claim(
            "LR-29",
            origin=derived("measured"),
            statement="Without 0.4 of the neurons, chosen at random, the loss is at least 0.08 larger than without the smallest, in every setting.",
            measure=lambda data: pruned("random", 0.4)(data) - pruned("small", 0.4)(data),
            bound=at_least(0.08),
        ),
        Claim(
            "LR-30",
            origin=derived("arXiv 2406.17167, remark 1 and corollary 1 together"),
            statement="At rank 2 and without the smallest 0.35 of the neurons, the loss is at most 0.02 above that of the trained model.",
            measure=lambda data: (
                data.pruned_truncated_loss.sel(rate=0.35) - pruned("small", 0.0)(data)
            ),
            bound=at_most(0.02),
        ),
    ),
)
