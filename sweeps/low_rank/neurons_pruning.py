"""Which share of neurons stays small, and what does pruning small, large or random ones cost?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, between, derived, interpretation
from jaxtheory.theories.low_rank import S1

from . import FULL, PAPER, QUICK, SHARED, Function, final, lines, only

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
    """Small neurons pruned first and sorted changes in all settings; three orders in two of them.

    The two have different interpretations of A.
    """
    names = list(data.setting.values)
    figure, axes = plot.panels(2, 2, title="Which neurons of $W_O$ stay small", width=3.4)
    small, changes, first, second = axes.flat
    lines(small, data.pruned_loss.sel(order="small"), "rate", "setting", markers=False)
    plot.reference(small, np.full(2, 0.4), np.array([0.0, 1.0]), says="a share of 0.4")
    plot.finish(small, "share pruned", "test hinge loss", "small neurons first")
    ordered = xr.apply_ufunc(
        np.sort, data.neuron_changes, input_core_dims=[["neuron"]], output_core_dims=[["share"]]
    )
    share = (np.arange(data.sizes["neuron"]) + 1) / data.sizes["neuron"]
    lines(changes, ordered.assign_coords(share=share), "share", "setting", markers=False)
    plot.finish(changes, "share of the neurons", "$|o_i - o_i(0)|$, sorted", legend=False)
    for ax, setting in ((first, names[0]), (second, "P1" if "P1" in names else names[-1])):
        some = data.pruned_loss.sel(setting=setting, order=["small", "random", "large"])
        lines(ax, some, "rate", "order", markers=False)
        plot.reference(ax, data.rate.values, data.rate.values, "loss = share")
        plot.finish(ax, "share pruned", "test hinge loss", f"setting {setting}")
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
