"""Which share of neurons stays small, and what does pruning small, large or random ones cost?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, between, derived, interpretation
from jaxtheory.theories.low_rank import S1

from . import FULL, PAPER, QUICK, SHARED, Function, final, lines, only, panels

FEW, MORE = [0.05, 0.1, 0.2], [0.3, 0.5, 0.7, 0.9]  # values of R


def pruned(order: str, rate: float | slice | list[float]) -> Function:
    """Loss without a share of the neurons."""
    return lambda data: data.pruned_loss.sel(order=order, rate=rate, drop=True)


def rise(rate: float | slice) -> Function:
    """The cost of pruning the smallest neurons."""
    return lambda data: pruned("small", rate)(data) - pruned("small", 0.0)(data)


def per_share(rates: list[float]) -> Function:
    """The loss without the largest R of the neurons, over R."""
    return lambda data: pruned("large", rates)(data) / data.rate.sel(rate=rates)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Sorted norms, sorted changes, and the loss against the share pruned.

    The loss is shown for small first in all settings, and for all orders in one setting of each
    interpretation of A.
    """
    names = list(data.setting.values)
    figure, axes = panels(
        5, "Which neurons of $W_O$ stay small, and what pruning them costs", width=3.0
    )
    norms, changes, small, first, second = axes
    share = (np.arange(data.sizes["neuron"]) + 1) / data.sizes["neuron"]
    for ax, sizes, label in (
        (norms, data.neuron_norms, "$|o_i|$, sorted"),
        (changes, data.neuron_changes, "$|o_i - o_i(0)|$, sorted"),
    ):
        ordered = xr.apply_ufunc(
            np.sort, sizes, input_core_dims=[["neuron"]], output_core_dims=[["share"]]
        ).assign_coords(share=share)
        lines(ax, ordered, "share", "setting", markers=False)
        plot.finish(ax, "share of the neurons", label, legend=False)
    lines(small, data.pruned_loss.sel(order="small"), "rate", "setting", markers=False)
    plot.reference(small, np.full(2, 0.4), np.array([0.0, 1.0]), says="a share of 0.4")
    plot.finish(small, "share pruned", "test hinge loss", "small neurons first", legend=False)
    for ax, setting in ((first, names[0]), (second, "P1" if "P1" in names else names[-1])):
        lines(ax, data.pruned_loss.sel(setting=setting), "rate", "order", markers=False)
        plot.reference(ax, data.rate.values, data.rate.values, "loss = share")
        plot.finish(ax, "share pruned", "test hinge loss", f"setting {setting}", legend=False)
    plot.legend_below(figure, norms, first, titles=("by setting", "by order"))
    return figure


FIGURE = Figure(
    name="neurons_pruning",
    source=f"{PAPER}, figure 3 and corollary 1",
    finding=Finding(
        "Pruning the smallest 40 % of neurons adds at most 0.02 to the loss, but pruning 60 % need not add even 0.04",
        rests_on=("LR-20", "LR-21"),
    ),
    theory=only("pruned_loss", "neuron_norms", "neuron_changes"),
    config=S1,
    sweep=FULL,
    quick=QUICK,
    draw=draw,
    claims=(
        Claim(
            "LR-17",
            origin=interpretation(PAPER, "figure 3A"),
            statement="“around an 80/200 = 0.4 fraction of the trained W_O neurons have a small magnitude compared with the remaining ones”, read as: the sorted norms jump by a factor of 2 or more, in every setting.",
            measure=Measure(
                "largest ratio of successive neuron norms, middle 80 %, each setting",
                lambda data: final(data.small_ratio),
            ),
            bound=at_least(2.0),
            expect="fails",
            why="Pruning by magnitude needs a gap to cut at; with xi as printed the start hides it.",
        ),
        Claim(
            "LR-18",
            origin=derived("measured: corrects figure 3A"),
            statement="With one a for all positions small neurons show in their changes: in S1, S1p and G a share of 0.3 to 0.48 of the neurons changes by less than 0.33 of the 95 % quantile.",
            measure=Measure(
                "share of neurons, |Δo_i| < 0.33 of its 95 % quantile, S1, S1p, G",
                lambda data: final(data.small_changes).sel(setting=SHARED),
            ),
            bound=between(0.3, 0.48),
            why="It recovers the printed 0.4 in all three settings, and says of which quantity it is true.",
        ),
        Claim(
            "LR-20",
            origin=interpretation(PAPER, "figure 3B, first sentence"),
            statement="Below a rate of 0.4 “the generalization performance does not become worse”, read as: without the smallest share of the neurons, for each share up to 0.4, the loss is at most 0.02 larger, in every setting.",
            measure=Measure(
                "rise of loss without the smallest ρ of neurons, ρ ≤ 0.4, each setting",
                rise(slice(0.0, 0.4)),
            ),
            bound=at_most(0.02),
            why="It is the practical promise of the paper: two neurons in five can go for free.",
        ),
        Claim(
            "LR-21",
            origin=interpretation(PAPER, "figure 3B, second sentence"),
            statement="Above a rate of 0.4 “the testing error increases as the pruning rate increases”, read as: without the smallest 0.6 of the neurons the loss is at least 0.04 larger, in every setting.",
            measure=Measure(
                "rise of the loss without the smallest 0.6 of neurons, each setting", rise(0.6)
            ),
            bound=at_least(0.04),
            expect="fails",
            why="Where it does not increase, more neurons can be pruned than the paper says.",
        ),
        Claim(
            "LR-26",
            origin=interpretation(PAPER, "corollary 1, (15)"),
            statement="Without the largest R of the neurons the loss is Omega(R), read as: it is at least R / 2 for each R from 0.05 to 0.9, in every setting.",
            measure=Measure(
                "(loss without largest R of neurons) / R, R 0.05 to 0.9, each setting",
                per_share(FEW + MORE),
            ),
            bound=at_least(0.5),
            expect="fails",
            why="The bound is the paper's only statement on what pruning costs.",
        ),
        Claim(
            "LR-106",
            origin=derived("measured: corrects (15) for large R"),
            statement="From R = 0.3 to 0.9 (15) holds with the constant 0.7: the loss without the largest R of the neurons is at least 0.7 R, in every run of every setting.",
            measure=Measure(
                "(loss without largest R of neurons) / R, R 0.3 to 0.9, each setting",
                per_share(MORE),
            ),
            bound=at_least(0.7),
            q=1,
            why="It gives (15) the constant that the paper leaves open, and the range in which it is true.",
        ),
    ),
)
